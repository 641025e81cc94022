"""Runs one command and leaves nothing of it behind: `python -I -S supervisor.py CONTROL STATUS COMMAND…`.

The submission's process tree hangs below this small process. When the grader closes the pipe CONTROL, or dies,
every process below is killed, daemons that left their session too. STATUS gets the lines `started GROUP PID`,
`exited CODE` and, when nothing is left, `over`. Only the standard library, so that it starts in a few milliseconds.
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
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

PR_SET_CHILD_SUBREAPER = 36
LARGEST_FILE = 256 * 1024 * 1024  # bytes that one file of the submission may grow to
MOST_MEMORY = 2 * 1024 * 1024 * 1024  # bytes of data that each of its processes may have
MOST_FILES = 4096  # that each of its processes may have open: all of them together, less than the machine may
MOST_THREADS = 2048  # that it may add to those of its user
MOST_PROCESSES = 128  # that it may have at once
MOST_BUSY = 16  # of them that want a processor at each of MANY_LOOKS counts
MANY_LOOKS = 10
COUNT_EVERY = 0.2  # seconds between two counts of its processes
NOT_FOUND = 127  # the exit status of a command that can't be run, as in a shell
KILLED_WITHIN = 5.0  # seconds that killing them may take


class Launched(NamedTuple):
    """A submission that was started: the process to wait for, the group to signal, its first process."""

    child: int
    group: int
    first: int


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


def living() -> list[int]:
    """All processes below this one."""
    return descendants_linux() if os.path.isdir("/proc/self/task") else descendants()  # noqa: PTH112


def kill_everything(child: int) -> bool:
    """Kill until nothing is left, in a few seconds at most; returns whether nothing is.

    A process may fork while it is being killed, so they are all stopped first: what has stopped does not fork.
    """
    send(-child, signal.SIGKILL)
    give_up = time.monotonic() + KILLED_WITHIN
    while time.monotonic() < give_up:
        stopped: set[int] = set()
        while new := set(living()) - stopped:
            for pid in new:
                send(pid, signal.SIGSTOP)
            stopped |= new
        for pid in stopped:
            send(pid, signal.SIGKILL)
        for _ in ends():
            pass  # an ended process stays in the list until its parent has asked how it ended
        if not stopped:
            return True
        time.sleep(0.005)
    return False


def ends() -> Iterator[tuple[int, int]]:
    """Children that have ended, orphans among them, and their exit codes."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            yield ended[0], os.waitstatus_to_exitcode(ended[1])


def send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def limit() -> None:
    """Limits that no submission can lift: soft and hard ones are the same."""
    cap(resource.RLIMIT_CORE, 0)
    cap(resource.RLIMIT_FSIZE, LARGEST_FILE)
    cap(resource.RLIMIT_DATA, MOST_MEMORY)
    cap(resource.RLIMIT_NOFILE, MOST_FILES)
    if os.getuid() != 0 and os.path.isdir("/proc/self"):  # noqa: PTH112
        # This one counts all threads of the user, whatever they belong to. Root has no such limit.
        cap(resource.RLIMIT_NPROC, threads_of_user() + MOST_THREADS)


def cap(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (least, least))


def threads_of_user() -> int:
    user, count = os.getuid(), 0
    for entry in os.listdir("/proc"):  # noqa: PTH208
        with contextlib.suppress(OSError):
            if entry.isdigit() and os.stat(f"/proc/{entry}").st_uid == user:  # noqa: PTH116
                count += len(os.listdir(f"/proc/{entry}/task"))  # noqa: PTH208
    return count


def resident(pids: list[int]) -> int:
    """Bytes of memory that these processes have; what they share counts for each."""
    pages = 0
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/statm") as file:  # noqa: PTH123
            pages += int(file.read().split()[1])
    return pages * resource.getpagesize()


def busy(pids: list[int]) -> int:
    """How many of these processes run, or would if there was a processor for them. Linux alone says so."""
    running = 0
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
            running += file.read().rpartition(")")[2].split()[0] == "R"
    return running


def supervise(
    control: int,
    status: int,
    launch: Callable[[], Launched],
    *,
    limited: bool = True,
    exit_code: Callable[[int], int] = lambda code: code,
    most_memory: int = 0,
) -> None:
    """Let `launch` start the submission, tell how it fares, and kill all of it when `control` is closed.

    Only a `limited` one has limits. `exit_code` makes the submission's exit code of its child's. `most_memory` is for
    all processes together, 0 for any.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the grader's to handle
    adopt_orphans()
    if limited:
        limit()
    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    child, group, first = launch()
    os.write(status, f"started {group} {first}\n".encode())
    told, next_count, crowded = False, 0.0, 0
    while True:
        for ended, code in ends():
            if ended == child:
                os.write(status, f"exited {exit_code(code)}\n".encode())
                told = True
        if limited and time.monotonic() >= next_count:
            next_count = time.monotonic() + COUNT_EVERY
            alive = living()
            too_much = f"more than {MOST_PROCESSES} processes at once" if len(alive) > MOST_PROCESSES else ""
            crowded = crowded + 1 if busy(alive) > MOST_BUSY else 0
            if crowded == MANY_LOOKS:
                too_much = f"more than {MOST_BUSY} processes that never rest"
            if most_memory and resident(alive) > most_memory:
                too_much = f"more than {most_memory >> 20} MB of memory"
            if too_much:
                os.write(2, f"{too_much}: all of its processes were killed\n".encode())
                kill_everything(child)
                if not told:
                    os.write(status, f"exited {-signal.SIGKILL}\n".encode())
                    told = True
        ready, _, _ = select.select([control, woken], [], [], COUNT_EVERY if limited else None)
        if woken in ready:
            os.read(woken, 512)
        if control in ready and not os.read(control, 1):
            break
    if kill_everything(child):
        os.write(status, b"over\n")


def main() -> None:
    control, status = int(sys.argv[1]), int(sys.argv[2])
    limited = bool(os.environ.pop("CONVERGE_LIMITS", ""))
    passed = [int(descriptor) for descriptor in os.environ.pop("CONVERGE_PASS_FDS", "").split(",") if descriptor]

    def launch() -> Launched:
        try:
            child = subprocess.Popen(sys.argv[3:], stdin=subprocess.DEVNULL, pass_fds=passed, start_new_session=True)
        except OSError as error:
            os.write(2, f"cannot run {sys.argv[3]}: {error.strerror}\n".encode())
            os.write(status, f"exited {NOT_FOUND}\nover\n".encode())
            sys.exit(NOT_FOUND)
        child.returncode = 0  # it is waited for below, not by this object
        for descriptor in passed:
            os.close(descriptor)  # so that the grader sees the end of the channel when the child is gone
        return Launched(child.pid, child.pid, child.pid)

    supervise(control, status, launch, limited=limited)


if __name__ == "__main__":
    main()
