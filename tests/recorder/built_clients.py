"""Clients in Rust and Java, each built once for the content of its sources, beside the programs of a cluster."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from converge.cluster.directories import cache_dir

SOURCES = Path(__file__).parent / "clients"
LEFT_BY_BUILDS = ("target",)


def kube_rs() -> list[str]:
    """The command of the client on kube-rs, without its arguments."""

    def build(into: Path) -> None:
        target = into / "target"
        environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
        _run(["cargo", "build", "--quiet", "--locked"], SOURCES / "kube-rs", environment)
        (target / "debug" / "transparency").rename(into / "transparency")
        shutil.rmtree(target)  # half a gigabyte that nothing needs again

    return [str(_built("kube-rs", ["cargo"], build) / "transparency")]


def java(main: str) -> list[str]:
    """The command of a client in Java, by its class."""

    def build(into: Path) -> None:
        libraries = into / "libraries"
        pom = str(SOURCES / "java" / "pom.xml")
        copy = ["dependency:copy-dependencies", f"-DoutputDirectory={libraries}"]
        _run(["mvn", "--quiet", "--batch-mode", "--file", pom, *copy])
        sources = map(str, sorted((SOURCES / "java").glob("*.java")))
        _run(["javac", "-cp", f"{libraries}/*", "-d", str(into / "classes"), *sources])

    place = _built("java", ["mvn", "javac"], build)
    quick = "-XX:TieredStopAtLevel=1"  # it runs for seconds
    return ["java", quick, "-cp", f"{place / 'classes'}:{place / 'libraries'}/*", main]


def _built(name: str, tools: list[str], build: Callable[[Path], None]) -> Path:
    """Where a client is, built now if its sources were never built as they are."""
    if missing := [each for each in tools if shutil.which(each) is None]:
        pytest.skip(f"not run: there is no {' and no '.join(missing)} here")
    place = cache_dir() / "clients" / f"{name}-{_content(SOURCES / name)}"
    if not place.exists():
        half_made = place.with_name(f"{place.name}.{os.getpid()}")
        half_made.mkdir(parents=True)
        try:
            build(half_made)
            half_made.rename(place)
        finally:
            shutil.rmtree(half_made, ignore_errors=True)
    return place


def _content(directory: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        inside = path.relative_to(directory)
        if path.is_file() and inside.parts[0] not in LEFT_BY_BUILDS:
            digest.update(f"{inside}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _run(command: list[str], directory: Path | None = None, environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
