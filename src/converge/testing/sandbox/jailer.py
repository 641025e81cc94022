"""Runs one jailed command: `python -I -B jailer.py CONTROL STATUS SETUP bwrap … COMMAND…`, where SETUP is JSON.

It is the supervisor of a jail: on our side of it, so that no submission can see or signal it, but without a network, so
that its relays listen where the submission connects. What it reports and when it kills is the supervisor's business.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from converge.testing.sandbox import system_calls
from converge.testing.sandbox.relay import Address, start
from converge.testing.sandbox.supervisor import Launched, supervise

SMALL_STACK = 256 * 1024  # bytes for each thread of a relay: they also count against the limit on our memory
BEGINS_WITHIN = 20.0  # seconds in which the submission's first process has to be there
SIGNAL_OFFSET = 128  # what bubblewrap adds to the number of the signal that ended its command
MOST_MEMORY = 2 * 1024 * 1024 * 1024  # bytes that all processes of the submission may have together


def main() -> None:
    control, status = int(sys.argv[1]), int(sys.argv[2])
    setup: dict[str, Any] = json.loads(sys.argv[3])
    bwrap, *rest = sys.argv[4:]
    threading.stack_size(SMALL_STACK)
    start([(address(listen), address(connect)) for listen, connect in setup["relays"]])

    def launch() -> Launched:
        told, tell = os.pipe()
        refused = system_calls.descriptor()
        seccomp = [] if refused is None else ["--seccomp", str(refused)]
        given = [tell, *([] if refused is None else [refused]), *setup["pass_fds"]]
        command = [bwrap, "--info-fd", str(tell), *seccomp, *rest]
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=given, start_new_session=True)
        child.returncode = 0  # the supervisor waits for it, not this object
        for descriptor in given:
            os.close(descriptor)
        return Launched(child.pid, *find(told))

    supervise(control, status, launch, exit_code=exit_code, most_memory=MOST_MEMORY)


def address(said: list[Any] | str) -> Address:
    return said if isinstance(said, str) else (str(said[0]), int(said[1]))


def find(told: int) -> tuple[int, int]:
    """The submission's group and its first process, as this side numbers them; zeros if it never began.

    Its group is bubblewrap's first process inside, which starts the submission and ignores what the group is sent.
    """
    with os.fdopen(told) as file:
        said = file.read()
    group = int(json.loads(said)["child-pid"]) if said else 0
    give_up = time.monotonic() + BEGINS_WITHIN
    while group and time.monotonic() < give_up:
        try:
            below = Path(f"/proc/{group}/task/{group}/children").read_text().split()
        except OSError:
            break  # bubblewrap has said why
        if below:
            return group, int(below[0])
        time.sleep(0.002)
    return group, 0


def exit_code(code: int) -> int:
    """Of the submission, from bubblewrap's: as everywhere else, negative for a signal."""
    return SIGNAL_OFFSET - code if SIGNAL_OFFSET < code <= SIGNAL_OFFSET + signal.NSIG else code


if __name__ == "__main__":
    main()
