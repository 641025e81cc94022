"""A jail for untrusted submissions: what one sees, and what answers it, is what we put there.

bubblewrap makes it, twice. The outer one cuts the network: below it run `jailer.py` and its relays, and nothing of the
submission. The inner one adds namespaces for users, processes, mounts and the rest. In there the submission finds
Python, the parts of the course it may use, its own file and an empty home, and no way to see or signal anything else.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from converge.testing.sandbox.relay import Address, Relay

JAILER = Path(__file__).with_name("jailer.py")
HOME_SIZE = 64 * 1024 * 1024  # bytes of its home, and as many of /tmp and /dev/shm
LOOPBACKS = ("127.0.0.1", "127.0.0.2")  # a server inside is looked for at both: one of them says "from outside"
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
# What programs and libraries look up; none of it is secret.
SETTINGS = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "ssl", "ca-certificates")
NAMES = ("nsswitch.conf", "hosts", "passwd", "group", "mime.types")
UNSHARED = ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
# The user of the grader, but by another name: root would get its capabilities back with the next program it starts.
UNPRIVILEGED = ("--uid", "65534", "--gid", "65534", "--cap-drop", "ALL", "--disable-userns")
# Where it's refused, and what allows it: in Docker or Podman, and by settings of the kernel.
CONTAINER_MARKS = (Path("/.dockerenv"), Path("/run/.containerenv"))
CONTAINER_OPTIONS = ("--security-opt seccomp=unconfined", "--security-opt systempaths=unconfined")
FOR_UBUNTU = "--security-opt apparmor=unconfined"
SWITCHES = {
    "kernel.apparmor_restrict_unprivileged_userns": ("1", "0"),
    "kernel.unprivileged_userns_clone": ("0", "1"),
    "user.max_user_namespaces": ("0", "10000"),
}
NO_NETWORK = ("--unshare-user", "--unshare-net", "--dev-bind", "/", "/", "--die-with-parent")


class NoJailError(Exception):
    """This machine can't isolate a submission; the message says why."""


@dataclass(frozen=True)
class Reach:
    """Ports of 127.0.0.1: of ours that answer inside (`out`), and of the submission's that answer here (`into`)."""

    out: tuple[int, ...] = ()
    into: tuple[int, ...] = ()


@dataclass(frozen=True)
class Jail:
    """What a submission sees besides the system and Python: files and directories, read-only, at their own paths.

    `emptied` are directories of which it sees only what `visible` names.
    """

    visible: tuple[Path, ...]
    emptied: tuple[Path, ...] = ()

    def wrapped(self, command: Sequence[str], directory: Path, files: Sequence[Path]) -> list[str]:
        """The command line that runs `command` inside, at home in `directory` with these `files`."""
        small = ("--size", str(HOME_SIZE), "--tmpfs")
        mounts: list[str] = []
        for path in map(Path, SYSTEM):
            if path.is_symlink():
                mounts += ["--symlink", str(path.readlink()), str(path)]
            elif path.exists():
                mounts += ["--ro-bind", str(path), str(path)]
        mounts += ["--proc", "/proc", "--dev", "/dev", *small, "/dev/shm", *small, "/tmp"]
        for path in (*(Path("/etc") / name for name in (*SETTINGS, *NAMES)), *python_paths()):
            mounts += ["--ro-bind-try", str(path), str(path)]
        for path in self.emptied:
            mounts += ["--tmpfs", str(path)]
        for path in self.visible:
            mounts += ["--ro-bind", str(path), str(path)]
        mounts += [*small, str(directory)]
        for path in files:
            mounts += ["--ro-bind", str(path), str(path)]
        # What is left of bubblewrap's own file systems, and /proc, which obeys root even without any capability.
        for place in ("/dev", "/proc", *map(str, self.emptied), "/"):
            mounts += ["--remount-ro", place]
        options = [*UNSHARED, *UNPRIVILEGED, "--die-with-parent", "--new-session", "--hostname", "sandbox"]
        return ["bwrap", *options, *mounts, "--chdir", str(directory), "--", *command]


class Bridge:
    """The machine's side of what a jailed submission reaches, and of what reaches it."""

    def __init__(self, reach: Reach) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="cv-")  # a socket's path has to be short
        meet = Path(self._folder.name)
        here: list[tuple[Address, Address]] = []
        #: Pairs of addresses for the relays on the other side.
        self.there: list[tuple[Address, Address]] = []
        for port in reach.out:
            here.append((str(meet / f"out-{port}"), ("127.0.0.1", port)))
            self.there.append((("127.0.0.1", port), str(meet / f"out-{port}")))
        for number, address in enumerate(LOOPBACKS):
            for port in reach.into:
                here.append(((address, port), str(meet / f"in-{number}-{port}")))
                self.there.append((str(meet / f"in-{number}-{port}"), (address, port)))
        self._relays = [Relay(*pair) for pair in here]

    def close(self) -> None:
        for relay in self._relays:
            relay.close()
        self._folder.cleanup()


def python_paths() -> list[Path]:
    """Where this Python is: the environment, and the installation that it was made from."""
    found = [Path(sys.base_prefix), Path(sys.executable).resolve().parents[1], Path(sys.prefix)]
    return [path for path in dict.fromkeys(found) if not any(path.is_relative_to(system) for system in SYSTEM)]


def without_network(command: Sequence[str]) -> list[str]:
    """The command line that runs `command` as it is, with a loopback of its own."""
    return ["bwrap", *NO_NETWORK, "--", *command]


@cache
def refusal() -> str:
    """Why submissions can't be isolated here, as a sentence; empty where they can."""
    if sys.platform != "linux":
        return "submissions are isolated with Linux namespaces, and this isn't Linux"
    if shutil.which("bwrap") is None:
        return "submissions are isolated by bubblewrap, and there is no bwrap here (Debian's package: bubblewrap)"
    with tempfile.TemporaryDirectory(prefix="cv-") as home:
        probe = without_network(Jail(()).wrapped([sys.executable, "-I", "-S", "-c", ""], Path(home), ()))
        tried = subprocess.run(probe, capture_output=True, text=True, timeout=60)
    if tried.returncode:
        said = (tried.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return f"bubblewrap can't isolate submissions on this machine: {said}{_fix()}"
    return ""


def _fix() -> str:
    """What usually allows namespaces where they are refused, as the end of a sentence."""
    if any(path.exists() for path in CONTAINER_MARKS):
        return f" (a container needs {' '.join(CONTAINER_OPTIONS)}, and on Ubuntu {FOR_UBUNTU})"
    for name, (refuses, allows) in SWITCHES.items():
        path = Path("/proc/sys") / name.replace(".", "/")
        if path.exists() and path.read_text().strip() == refuses:
            return f" (root can allow it: sysctl -w {name}={allows})"
    return ""


def require() -> None:
    """Raise where this machine can't isolate a submission."""
    if why := refusal():
        raise NoJailError(why)
