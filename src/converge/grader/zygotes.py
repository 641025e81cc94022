"""Pythons kept ready, of which a submission's process is a fork: the grader's handle on `zygote.py`."""

from __future__ import annotations

import json
import secrets
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from converge.grader.process import ISOLATED, MARK, scrubbed, sweep

ZYGOTE = Path(__file__).with_name("zygote.py")


class Zygote:
    """A Python that has imported `modules` and forks for each submission: see `zygote.py`."""

    def __init__(self, modules: Sequence[str]) -> None:
        self._mark = secrets.token_hex(8)
        self._socket, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with there:
            self._process = subprocess.Popen(
                [*ISOLATED, str(ZYGOTE), str(there.fileno()), *modules],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[there.fileno()],
                env={**scrubbed(Path("/")), MARK: self._mark},  # a fork shows what its ancestor was started with
                start_new_session=True,
            )

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def order(
        self, arguments: Sequence[str], directory: Path, environment: Mapping[str, str], pipes: Sequence[int]
    ) -> None:
        """Ask for a submission; `pipes` are the supervisor's control and status, and the output."""
        order = {"arguments": list(arguments), "directory": str(directory), "environment": dict(environment)}
        socket.send_fds(self._socket, [json.dumps(order).encode()], list(pipes))

    def close(self) -> None:
        """Kill it and all that was ever forked from it."""
        self._socket.close()
        self._process.kill()
        self._process.wait()
        sweep(self._mark)


_zygotes: dict[tuple[tuple[str, ...], int], Zygote] = {}


def zygote(modules: tuple[str, ...], number: int) -> Zygote | None:
    """A zygote for the n-th start of an operator; None where forking is not safe.

    There are two, in turns: what depends on the order of a set or on `hash()` differs from one start to the next, as
    it does between any two Pythons.
    """
    if sys.platform != "linux":
        return None
    key = (modules, number % 2)
    if key not in _zygotes or not _zygotes[key].running:
        _zygotes[key] = Zygote(modules)
    return _zygotes[key]
