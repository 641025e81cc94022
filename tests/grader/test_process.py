"""A submission's process: its output is kept and cut, its end is known, and nothing of it stays."""

import signal
import sys
from pathlib import Path

import psutil
import pytest

from converge.grader.output import plain
from converge.grader.process import Process
from converge.grader.waiting import eventually


@pytest.fixture
def start(tmp_path):
    started = []

    def run(program):
        process = Process([sys.executable, "-I", "-u", "-c", program], directory=tmp_path)
        started.append(process)
        return process

    yield run
    for process in started:
        process.close()


def test_its_exit_status_is_known(start):
    process = start("print('bye'); raise SystemExit(7)")
    assert process.ended.wait(20)
    process.close()
    assert process.exit_code == 7
    assert process.output.text() == "bye\n"


def test_a_signal_is_known_too(start):
    process = start("import time; time.sleep(60)")
    process.signal(signal.SIGKILL)
    assert process.ended.wait(20)
    assert process.exit_code == -signal.SIGKILL


def test_children_that_left_the_session_are_killed(start, tmp_path):
    process = start(
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)\n"
        "open('pid', 'w').write(str(child.pid))\n"
        "time.sleep(600)\n"
    )
    pid = int(eventually(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(), within=20))
    process.close()
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_nothing_stays_when_the_supervisor_is_killed(start, tmp_path):
    program = "import os, time\nos.kill(os.getppid(), 9)\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    process = start(program)
    pid = int(eventually(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(), within=20))
    process.close()
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_control_characters_are_taken_out():
    assert plain("\x1b[31mred\x1b[0m \x07bell\r\n\x9b2Jclear\n") == "red bell\n2Jclear\n"


def test_the_home_of_a_submission_is_empty(start):
    process = start("import os, pathlib; print(sorted(p.name for p in pathlib.Path.home().iterdir()))")
    assert process.ended.wait(20)
    process.close()
    assert process.output.text().strip() == "[]"
    assert Path.home().exists()
