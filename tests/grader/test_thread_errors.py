"""What is said of a submission's thread that ended with an exception."""

import subprocess
import sys

import pytest

from converge.grader.library.threads import thread_errors

PROGRAM = """
import threading

def work(names):
    return names[3]

for _ in range(2):
    thread = threading.Thread(target=work, args=[[]])
    thread.start()
    thread.join()
print("goes on")
"""


def test_the_exception_and_the_line_are_named_once(tmp_path):
    (tmp_path / "lab.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(tmp_path / "lab.py")], capture_output=True, text=True, check=True)
    (said,) = thread_errors(done.stderr + done.stdout, "lab.py")
    assert said == "a thread of yours has ended: IndexError: list index out of range, at line 5 of lab.py, in work()"


@pytest.mark.parametrize("printed", ["", "Traceback (most recent call last):\nValueError: caught and printed\n"])
def test_what_a_submission_prints_itself_says_nothing_of_threads(printed):
    assert thread_errors(printed, "lab.py") == []
