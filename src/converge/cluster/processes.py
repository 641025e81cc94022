"""Processes that outlive the terminal which started them, and that are found again later.

A process is remembered by its pid and its start time, because a pid alone may belong to another process tomorrow.
"""

import os
import signal
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

_PAUSE = 0.01


@dataclass(frozen=True)
class Remembered:
    """A process as it is written down."""

    pid: int
    started: float

    def process(self) -> psutil.Process | None:
        """The running process, or None when it is gone (a zombie is gone)."""
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.started) < 0.1
            return process if same and _runs(process) else None
        except psutil.Error:
            return None


def _runs(process: psutil.Process) -> bool:
    """Whether it has not ended, ports and all. When its parent takes note of that is not our business.

    A killed program is called a zombie as soon as its first thread has ended. Its ports stay taken until the last one
    has, and on a busy machine that is a moment later.
    """
    try:
        return process.is_running() and (process.status() != psutil.STATUS_ZOMBIE or process.num_threads() > 1)
    except psutil.NoSuchProcess:
        return False


def is_ending(pid: int) -> bool:
    """Whether a process that still runs can't be stopped from ending: it was killed, or its first thread has ended.

    A killed program dies when the kernel next gives it the processor. Only Linux says so beforehand.
    """
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return False
    said = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    pending = int(said["SigPnd"], 16) | int(said["ShdPnd"], 16)
    return said["State"].startswith("Z") or bool(pending >> (signal.SIGKILL - 1) & 1)


def start(command: list[str], log: Path, environment: dict[str, str]) -> Remembered:
    """Start ``command`` in a session of its own, its output in ``log``."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=environment,
            cwd=log.parent,
        )
    process.returncode = 0  # it is meant to outlive us: no ResourceWarning when this object goes
    return Remembered(process.pid, psutil.Process(process.pid).create_time())


def kill(processes: Iterable[psutil.Process], within: float = 5.0) -> list[psutil.Process]:
    """Kill all of ``processes`` at once; return those still alive after ``within`` seconds."""
    doomed = list(processes)
    for process in doomed:
        try:
            process.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue
    deadline = time.monotonic() + within
    while (alive := [process for process in doomed if _runs(process)]) and time.monotonic() < deadline:
        time.sleep(_PAUSE)
    return alive


def kill_session(leader: int) -> None:
    """Kill a process that leads a session of its own, and its children with it."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        pass


def mentioning(text: str, names: Iterable[str]) -> list[psutil.Process]:
    """Processes whose program starts with one of ``names`` and whose command line contains ``text``."""
    wanted = tuple(names)
    matches = []
    for process in psutil.process_iter(["cmdline"]):
        line = process.info["cmdline"] or []
        if line and Path(line[0]).name.startswith(wanted) and any(text in word for word in line[1:]):
            matches.append(process)
    return matches
