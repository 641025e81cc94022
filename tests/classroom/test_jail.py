"""What a submission in a jail can see, reach and change: its own work, the recorder, and nothing else."""

import json
import os
import socket
import struct
import threading
from pathlib import Path

import psutil
import pytest

from converge.files import package_root
from converge.grader import course as courses
from converge.grader.session.lab_jail import built_on, jail_of
from converge.testing.sandbox import jail as jails
from converge.testing.sandbox import system_calls
from converge.testing.sandbox.jail import Reach
from converge.testing.sandbox.process import Process, isolated_python
from converge.testing.waits.waiting import eventually

pytestmark = [
    pytest.mark.skipif(bool(jails.refusal()), reason=f"not run: {jails.refusal()}"),
    pytest.mark.xdist_group("jail"),  # one process is asked about everything
]

PROBE = Path(__file__).with_name("probe.py")


@pytest.fixture(scope="module")
def listener():
    """Two servers of the machine: the jail leads to the first, as it does to the recorder."""
    servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]

    def answer(server):
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.sendall(b"hello")

    for server in servers:
        threading.Thread(target=answer, args=(server,), daemon=True).start()
    yield [server.getsockname()[1] for server in servers]
    for server in servers:
        server.close()


@pytest.fixture(scope="module")
def found(listener, tmp_path_factory):
    """All that one hostile process could do, and whether that left traces outside."""
    top = tmp_path_factory.mktemp("class")
    mine, other, home, state = (top / name for name in ("mine", "other", "home", "state"))
    for folder in (mine, other, home, state):
        folder.mkdir()
    (mine / "drift.py").write_text(PROBE.read_text())
    for secret in (other / "drift.py", state / "admin.kubeconfig", home / "someone's"):
        secret.write_text("secret")
    (home / "kubeconfig").write_text("mine")
    lab = courses.load().find("07")
    root = package_root()
    asked = {
        "ports": listener,
        "grader": os.getpid(),
        "hidden": [
            str(path)
            for path in (
                other / "drift.py",
                state / "admin.kubeconfig",
                home / "someone's",
                lab.solution,
                lab.checks_file,
                root / "solutions" / "16_ship" / "ship.py",
                Path(jails.__file__).parents[2] / "grader" / "session" / "run.py",
                Path(jails.__file__).parents[2] / "classroom" / "store.py",
                Path.home() / ".kube" / "config",
                "/etc/shadow",
            )
        ],
        "fixed": [str(mine / "drift.py"), jails.__file__, str(root / "course.toml"), os.__file__, "/usr/x", "/x"],
    }
    process = Process(
        isolated_python(str(mine / "drift.py"), json.dumps(asked)),
        directory=home,
        jail=jail_of(lab, mine / "drift.py"),
        reach=Reach((listener[0],)),
        files=[home / "kubeconfig"],
    )
    said = eventually(lambda: "\nEND" in process.output.text() and process.output.text(), within=60)
    assert said, process.output.text()
    result = json.loads(said.partition("BEGIN")[2].partition("END")[0])
    result["descendants"] = [each.pid for each in psutil.Process(process.pid).children(recursive=True)]
    process.close()
    result["left in home"] = sorted(each.name for each in home.iterdir())
    return result


def test_secrets_are_not_there(found):
    assert found["read"] == []


def test_nothing_outside_can_be_changed(found):
    assert found["wrote"] == []
    assert found["left in home"] == ["kubeconfig", "someone's"]


def test_only_what_it_needs_answers(found):
    assert found["answers"] == [True, False]


def test_it_sees_its_own_processes_only(found):
    assert not found["sees grader"]
    assert found["process"] < 50
    assert found["descriptors"] == [0, 1, 2]
    assert found["memory of others"] == []


def test_it_has_no_powers_and_gets_none(found):
    assert int(found["capabilities"], 16) == 0
    assert not found["unshared"]


def test_it_has_no_memory_that_is_no_process_s(found):
    """Memory is counted per process: a file of memory that nobody maps would be nobody's."""
    assert found["memory of no one"] == [False, False]


@pytest.mark.parametrize("machine", system_calls.MACHINES)
def test_the_filter_refuses_what_it_names_and_nothing_else(machine):
    name, fcntl, numbers = system_calls.MACHINES[machine]
    lines = list(struct.iter_unpack("=HBBI", system_calls.program(machine)))

    def verdict(number, on=name, second=0):
        at = value = 0
        while True:
            code, then, otherwise, said = lines[at]
            at += 1
            if code == system_calls.RETURN:
                return said
            if code == system_calls.LOAD:
                value = {system_calls.NUMBER: number, system_calls.MACHINE: on, system_calls.SECOND_ARGUMENT: second}[
                    said
                ]
            else:
                holds = value == said if code == system_calls.EQUAL else value >= said
                at += then if holds else otherwise

    assert len(numbers) == len(system_calls.REFUSED)
    refused = {number for number in range(1000) if verdict(number) == system_calls.REFUSE}
    assert refused == set(numbers)
    assert verdict(0) == verdict(0, second=system_calls.SET_LEASE) == verdict(fcntl, second=3) == system_calls.ALLOW
    assert verdict(fcntl, second=system_calls.SET_LEASE) == system_calls.REFUSE
    assert verdict(system_calls.X32 + 1) == verdict(1, on=0x40000003) == system_calls.REFUSE


def test_it_can_build_on_earlier_lessons_and_not_on_its_own(found):
    assert found["lessons"] == {"06_idempotency": True, "07_drift": False}


def test_its_daemon_is_gone(found):
    assert found["descendants"]
    assert not [pid for pid in found["descendants"] if psutil.pid_exists(pid)]


def test_no_lab_is_given_its_own_solution_and_the_first_get_the_helpers_they_import():
    course = courses.load()
    assert built_on(course.find("01")) == {"06_idempotency"}
    assert built_on(course.find("02")) == {"01_loop", "06_idempotency"}  # the first needs the second
    assert built_on(course.find("06")) == {"01_loop"}
    assert built_on(course.find("05")) >= {"03_workqueue", "04_informer"}  # a check puts them together with it
    assert not [lab.slug for lab in course.labs if lab.slug in built_on(lab)]


def test_a_crowd_of_processes_is_killed(tmp_path):
    file = tmp_path / "mine" / "loop.py"
    (tmp_path / "home").mkdir()
    file.parent.mkdir()
    file.write_text("import os, time\nfor _ in range(200):\n    os.fork() or time.sleep(600)\ntime.sleep(600)\n")
    jail = jail_of(courses.load().find("01"), file)
    process = Process(isolated_python(str(file)), directory=tmp_path / "home", jail=jail)
    assert process.ended.wait(60)
    process.close()
    assert "processes at once" in process.output.text()


def test_a_machine_that_cannot_isolate_says_so_in_one_sentence(monkeypatch):
    monkeypatch.setattr(jails.shutil, "which", lambda name: None)
    why = jails.refusal.__wrapped__()
    assert "bubblewrap" in why
    assert "\n" not in why


def test_a_container_that_cannot_isolate_hears_how_to_start_it(monkeypatch, tmp_path):
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho 'bwrap: No permissions' >&2\nexit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(jails, "CONTAINER_MARKS", (tmp_path,))
    why = jails.refusal.__wrapped__()
    assert "bwrap: No permissions (a container needs --security-opt seccomp=unconfined" in why
    assert "\n" not in why
