"""Submissions that attack the grader score what they honestly earn: here nothing."""

import time
from pathlib import Path

import psutil
import pytest

from converge.grader import course as courses
from converge.grader.checks.verdict import Status
from converge.grader.course.job import Job
from converge.grader.library.library import Library
from converge.grader.session.run import run
from converge.testing.verdicts.failure import Failure, TookTooLong
from converge.testing.waits.waiting import eventually

ATTACKS = sorted((Path(__file__).parent / "cheats").glob("*/workqueue.py"))
CHECKS = ("test_duplicate_adds_collapse", "test_keys_come_out_in_order")


@pytest.fixture(scope="module")
def course():
    return courses.load()


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda path: path.parent.name)
def test_an_attack_earns_nothing(attack, course):
    lab = course.find("03")
    facts = [lab.check(name) for name in CHECKS]
    [result] = run(course, [Job(lab, str(attack), facts)])
    assert result.points == 0
    assert not result.passed
    assert not result.trouble
    assert {check.status for check in result.checks} <= {Status.FAILED, Status.TIMEOUT}
    explained = str([check.parts for check in result.checks])
    assert "\x1b" not in explained
    assert len(explained) < 20_000


def test_the_next_submission_is_unaffected(course):
    lab = course.find("03")
    [result] = run(course, [Job(lab, "solutions", [lab.check(name) for name in CHECKS])])
    assert result.passed


def start(name, tmp_path):
    return Library(Path(__file__).parent / "cheats" / name / "workqueue.py", tmp_path)


def test_a_daemon_does_not_outlive_the_check(tmp_path):
    lab = start("16_daemon", tmp_path)
    pid = int(eventually(lambda: (tmp_path / "alive").exists() and (tmp_path / "alive").read_text(), within=5))
    lab._close()
    assert eventually(lambda: not alive(pid), within=5)


def alive(pid):
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_endless_output_is_cut(tmp_path):
    lab = start("19_endless_output", tmp_path)
    assert eventually(lambda: "bytes not kept" in lab.output, within=10)
    lab._close()
    assert len(lab.output) < 100_000


def test_a_call_that_never_returns_is_told_as_such(tmp_path):
    lab = start("20_ignores_signals", tmp_path)
    with pytest.raises(TookTooLong, match="did not return within"):
        lab.WorkQueue().add("a")
    lab._close()


def test_nothing_is_found_in_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("GRADER_TOKEN", "secret")
    lab = start("21_reads_secrets", tmp_path)
    lab._close()
    assert "secret" not in lab.output
    assert "CONVERGE" not in lab.output
    assert "FOUND ~/.kube/config False" in lab.output
    assert "CHECKS" not in lab.output


def test_a_pickle_is_not_opened(tmp_path):
    with pytest.raises(Failure, match=r"broke the channel|ended by itself"):
        start("13_pickle_bomb", tmp_path)
    assert not (tmp_path / "exploded").exists()


NONSENSE = {
    "a list": "[1, 2]",
    "no id": "{}",
    "an id that is a list": '{"id": [1]}',
    "a list that is a dict": '{"id": 1, "value": {"$dict": []}}',
    "a set that is a number": '{"id": 1, "value": {"$set": 5}}',
    "an exception that is a list": '{"id": 1, "raised": [1]}',
    "a number without end": '{"id": 1, "value": ' + "9" * 10_000 + "}",
    "too deep": '{"id": 1, "value": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "deep enough": '{"id": 1, "value": ' + "[" * 900 + "]" * 900 + "}",
    "half a character": '{"id": 1, "raised": {"text": "\\ud800\\u001b[2J"}}',
    "not a number": '{"id": 1, "value": NaN}',
    "not text": "\\xff\\xfe",
    "too long": '{"id": 1, "value": "' + "x" * 5_000_000 + '"}',
}
HARMLESS = {"not a number"}


@pytest.mark.parametrize("kind", NONSENSE)
def test_whatever_is_sent_is_survived(kind, tmp_path):
    """The answer to the import (call 1) is forged; the check goes on, or fails with a sentence about the channel."""
    file = tmp_path / "workqueue.py"
    (tmp_path / "line").write_text(NONSENSE[kind] + "\n")
    file.write_text(f"import os, sys\nos.write(int(sys.argv[3]), open({str(tmp_path / 'line')!r}, 'rb').read())\n")
    (tmp_path / "home").mkdir()
    if kind in HARMLESS:
        Library(file, tmp_path / "home")._close()
        return
    with pytest.raises(Failure, match=r"broke the channel|importing workqueue.py raised") as failure:
        Library(file, tmp_path / "home")
    assert not set("\x1b\ud800") & set(str(failure.value.parts()))


def test_a_list_of_answers_may_be_nonsense_too(tmp_path):
    file = tmp_path / "workqueue.py"
    file.write_text(
        "import gc\n[host] = [each for each in gc.get_objects() if type(each).__name__ == 'Host']\n"
        "host.actions['play'] = lambda message: 7\n"
        "class WorkQueue:\n    def add(self): pass\n"
    )
    (tmp_path / "home").mkdir()
    lab = Library(file, tmp_path / "home")
    with pytest.raises(Failure, match="broke the channel"):
        lab.play([(lab.WorkQueue().add,)])
    lab._close()


def test_a_daemon_with_our_pipes_does_not_hold_the_check_up(tmp_path):
    file = tmp_path / "workqueue.py"
    file.write_text(
        "import os, signal\nsupervisor = os.getppid()\n"
        "if os.fork() == 0:\n    os.setsid()\n    os.kill(supervisor, signal.SIGKILL)\n"
        "    os.set_inheritable(int(__import__('sys').argv[3]), True)\n"
        "    os.execve('/bin/sleep', ['sleep', '480'], {})\n"
    )
    (tmp_path / "home").mkdir()
    lab = Library(file, tmp_path / "home")
    began = time.monotonic()
    lab._close()
    assert time.monotonic() - began < 60
