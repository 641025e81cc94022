"""What a machine has and lacks for the course: one finding a line, each with its mend."""

import os
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from converge.cluster import build, programs
from converge.cluster.directories import cache_dir, state_dir


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. ``needed`` says whether the course can do without it."""

    what: str
    good: bool
    found: str
    mend: str = ""
    needed: bool = True


def examine() -> list[Finding]:
    """Look at everything, in the order in which it is needed."""
    return [look() for look in (_python, _system, _space, _state, _programs, _go, _engine, _cluster, _file_events)]


def _python() -> Finding:
    good = sys.version_info >= (3, 11)
    return Finding("Python", good, platform.python_version(), "" if good else "install Python 3.11 or newer")


def _system() -> Finding:
    target = programs.target()
    known = target in ("linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64")
    return Finding("system", known, target, "" if known else "use Linux or macOS (Windows: WSL 2)")


def _space() -> Finding:
    place = next(path for path in (cache_dir(), *cache_dir().parents) if path.exists())
    free = shutil.disk_usage(place).free
    missing = _missing()
    needed = build.NEEDED_SPACE if missing else 2**30
    return Finding(
        "disk",
        free >= needed,
        f"{free / 2**30:.1f} GB free for {cache_dir()}",
        "" if free >= needed else f"free {needed >> 30} GB, or set CONVERGE_CACHE to another disk",
    )


def _state() -> Finding:
    place = next(path for path in (state_dir(), *state_dir().parents) if path.exists())
    good = os.access(place, os.W_OK)
    return Finding(
        "state directory",
        good,
        str(state_dir()),
        "" if good else "set CONVERGE_STATE to a directory of yours",
    )


def _missing() -> list[str]:
    return [name for name in programs.LOCAL if programs.found(programs.PROGRAMS[name]) is None]


def _programs() -> Finding:
    missing = _missing()
    version = programs.PROGRAMS["kube-apiserver"].version
    if not missing:
        return Finding("control plane", True, f"Kubernetes {version}, all programs are here")
    return Finding(
        "control plane",
        False,
        f"missing: {', '.join(missing)}",
        "`converge up` gets them (once, some minutes if they must be built)",
        needed=False,
    )


def _go() -> Finding:
    go = shutil.which("go")
    return Finding(
        "Go",
        go is not None,
        go or "none",
        "" if go else "not needed: a compiler is fetched if one must build",
        needed=False,
    )


def _engine() -> Finding:
    from converge.cluster import kind

    found = kind.engine()
    return Finding(
        "container engine",
        found is not None,
        found or "no Docker or Podman answers",
        "" if found else "not needed: the local control plane is used instead of kind",
        needed=False,
    )


def _cluster() -> Finding:
    from converge import cluster

    there = cluster.current()
    if there is None:
        return Finding("cluster", False, "none is up", "converge up", needed=False)
    dead = [part.name for part in there.parts if not part.alive]
    return Finding(
        "cluster",
        not dead,
        f"{there.provider}, Kubernetes {there.version}" + (f"; ended: {', '.join(dead)}" if dead else ""),
        "converge up" if dead else "",
    )


# File systems on which changes made elsewhere raise no event here.
_WITHOUT_EVENTS = ("9p", "nfs", "cifs", "smb", "drvfs", "vboxsf", "fuse.sshfs")


def _file_events() -> Finding:
    kind = _file_system(Path.cwd())
    good = not kind.startswith(_WITHOUT_EVENTS)
    return Finding(
        "file events",
        good,
        kind or "unknown file system",
        "" if good else "converge watch --poll",
        needed=False,
    )


def _file_system(path: Path, partitions: Callable[[], list[tuple[str, str]]] | None = None) -> str:
    import psutil

    found = partitions() if partitions else [(p.mountpoint, p.fstype) for p in psutil.disk_partitions(all=True)]
    holding = [(mount, kind) for mount, kind in found if path.is_relative_to(mount)]
    return max(holding, key=lambda entry: len(entry[0]))[1] if holding else ""
