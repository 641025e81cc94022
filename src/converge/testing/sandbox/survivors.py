"""Finds and kills what is left of a submission whose supervisor is gone.

A daemon can clear its environment, leave its session and change its directory. It is still found by one of three
traces: the mark in its environment, a pipe of ours that it holds open, or that the kernel made us its parent when the
supervisor died.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from converge.testing.sandbox.supervisor import adopt_orphans

if TYPE_CHECKING:
    import psutil

# In the environment of every process of a submission, under a name that systemd uses too: it tells nothing.
MARK_VARIABLE = "INVOCATION_ID"
KILLED_WITHIN = 5.0  # seconds after which we give up
started_here: set[int] = set()  # supervisors and fork servers, which are children of ours by right


class Traces:
    """What the processes of one submission are known by, from the moment before they start."""

    def __init__(self, mark: str, pipes: tuple[int, ...] = ()) -> None:
        adopt_orphans()
        self._mark = mark
        self._pipes = {f"pipe:[{os.fstat(each).st_ino}]" for each in pipes}
        self._since = time.time() - 1  # clocks are not that exact

    def kill(self) -> None:
        """Kill all that is found, until nothing is: a process may fork while it is being killed."""
        give_up = time.monotonic() + KILLED_WITHIN
        while (found := list(self._found())) and time.monotonic() < give_up:
            for process in found:
                process.kill()
                try:
                    os.waitpid(process.pid, os.WNOHANG)
                except ChildProcessError:
                    pass  # not a child of ours
            time.sleep(0.005)

    def _found(self) -> Iterator[psutil.Process]:
        import psutil  # needed in rare cases only, and slow to import

        spared = {os.getpid(), *started_here, *cluster_processes()}
        for process in psutil.process_iter():
            try:
                if process.pid in spared or process.status() == psutil.STATUS_ZOMBIE:
                    continue
                if self._marked(process) or self._holds_a_pipe(process) or self._adopted(process):
                    yield process
            except (psutil.Error, OSError):
                continue  # ended, or another user's

    def _marked(self, process: psutil.Process) -> bool:
        return process.environ().get(MARK_VARIABLE) == self._mark

    def _holds_a_pipe(self, process: psutil.Process) -> bool:
        descriptors = Path(f"/proc/{process.pid}/fd")
        return descriptors.is_dir() and any(target(each) in self._pipes for each in descriptors.iterdir())

    def _adopted(self, process: psutil.Process) -> bool:
        """Whether it became our child without being started by us: a submission is never in our session."""
        ours = process.ppid() == os.getpid() and process.create_time() >= self._since
        return ours and os.getsid(process.pid) != os.getsid(0)


def target(link: Path) -> str:
    try:
        return os.readlink(link)  # noqa: PTH115
    except OSError:
        return ""


def cluster_processes() -> set[int]:
    """A cluster that was started here is a child of ours too."""
    from converge import cluster

    there = cluster.current()
    return {part.pid for part in there.parts if part.pid} if there else set()
