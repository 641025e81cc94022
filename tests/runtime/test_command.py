"""``python -m converge.runtime run FILE``, as its author would run it, with right and wrong files."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from runtime_world import WEBAPP, web_app

from converge.grader import eventually
from converge.recorder import reads, requests
from converge.testing.waits.deadlines import scaled

OPERATOR = """
    import logging

    from converge.runtime import Request, Result

    log = logging.getLogger("operator")
    WEBAPP = ("converge.example/v1", "WebApp")


    class Reconciler:
        def __init__(self, client):
            self.client = client

        def reconcile(self, request: Request) -> Result | None:
            log.info("looking")
            WORK
            status = {"status": {"observedGeneration": 1}}
            self.client.patch(*WEBAPP, *reversed(request), status, subresource="status")


    def setup(manager):
        manager.controller(Reconciler(manager.client)).for_(*WEBAPP)
"""

WORKING = textwrap.dedent(OPERATOR).replace("WORK", "pass")


@pytest.fixture
def run(tmp_path, kubeconfig):
    """Run a file; it is killed at the end, if it still runs."""
    processes = []

    def start(source, *options, name="operator.py"):
        file = tmp_path / name
        if source is not None:
            file.write_text(textwrap.dedent(source))
        command = [
            sys.executable,
            "-m",
            "converge.runtime",
            "run",
            str(file),
            "--kubeconfig",
            str(kubeconfig),
            *options,
        ]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def observed(admin, name, namespace):
    return admin.get(*WEBAPP, name, namespace).get("status", {}).get("observedGeneration")


def test_an_operator_runs_and_sigterm_ends_it_in_two_seconds(run, admin, namespace):
    process = run(WORKING, "-n", namespace, "--log-format", "json")
    admin.create(web_app("a", namespace))
    assert eventually(lambda: observed(admin, "a", namespace) == 1, within=30)
    started = time.monotonic()
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 0, errors
    assert time.monotonic() - started < scaled(2)
    lines = [json.loads(line) for line in errors.splitlines()]
    said = next(line for line in lines if line["message"] == "looking")
    assert (said["controller"], said["key"], said["level"]) == ("webapp", f"{namespace}/a", "info")


def test_sigterm_lets_the_work_in_hand_end(run, admin, namespace, tmp_path):
    gate = tmp_path / "gate"  # who opens it for reading waits for who opens it for writing
    os.mkfifo(gate)
    process = run(OPERATOR.replace("WORK", f"open({str(gate)!r}).read()"), "-n", namespace)
    admin.create(web_app("a", namespace))
    assert any("looking" in line for line in iter(process.stderr.readline, "")), "it ended before it looked"
    assert observed(admin, "a", namespace) is None
    started = time.monotonic()
    process.send_signal(signal.SIGTERM)
    gate.write_text("the work is done")
    assert process.wait(timeout=20) == 0
    assert time.monotonic() - started < scaled(2)
    assert observed(admin, "a", namespace) == 1


@pytest.mark.parametrize("hangs", [requests(), reads("WebApp")], ids=["discovery", "list"])
def test_interrupting_a_start_that_waits_ends_it(run, recorder, namespace, hangs):
    recorder.hang(hangs, times=None)
    process = run(WORKING, "-n", namespace)
    assert recorder.wait_for(lambda: recorder.faults, deadline=30)
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 0
    assert time.monotonic() - started < 2.5


@pytest.mark.parametrize(
    ("source", "code", "says"),
    [
        (None, 2, "there is no file"),
        ("x = 1", 2, "has no function setup(manager)"),
        ("def setup(manager:\n    pass", 2, "line 1: '(' was never closed: def setup(manager:"),
        ("import no_such_module", 2, "No module named 'no_such_module'"),
        ("def setup(manager):\n    raise NotImplementedError('TODO 1')", 2, "NotImplementedError: TODO 1"),
        ("def setup(manager):\n    pass", 1, "there is nothing to run"),
        (WORKING.replace('"WebApp"', '"WebAp"'), 1, "serves no WebAp in converge.example/v1, but Database, WebApp"),
        (WORKING.replace("converge.example", "nobody.example"), 1, "is the CustomResourceDefinition installed?"),
    ],
)
def test_what_cannot_run_is_told_in_a_few_words(run, namespace, source, code, says):
    process = run(source, "-n", namespace)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors
    assert says in errors
    assert "converge/runtime" not in errors, "no traceback from inside"
    assert len(errors.splitlines()) <= 6


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--kubeconfig", "/nowhere"], "error: there is no kubeconfig at /nowhere"),
        (["--context", "nowhere"], "Expected object with name nowhere"),
    ],
)
def test_no_cluster_is_told_in_one_line(run, options, says):
    process = run(WORKING, *options)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert says in errors
    assert len(errors.splitlines()) == 1


def test_a_file_may_be_named_like_a_module_and_import_what_lies_beside_it(run, tmp_path, admin, namespace):
    (tmp_path / "beside.py").write_text(WORKING)
    run("import queue, urllib.parse\nfrom beside import setup\nqueue.Queue", "-n", namespace, name="queue.py")
    admin.create(web_app("a", namespace))
    assert eventually(lambda: observed(admin, "a", namespace) == 1, within=30)


def test_the_lease_is_named_after_the_file_and_given_back(run, admin, namespace):
    process = run(WORKING, "-n", namespace, "--leader-elect", name="my_operator.py")
    lease = ("coordination.k8s.io/v1", "Lease", "my-operator", namespace)
    admin.create(web_app("a", namespace))
    assert eventually(lambda: observed(admin, "a", namespace) == 1, within=30)
    assert admin.get(*lease)["spec"]["holderIdentity"]
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == 0
    assert admin.get(*lease)["spec"].get("holderIdentity", "") == ""


def test_a_second_replica_takes_over_when_the_first_is_told_to_stop(run, admin, namespace):
    source = WORKING
    first = run(source, "-n", namespace, "--leader-elect")
    admin.create(web_app("a", namespace))
    assert eventually(lambda: observed(admin, "a", namespace) == 1, within=30)
    run(source, "-n", namespace, "--leader-elect")
    first.send_signal(signal.SIGTERM)
    assert first.wait(timeout=20) == 0
    admin.create(web_app("b", namespace))
    assert eventually(lambda: observed(admin, "b", namespace) == 1, within=30)
