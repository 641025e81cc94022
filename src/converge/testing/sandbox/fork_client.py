"""Pythons kept ready, of which a submission's process is a fork: the grader's handle on `fork_server.py`."""

from __future__ import annotations

import json
import secrets
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from converge.testing.sandbox.process import ISOLATED_PYTHON, scrubbed
from converge.testing.sandbox.survivors import MARK_VARIABLE, Traces, started_here

PROGRAM = Path(__file__).with_name("fork_server.py")


class ForkServer:
    """A Python that has imported `modules` and forks for each submission: see `fork_server.py`."""

    def __init__(self, modules: Sequence[str]) -> None:
        mark = secrets.token_hex(8)
        self._traces = Traces(mark)
        self._socket, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with there:
            self._process = subprocess.Popen(
                [*ISOLATED_PYTHON, str(PROGRAM), str(there.fileno()), *modules],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[there.fileno()],
                env={**scrubbed(Path("/")), MARK_VARIABLE: mark},  # a fork shows what its ancestor was started with
                start_new_session=True,
            )
        started_here.add(self._process.pid)

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
        started_here.discard(self._process.pid)
        self._traces.kill()


_servers: dict[tuple[tuple[str, ...], int], ForkServer] = {}


def fork_server(modules: tuple[str, ...], number: int) -> ForkServer | None:
    """A fork server for the n-th start of an operator; None where forking is not safe.

    There are two, in turns: what depends on the order of a set or on `hash()` differs from one start to the next, as
    it does between any two Pythons.
    """
    if sys.platform != "linux":
        return None
    key = (modules, number % 2)
    if key not in _servers or not _servers[key].running:
        _servers[key] = ForkServer(modules)
    return _servers[key]
