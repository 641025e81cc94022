"""`make test` relies on it: what is in one group runs in one worker, so that its fixtures are made once."""

import subprocess
import sys
from pathlib import Path

TESTS = """
import os, pathlib, pytest

@pytest.mark.xdist_group("one")
@pytest.mark.parametrize("number", range(6))
def test_it(number):
    pathlib.Path(os.environ["PYTEST_XDIST_WORKER"]).touch()
"""


def test_the_tests_of_a_group_run_in_one_worker(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "6 passed" in ended.stdout, ended.stdout + ended.stderr
    assert len(list(tmp_path.glob("gw*"))) == 1
