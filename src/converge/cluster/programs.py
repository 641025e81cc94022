"""Which programs a cluster is made of, and how each is had.

The versions are those of the Go modules pinned in ``control-plane/``. A program comes from, in this order:
a directory that the user names in ``CONVERGE_BIN``; the cache; the official release downloads, when they answer;
a build from the pinned modules, which works wherever a Go module proxy can be reached.

A program appears in the cache whole or not at all: it is made under another name and renamed.
"""

import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from converge.cluster.directories import cache_dir
from converge.cluster.errors import ClusterError
from converge.cluster.locking import locked
from converge.files import package_root

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Program:
    """One program: its name, the directory below ``control-plane/`` that pins it, its Go package, and its size.

    ``compiles`` is how many Go packages it adds to those of the programs before it (`go list -deps`).
    """

    name: str
    pinned_in: str
    package: str
    compiles: int

    @property
    def version(self) -> str:
        """The version that the course has pinned."""
        return pinned_version(self.pinned_in, self.package)


_KUBERNETES = "k8s.io/kubernetes/cmd"
PROGRAMS = {
    program.name: program
    for program in (
        Program("etcd", "etcd", "go.etcd.io/etcd/server/v3", 581),
        Program("kube-apiserver", "kubernetes", f"{_KUBERNETES}/kube-apiserver", 1818),
        Program("kube-controller-manager", "kubernetes", f"{_KUBERNETES}/kube-controller-manager", 388),
        Program("kube-scheduler", "kubernetes", f"{_KUBERNETES}/kube-scheduler", 6),
        Program("kubectl", "kubernetes", f"{_KUBERNETES}/kubectl", 192),
        Program("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok", 746),
        Program("kind", "kind", "sigs.k8s.io/kind", 350),  # a guess: built alone, and seldom
    )
}
LOCAL = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
NEEDED_LATER = ("kubectl",)  # what the first check does not wait for
WHILE_YOU_WAIT = (
    "Meanwhile: read docs/lessons/00_before_you_start.md, or begin in another terminal with lab 03, which needs "
    "no cluster (docs/lessons/03_workqueue.md, then make check LAB=03)."
)


@cache
def pinned_version(pinned_in: str, package: str) -> str:
    """Read the version of the module that holds ``package`` from its go.mod."""
    text = (package_root() / "control-plane" / pinned_in / "go.mod").read_text()
    requirements = re.findall(r"^(?:require )?\s*(\S+) (v\S+)", text, flags=re.MULTILINE)
    for module, version in requirements:
        if package == module or package.startswith(module + "/"):
            return str(version)
    raise ClusterError(f"control-plane/{pinned_in}/go.mod does not require {package}", "restore that file from git")


def target() -> str:
    """This machine in Go's words, ``linux-amd64``."""
    machine = platform.machine().lower()
    return f"{platform.system().lower()}-{ {'x86_64': 'amd64', 'aarch64': 'arm64'}.get(machine, machine) }"


def in_cache(program: Program) -> Path:
    """Where the cache has, or will have, ``program``."""
    return cache_dir() / "programs" / target() / f"{program.name}-{program.version}"


def found(program: Program) -> Path | None:
    """The program if it is here already, in the directory that the user names or in the cache."""
    named = os.environ.get("CONVERGE_BIN")
    places = ([Path(named).expanduser() / program.name] if named else []) + [in_cache(program)]
    return next((place for place in places if os.access(place, os.X_OK) and place.is_file()), None)


def missing(names: Iterable[str]) -> list[str]:
    """Those of the programs that are neither named nor cached."""
    return [name for name in names if found(PROGRAMS[name]) is None]


def obtain(names: Iterable[str], progress: Progress, more_will_follow: bool = False) -> dict[str, Path]:
    """Have the programs ``names``, downloading or building what is missing; return where they are.

    Go's build cache goes when they are built, unless ``more_will_follow``: see `finish_in_background`.
    """
    wanted = [PROGRAMS[name] for name in names]
    if any(found(program) is None for program in wanted):
        with locked(_lock(), lambda: progress("another converge is getting the programs; waiting for it")):
            for stale in cache_dir().glob("programs/*/.*-*"):  # a build that was killed; nobody else holds the lock
                shutil.rmtree(stale, ignore_errors=True)
            _get([program for program in wanted if found(program) is None], progress, more_will_follow)
    return {program.name: found(program) or in_cache(program) for program in wanted}


def _lock() -> Path:
    return cache_dir() / "programs" / "lock"


def _get(absent: list[Program], progress: Progress, more_will_follow: bool) -> None:
    from converge.cluster import build, download  # seldom needed, and long to import

    left = []
    for number, program in enumerate(absent, start=1):
        with _made_whole(program) as made:
            which = f"{number} of {len(absent)}"
            if not download.try_download(program.name, program.version, target(), made, which, progress):
                left.append(program)
    if not left:
        return
    build.check_space()
    estimate = build.Estimate(sum(program.compiles for program in left))
    progress(
        f"building {', '.join(program.name for program in left)}, once: {build.minutes(estimate.minutes)} on two "
        f"cores, and {build.NEEDED_SPACE >> 30} GB of disk, of which {build.KEPT_SPACE / 2**30:.1f} GB stay in use\n"
    )
    if estimate.minutes > 2:
        progress(f"{WHILE_YOU_WAIT}\n")
    for number, program in enumerate(left, start=1):
        with _made_whole(program) as made:
            which = f"{number} of {len(left)}"
            about = (program.name, program.version, program.pinned_in, program.package)
            build.build(*about, made, which, estimate, progress)
        estimate.finish(sum(program.compiles for program in left[number:]))
    if not more_will_follow:
        build.remove_build_cache()


@contextmanager
def _made_whole(program: Program) -> Iterator[Path]:
    """A place to make ``program`` in. If it was made there, it takes its place in the cache by renaming."""
    place = in_cache(program)
    place.parent.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(place.parent).free
    if free < 300 * 2**20:
        raise ClusterError(
            f"only {free // 2**20} MB are free in {place.parent}, too little for {program.name}",
            "free some space, or name another directory in CONVERGE_CACHE",
        )
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=f".{program.name}-") as scratch:
        made = Path(scratch) / program.name
        yield made
        if made.exists():
            made.chmod(0o755)
            made.replace(place)


def finish_in_background() -> None:
    """After a build, build what is needed later and give back the space, with what the machine has to spare."""
    from converge.cluster import build, processes

    if build.build_cache().exists():
        processes.start(
            [sys.executable, "-m", "converge.cluster.programs"],
            cache_dir() / "programs" / "afterwards.log",
            dict(os.environ),
        )


def finish() -> None:
    """What `finish_in_background` does there."""
    from converge.cluster import build

    obtain(NEEDED_LATER, print)
    with locked(_lock()):
        build.remove_build_cache()


if __name__ == "__main__":
    os.nice(19)  # the first check comes first
    finish()
