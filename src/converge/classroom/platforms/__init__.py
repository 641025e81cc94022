"""What an instructor uploads so that a platform grades with Converge: one module per platform.

Each has a function `files`, from the labs and the image to the files that the platform expects, by their paths. A file
that begins with `#!` is a program. What they run is `converge grade` with one student, so a submission is in a jail
there as well.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from converge.classroom.platforms import classroom50, gradescope, prairielearn, vpl
from converge.grader.course import Course, Lab

PLATFORMS: dict[str, Callable[[Course, Sequence[Lab], str], dict[str, str]]] = {
    "gradescope": gradescope.files,
    "classroom50": classroom50.files,
    "prairielearn": prairielearn.files,
    "vpl": vpl.files,
}
PROGRAM, TEXT = 0o755, 0o644


def write(out: Path, made: dict[str, str]) -> None:
    """Write the files into a directory, or into a zip if the name ends so. The same files make the same zip."""
    if out.suffix != ".zip":
        for name, text in made.items():
            path = out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            path.chmod(mode(text))
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = out.with_name(f".{out.name}.{os.getpid()}")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(made):
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o100000 | mode(made[name])) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, made[name])
    unfinished.replace(out)


def mode(text: str) -> int:
    return PROGRAM if text.startswith("#!") else TEXT
