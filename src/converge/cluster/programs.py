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
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from converge.cluster.directories import cache_dir, course_dir
from converge.cluster.errors import ClusterError
from converge.cluster.locking import locked

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Program:
    """One program: its name, the directory below ``control-plane/`` that pins it, and its Go package."""

    name: str
    pinned_in: str
    package: str

    @property
    def version(self) -> str:
        """The version that the course has pinned."""
        return pinned_version(self.pinned_in, self.package)


_KUBERNETES = "k8s.io/kubernetes/cmd"
PROGRAMS = {
    program.name: program
    for program in (
        Program("etcd", "etcd", "go.etcd.io/etcd/server/v3"),
        Program("kube-apiserver", "kubernetes", f"{_KUBERNETES}/kube-apiserver"),
        Program("kube-controller-manager", "kubernetes", f"{_KUBERNETES}/kube-controller-manager"),
        Program("kube-scheduler", "kubernetes", f"{_KUBERNETES}/kube-scheduler"),
        Program("kubectl", "kubernetes", f"{_KUBERNETES}/kubectl"),
        Program("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok"),
        Program("kind", "kind", "sigs.k8s.io/kind"),
    )
}
LOCAL = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "kubectl")


@cache
def pinned_version(pinned_in: str, package: str) -> str:
    """Read the version of the module that holds ``package`` from its go.mod."""
    text = (course_dir() / "control-plane" / pinned_in / "go.mod").read_text()
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


def obtain(names: Iterable[str], progress: Progress) -> dict[str, Path]:
    """Have the programs ``names``, building or downloading what is missing; return where they are."""
    wanted = [PROGRAMS[name] for name in names]
    missing = [program for program in wanted if found(program) is None]
    if missing:
        lock = cache_dir() / "programs" / "lock"
        with locked(lock, lambda: progress("another converge is getting the programs; waiting for it")):
            for stale in cache_dir().glob("programs/*/.*-*"):  # a build that was killed; nobody else holds the lock
                shutil.rmtree(stale, ignore_errors=True)
            for number, program in enumerate(missing, start=1):
                if found(program) is None:  # the other one may have made it while we waited
                    _make(program, f"{number} of {len(missing)}", progress)
    return {program.name: found(program) or in_cache(program) for program in wanted}


def _make(program: Program, which: str, progress: Progress) -> None:
    from converge.cluster import build, download  # seldom needed, and long to import

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
        if not download.try_download(program.name, program.version, target(), made, which, progress):
            build.build(program.name, program.version, program.pinned_in, program.package, made, which, progress)
        made.chmod(0o755)
        made.replace(place)
