"""Submissions that attack the grader score what they honestly earn: here nothing."""

from pathlib import Path

import psutil
import pytest

from converge.grader import course as courses
from converge.grader.library import Library
from converge.grader.run import Job, run
from converge.grader.verdict import Failure, Status, TookTooLong
from converge.grader.waiting import eventually

ATTACKS = sorted((Path(__file__).parent / "attacks").glob("*/workqueue.py"))
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
    return Library(Path(__file__).parent / "attacks" / name / "workqueue.py", tmp_path)


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
