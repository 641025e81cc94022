"""The three operators that are compared, and what it takes to run one of them."""

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import psutil

from benchmarks import golang, webapps
from benchmarks.arena import Arena
from converge.files import package_root

OPERATORS = package_root() / "benchmarks" / "operators"
OURS, KOPF, GO = CONTENDERS = ("converge", "kopf", "controller-runtime")


def prepare() -> None:
    """Do now what must not happen while something is measured."""
    _go_operator()


@cache
def _go_operator() -> Path:
    return golang.build(golang.COURSE_MODULE, "./benchmark", "webapp-operator")


def _command(contender: str, namespace: str) -> list[str]:
    match contender:
        case "converge":
            program = ["converge.runtime", "run", str(OPERATORS / "on_runtime.py"), "-n", namespace]
        case "kopf":
            program = ["kopf", "run", str(OPERATORS / "on_kopf.py"), "--standalone", "--quiet", "-n", namespace]
        case _:
            return [str(_go_operator()), "-n", namespace]
    return [sys.executable, "-m", *program]


@contextmanager
def running(contender: str, arena: Arena, kubeconfig: Path, namespace: str) -> Iterator[psutil.Process]:
    """Run an operator on one namespace; it is ready when a first WebApp of its own has been served."""
    log = kubeconfig.with_suffix(".log")
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "PYTHONPATH": str(OPERATORS)}
    with log.open("ab") as output:
        child = subprocess.Popen(
            _command(contender, namespace), env=environment, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        process = psutil.Process(child.pid)
        first = webapps.create(arena.client, namespace, f"first-{uuid.uuid4().hex[:8]}")
        webapps.wait_for(
            arena.client, namespace, [first["metadata"]["name"]], first["metadata"]["resourceVersion"], None, within=300
        )
        arena.settle(contender)
        yield process
        if child.poll() is not None:
            raise RuntimeError(f"{contender} ended by itself:\n{log.read_text()[-2000:]}")
    finally:
        child.send_signal(signal.SIGCONT)
        child.terminate()
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def cpu_seconds(process: psutil.Process) -> float:
    """The processor time that a process has used so far."""
    times = process.cpu_times()
    return times.user + times.system


def populate(arena: Arena, kubeconfig: Path, namespace: str, count: int) -> str:
    """Fill a namespace with WebApps that have been served and are available."""
    with running(OURS, arena, kubeconfig, namespace):
        since = arena.client.list(*webapps.WEBAPP, namespace).resource_version
        names = [app["metadata"]["name"] for app in webapps.create_many(arena.client, namespace, count)]
        webapps.wait_for(arena.client, namespace, names, since, available=True, within=900)
        arena.settle(OURS)
    return namespace
