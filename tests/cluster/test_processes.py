"""Processes that are started, remembered and killed."""

import sys
from pathlib import Path

import psutil
import pytest

from converge.cluster import processes
from converge.cluster.bootstrap import until

FIRST_THREAD_ENDS = """
import ctypes, socket, threading
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
threading.Thread(target=threading.Event().wait).start()
ctypes.CDLL(None).pthread_exit(None)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux says about threads")
def test_a_program_runs_until_its_last_thread_has_ended(tmp_path: Path) -> None:
    remembered = processes.start([sys.executable, "-c", FIRST_THREAD_ENDS], tmp_path / "log", {})
    process = psutil.Process(remembered.pid)
    until("the end of the first thread", lambda: process.status() == psutil.STATUS_ZOMBIE, within=30)
    assert remembered.process() is not None, "it still holds its port"
    assert processes.is_ending(remembered.pid)
    assert processes.kill([process]) == []
    assert remembered.process() is None
    assert process.net_connections() == []


@pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux says about signals")
def test_a_program_that_nobody_killed_is_not_ending(tmp_path: Path) -> None:
    remembered = processes.start([sys.executable, "-c", "import time; time.sleep(600)"], tmp_path / "log", {})
    process = psutil.Process(remembered.pid)
    assert not processes.is_ending(remembered.pid)
    assert processes.kill([process]) == []
    process.wait(30)
    assert not processes.is_ending(remembered.pid), "it has ended"
