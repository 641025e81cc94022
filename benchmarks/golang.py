"""Go programs of the benchmarks: the operator on controller-runtime, and kwokctl.

Go's caches live below the course's own cache, beside the programs of the control plane, so a second build is quick.
"""

import os
import subprocess
from pathlib import Path

from converge.cluster.build import compiler_for
from converge.cluster.directories import cache_dir
from converge.files import package_root

COURSE_MODULE = package_root() / "go"
KWOKCTL_MODULE = package_root() / "benchmarks" / "kwokctl"


def _home() -> Path:
    return cache_dir() / "go-tabs"


def environment() -> dict[str, str]:
    """What makes Go use the course's caches, and exactly the versions that go.mod and go.sum have pinned."""
    return {
        "CGO_ENABLED": "0",
        "GOFLAGS": "-mod=readonly -buildvcs=false",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        "GOCACHE": str(_home() / "build"),
        "GOMODCACHE": str(_home() / "mod"),
    }


def go(module: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``go`` in a module."""
    compiler = compiler_for(module, lambda _: None)
    return subprocess.run(
        [compiler, *arguments], cwd=module, env={**os.environ, **environment()}, capture_output=True, text=True
    )


def build(module: Path, package: str, name: str) -> Path:
    """Compile ``package`` and return the program."""
    program = _home() / name
    built = go(module, "build", "-ldflags", "-s -w", "-o", str(program), package)
    if built.returncode != 0:
        raise RuntimeError(f"{name} was not built:\n{built.stderr}")
    return program
