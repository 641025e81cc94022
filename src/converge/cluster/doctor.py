"""What a machine has and lacks for the course: one finding a line, each with what to do about it."""

import os
import platform
import shutil
import sys
from pathlib import Path

from converge.cluster import build, programs, providers
from converge.cluster.directories import cache_dir, state_dir
from converge.cluster.model import DoctorLine
from converge.files import file_system, has_events


def examine() -> list[DoctorLine]:
    """Look at everything, in the order in which it is needed."""
    machine = [look() for look in (_python, _system, _space, _state)]
    of_providers = [finding for provider in providers.all_providers() for finding in provider.examine()]
    return [*machine, *of_providers, _cluster(), _file_events()]


def _python() -> DoctorLine:
    good = sys.version_info >= (3, 11)
    return DoctorLine("Python", good, platform.python_version(), "" if good else "install Python 3.11 or newer")


def _system() -> DoctorLine:
    target = programs.target()
    known = target in ("linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64")
    return DoctorLine("system", known, target, "" if known else "use Linux or macOS (Windows: WSL 2)")


def _space() -> DoctorLine:
    place = next(path for path in (cache_dir(), *cache_dir().parents) if path.exists())
    free = shutil.disk_usage(place).free
    needed = build.NEEDED_SPACE if programs.missing(programs.LOCAL) else 2**30
    return DoctorLine(
        "disk",
        free >= needed,
        f"{free / 2**30:.1f} GB free for {cache_dir()}",
        "" if free >= needed else f"free {needed >> 30} GB, or set CONVERGE_CACHE to another disk",
    )


def _state() -> DoctorLine:
    place = next(path for path in (state_dir(), *state_dir().parents) if path.exists())
    good = os.access(place, os.W_OK)
    return DoctorLine(
        "state directory",
        good,
        str(state_dir()),
        "" if good else "set CONVERGE_STATE to a directory of yours",
    )


def _cluster() -> DoctorLine:
    from converge import cluster

    there = cluster.current()
    if there is None:
        return DoctorLine("cluster", False, "none is up", "converge up", needed=False)
    dead = [part.name for part in there.parts if not part.alive]
    return DoctorLine(
        "cluster",
        not dead,
        f"{there.provider}, Kubernetes {there.version}" + (f"; ended: {', '.join(dead)}" if dead else ""),
        "converge up" if dead else "",
    )


def _file_events() -> DoctorLine:
    kind = file_system(Path.cwd())
    good = has_events(kind)
    return DoctorLine(
        "file events",
        good,
        kind or "unknown file system",
        "" if good else "converge watch --poll",
        needed=False,
    )
