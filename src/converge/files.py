"""Files: where the course's own are, how to write, watch and load one.

This module imports nothing of the project, so every package may use it.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

_PACKAGE = Path(__file__).resolve().parent


def package_root() -> Path:
    """Where `crds`, `control-plane` and `solutions` are: in the package's own checkout, or inside its wheel."""
    checkout = _PACKAGE.parents[1]
    return checkout if (checkout / "course.toml").exists() else _PACKAGE / "_course"


def course_root() -> Path:
    """The course to work on: $CONVERGE_COURSE, a directory with a `course.toml` here or above, or the package's own."""
    if named := os.environ.get("CONVERGE_COURSE"):
        return Path(named).resolve()
    here = Path.cwd()
    return next((each for each in (here, *here.parents) if (each / "course.toml").exists()), package_root())


def write_whole(path: Path, text: str, mode: int = 0o644, *, durable: bool = False) -> None:
    """Write a file by renaming: a reader sees the old text or the new one, and a crash leaves one of them.

    A `durable` one is on the disk afterwards, so that this is true of a power cut as well.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.{id(text)}")
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            if durable:
                file.flush()
                os.fsync(descriptor)
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


# File systems on which a change made elsewhere raises no event here, by how their names begin.
_WITHOUT_EVENTS = ("9p", "nfs", "cifs", "smb", "drvfs", "vboxsf", "fuse.sshfs", "fuse.vmhgfs-fuse")


def file_system(path: Path) -> str:
    """The type of the file system that a path is on; empty if that's unknown."""
    import psutil

    here = path.resolve()
    mounted = ((each.mountpoint, each.fstype) for each in psutil.disk_partitions(all=True))
    holding = [(point, kind) for point, kind in mounted if here.is_relative_to(point)]
    return max(holding, key=lambda entry: len(entry[0]))[1] if holding else ""


def has_events(kind: str) -> bool:
    """Whether a file system of this type reports every change of a file as it happens."""
    return not kind.startswith(_WITHOUT_EVENTS)


def load_module(path: str, name: str) -> ModuleType:
    """Import a file by its path; neither its directory nor the current one becomes importable."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickles look modules up by name
    spec.loader.exec_module(module)
    return module
