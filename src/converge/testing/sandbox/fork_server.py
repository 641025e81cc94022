"""Imports what operators import, once, and forks at each start: `python -I -B -u fork_server.py SOCKET MODULE…`.

kopf takes a second to import, and a check that kills an operator after each of its writes starts it a dozen times.
No submission is imported here: each gets a fork of its own, made before any other has run, below a supervisor that is
also a fork. An order is one message on SOCKET: what to run, where, in which environment; with it come three pipes.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys
import tempfile
import traceback
from typing import Any

from converge.testing.sandbox.supervisor import Launched, supervise

LARGEST_ORDER = 64 * 1024  # bytes of an order
PIPES = 3  # that come with it: control and status of the supervisor, output of all


def main() -> None:
    channel = socket.socket(fileno=int(sys.argv[1]))
    for name in sys.argv[2:]:
        importlib.import_module(name)
    gc.freeze()  # what is here stays as it is, so that forks share it
    order = take_order(channel)
    if order is None:
        return  # the grader is gone
    os.setsid()
    control, status, output = order["pipes"]
    with open(os.devnull) as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    supervise(control, status, lambda: launch(order))


def take_order(channel: socket.socket) -> dict[str, Any] | None:
    """Fork for each order; returns it in the fork, and None here when there will be no more."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a supervisor ended: its last words tell
    while True:
        message, pipes, _, _ = socket.recv_fds(channel, LARGEST_ORDER, PIPES)
        if not message:
            return None
        if os.fork() == 0:
            channel.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            return {**json.loads(message), "pipes": pipes}
        for pipe in pipes:
            os.close(pipe)


def launch(order: dict[str, Any]) -> Launched:
    """Fork once more: the supervisor gets a number, the fork becomes the submission."""
    grouped, tell = os.pipe()
    if child := os.fork():
        os.close(tell)
        os.read(grouped, 1)  # until it has a group of its own, at which signals are aimed
        os.close(grouped)
        return Launched(child, child, child)
    os.setsid()
    os.close(tell)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for descriptor in os.listdir("/proc/self/fd"):  # noqa: PTH208 - what is the supervisor's is not the submission's
        if int(descriptor) > 2:
            close(int(descriptor))
    os.chdir(order["directory"])
    os.environ.clear()
    os.environ.update(order["environment"])
    forget_the_old_environment()
    sys.exit(run(order["arguments"]))


def close(descriptor: int) -> None:
    try:
        os.close(descriptor)
    except OSError:
        pass  # the one with which the folder was read


def forget_the_old_environment() -> None:
    """Some modules have looked at the environment while they were imported."""
    tempfile.tempdir = None
    if config := sys.modules.get("kubernetes.config.kube_config"):
        config.KUBE_CONFIG_DEFAULT_LOCATION = os.environ.get("KUBECONFIG", "~/.kube/config")  # type: ignore[attr-defined]


def run(arguments: list[str]) -> int:
    """As `python ARGUMENTS…` would: `-m MODULE …` or `FILE …`. Returns the exit status."""
    try:
        if arguments[0] == "-m":
            sys.argv = arguments[1:]
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = arguments
            runpy.run_path(arguments[0], run_name="__main__")
    except Exception as error:
        ours = error.__traceback__.tb_next if error.__traceback__ else None
        traceback.print_exception(type(error), error, ours)
        return 1
    return 0


if __name__ == "__main__":
    main()
