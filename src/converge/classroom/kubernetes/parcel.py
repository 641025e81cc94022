"""What travels between the instructor's machine and a Pod: a submission there, its result back.

A parcel holds the lab's files and says which checks to run, but not who handed it in. A result is the last line that
the Pod writes into its log.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from converge.classroom.store import from_json
from converge.grader.course.results import LabResult

MARK = "converge-result:"
NO_JAIL, OUR_FAULT = 3, 4  # how a Pod exits if it can't isolate a submission, and if the grader failed
LARGEST_LINE = 4 * 1024 * 1024  # bytes: a kubelet keeps 10 MB of a log
LARGEST_RESULT = 64 * 1024 * 1024  # bytes, unpacked


@dataclass(frozen=True)
class Parcel:
    """The files of one submission of one lab, and the names of the checks if only some are meant."""

    lab: str
    only: tuple[str, ...]
    files: dict[str, bytes]

    def pack(self) -> bytes:
        files = {name: content.decode("latin-1") for name, content in self.files.items()}
        said = {"lab": self.lab, "only": self.only, "files": files}
        return zlib.compress(json.dumps(said, ensure_ascii=False).encode(), 9)

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in self.files.items():
            (folder / name).write_bytes(content)


def unpack(packed: bytes) -> Parcel:
    said = json.loads(zlib.decompress(packed))
    files = {name: content.encode("latin-1") for name, content in said["files"].items()}
    return Parcel(said["lab"], tuple(said["only"]), files)


def read(folder: Path, lab: str, names: Sequence[str], only: Sequence[str]) -> Parcel:
    """The parcel of files that `Submission.copy` has checked and copied."""
    return Parcel(lab, tuple(only), {name: (folder / name).read_bytes() for name in names})


def to_line(result: LabResult) -> str:
    """A result as one line. One that is too long for a log goes without its timelines."""
    line = _line(result)
    if len(line) > LARGEST_LINE:
        for check in result.checks:
            check.timeline = ""
        line = _line(result)
    return line


def _line(result: LabResult) -> str:
    return MARK + base64.b64encode(zlib.compress(json.dumps(result.to_json()).encode(), 9)).decode()


def from_log(log: str) -> LabResult | None:
    """The result at the end of a log; None if there isn't a whole one."""
    lines = [line for line in log.splitlines() if line.startswith(MARK)]
    if not lines:
        return None
    try:
        packed = base64.b64decode(lines[-1].removeprefix(MARK), validate=True)
        return from_json(json.loads(zlib.decompressobj().decompress(packed, LARGEST_RESULT)))
    except (ValueError, TypeError, KeyError, zlib.error):
        return None
