"""A submission's process: its output is kept and cut, its end is known, and nothing of it stays."""

import signal
import sys
from pathlib import Path

import psutil
import pytest

from converge.testing.sandbox.fork_client import fork_server
from converge.testing.sandbox.output import plain
from converge.testing.sandbox.process import Process, isolated_python
from converge.testing.sandbox.supervisor import LARGEST_FILE, MOST_MEMORY
from converge.testing.waits.waiting import eventually


@pytest.fixture(params=["by itself", "from a fork server"])
def start(request, tmp_path, tmp_path_factory):
    started = []

    def run(program, modules=("json",)):
        file = tmp_path_factory.mktemp("submission") / "program.py"
        file.write_text(program)
        ready = fork_server(modules, len(started)) if request.param == "from a fork server" else None
        started.append(
            Process(isolated_python(str(file)), directory=tmp_path, environment={"KUBECONFIG": "/k"}, fork_server=ready)
        )
        return started[-1]

    yield run
    for process in started:
        process.close()


@pytest.fixture
def printed(start):
    def run(program, **more):
        process = start(program, **more)
        assert process.ended.wait(20)
        process.close()
        return process.output.text()

    return run


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


DAEMON = """
import os, signal, time
supervisor = os.getppid()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.kill(supervisor, signal.SIGKILL)
        open("pid", "w").write(str(os.getpid()))
        {closing}
        os.chdir("/")
        os.execve("/bin/sleep", ["sleep", "480"], {{}})
    os._exit(0)
time.sleep(480)
"""


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="only Linux tells who holds a pipe")
@pytest.mark.parametrize("closing", ["pass", "os.closerange(0, 64)"], ids=["holds pipes", "holds nothing"])
def test_a_daemon_that_hides_is_found_when_the_supervisor_is_killed(start, tmp_path, closing):
    process = start(DAEMON.format(closing=closing))
    pid = int(eventually(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(), within=20))
    eventually(lambda: psutil.Process(pid).name() == "sleep", within=20)
    process.close()
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_limits_cannot_be_lifted(printed):
    asked = "import resource as r; print(*[r.getrlimit(w) for w in (r.RLIMIT_CORE, r.RLIMIT_FSIZE, r.RLIMIT_DATA)])"
    assert printed(asked).strip() == " ".join(str((most, most)) for most in (0, LARGEST_FILE, MOST_MEMORY))


def test_too_much_memory_is_an_error_of_the_submission(printed):
    assert "MemoryError" in printed(f"x = b'x' * {MOST_MEMORY}")


def test_too_many_processes_are_killed(start):
    process = start("import os, time\nfor _ in range(400):\n    if os.fork() == 0: time.sleep(600)\ntime.sleep(600)")
    assert process.ended.wait(30)
    process.close()
    assert "more than 128 processes at once" in process.output.text()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which process wants a processor")
def test_many_processes_that_never_rest_are_killed(start):
    process = start("import os\nfor _ in range(40):\n    if os.fork() == 0:\n        while True: pass\nos.wait()")
    assert process.ended.wait(60)
    process.close()
    assert "more than 16 processes that never rest" in process.output.text()


def test_control_characters_are_taken_out():
    assert plain("\x1b[31mred\x1b[0m \x07bell\r\n\x9b2Jclear\n") == "red bell\n2Jclear\n"


def test_the_home_of_a_submission_is_empty(start):
    process = start("import os, pathlib; print(sorted(p.name for p in pathlib.Path.home().iterdir()))")
    assert process.ended.wait(20)
    process.close()
    assert process.output.text().strip() == "[]"
    assert Path.home().exists()


def test_it_finds_its_own_environment_and_directory(printed, tmp_path):
    assert printed("import os; print(os.getcwd(), os.environ['HOME'])").split() == [str(tmp_path)] * 2


def test_a_kubeconfig_is_found_by_a_package_that_looked_for_it_at_import(printed):
    asked = "from kubernetes.config import kube_config; print(kube_config.KUBE_CONFIG_DEFAULT_LOCATION)"
    assert printed(asked, modules=("kubernetes.config",)).strip() == "/k"


def test_what_one_submission_does_to_a_module_is_not_seen_by_the_next(printed):
    marking = "import json; print(getattr(json, 'mark', 'clean')); json.mark = 'dirty'"
    assert [printed(marking).strip() for _ in range(3)] == ["clean"] * 3


def test_two_starts_in_a_row_order_sets_differently(printed):
    assert printed("print(hash('seed'))") != printed("print(hash('seed'))")


def test_it_has_no_descriptor_of_ours(printed):
    listing = "import os; print(*[f for f in os.listdir('/proc/self/fd') if int(f) > 2])"
    assert len(printed(listing).split()) == 1, "the folder that is read"


def test_a_traceback_shows_the_submission_and_nothing_of_ours(printed):
    text = printed("def broken():\n    raise ValueError('mine')\nbroken()\n")
    assert "ValueError: mine" in text
    assert "in broken" in text
    assert "fork_server" not in text


def test_it_ends_like_any_python(start):
    process = start("import atexit, threading; atexit.register(print, 'last'); raise SystemExit(4)")
    assert process.ended.wait(20)
    process.close()
    assert (process.exit_code, process.output.text()) == (4, "last\n")
