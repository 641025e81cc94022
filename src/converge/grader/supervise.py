"""Runs one command and leaves nothing of it behind: `python -I -S supervise.py CONTROL STATUS COMMAND…`.

The submission's process tree hangs below this small process. When the grader closes the pipe CONTROL, or dies,
every process below is killed, daemons that left their session too. STATUS gets the lines `started PID`, `exited CODE`
and, when nothing is left, `over`. Only the standard library, so that it starts in a few milliseconds.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Callable

PR_SET_CHILD_SUBREAPER = 36
LARGEST_FILE = 256 * 1024 * 1024  # bytes that one file of the submission may grow to


def adopt_orphans() -> None:
    """Make this process the parent of what its descendants abandon. Linux alone can do this."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants() -> list[int]:
    """All living processes below this one."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=True)
    children: dict[int, list[int]] = {}
    for line in listed.stdout.splitlines():
        pid, parent, state = line.split()[:3]
        if not state.startswith("Z"):
            children.setdefault(int(parent), []).append(int(pid))
    found, todo = [], [os.getpid()]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def descendants_linux() -> list[int]:
    """The same from /proc, without starting a program."""
    found, todo = [], [os.getpid()]
    while todo:
        pid = todo.pop()
        below: list[int] = []
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - pathlib is slow to load
                with open(f"/proc/{pid}/task/{task}/children") as file:  # noqa: PTH123
                    below += map(int, file.read().split())
        found += below
        todo += below
    return found


def kill_everything(child: int) -> None:
    """Kill until nothing is left: a process may fork while it is being killed."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    for _ in range(50):
        living = descendants_linux() if os.path.isdir("/proc/self/task") else descendants()  # noqa: PTH112
        for pid in living:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG if not living else 0)[0]:
                pass
        if not living:
            return


def limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    limit = LARGEST_FILE if hard == resource.RLIM_INFINITY else min(LARGEST_FILE, hard)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))


def supervise(control: int, status: int, launch: Callable[[], int]) -> None:
    """Let `launch` start the submission, tell how it fares, and kill all of it when `control` is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the grader's to handle
    adopt_orphans()
    limit_files()
    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    child = launch()
    os.write(status, f"started {child}\n".encode())
    told = False
    while True:
        if not told:
            ended, how = os.waitpid(child, os.WNOHANG)
            if ended:
                os.write(status, f"exited {os.waitstatus_to_exitcode(how)}\n".encode())
                told = True
        ready, _, _ = select.select([control, woken], [], [])
        if woken in ready:
            os.read(woken, 512)
        if control in ready and not os.read(control, 1):
            break
    kill_everything(child)
    os.write(status, b"over\n")


def main() -> None:
    control, status = int(sys.argv[1]), int(sys.argv[2])
    passed = [int(descriptor) for descriptor in os.environ.pop("CONVERGE_PASS_FDS", "").split(",") if descriptor]

    def launch() -> int:
        child = subprocess.Popen(sys.argv[3:], stdin=subprocess.DEVNULL, pass_fds=passed, start_new_session=True)
        child.returncode = 0  # it is waited for below, not by this object
        for descriptor in passed:
            os.close(descriptor)  # so that the grader sees the end of the channel when the child is gone
        return child.pid

    supervise(control, status, launch)


if __name__ == "__main__":
    main()
