"""One pytest for many jobs: each has its own verdicts, and what they used is gone in the end."""

from types import SimpleNamespace

import pytest

from converge.grader import course as courses
from converge.grader.checks.verdict import Status
from converge.grader.course.job import Job
from converge.grader.session import plugin
from converge.grader.session import run as runs
from converge.grader.session.run import run
from converge.runtime import NotFound

MANIFEST = """
[course]
title = "Tiny"
[rights]
[[lab]]
slug = "01_namespaces"
title = "Namespaces"
part = "I"
kind = "library"
file = "empty.py"
hints = []
"""
CHECKS = '''
from pathlib import Path

from converge.grader import check, expect

NAMES = Path(__file__).with_name("names")


@check(points=1)
def test_first(namespace):
    """A check leaves its name."""
    NAMES.write_text(namespace.name)


@check(points=1)
def test_second(namespace):
    """What the check before has used is still there."""
    before = namespace.client.get("v1", "Namespace", NAMES.read_text())
    expect(before["status"]["phase"], "Active", when="the first check was over", hint="")
    NAMES.write_text(f"{NAMES.read_text()} {namespace.name}")
'''


def test_jobs_do_not_mix_their_verdicts():
    course = courses.load()
    lab = course.find("03")
    first, second, *_ = lab.checks
    jobs = [Job(lab, "solutions", [first, second]), Job(lab, "labs", [first]), Job(lab, "solutions", [first])]
    ended: list[int] = []
    results = run(course, jobs, workers=0, on_result=lambda number, result: ended.append(number))
    assert [[check.status for check in result.checks] for result in results] == [
        [Status.PASSED, Status.PASSED],
        [Status.NOT_STARTED],
        [Status.PASSED],
    ]
    assert sorted(ended) == [0, 1, 2]
    assert all(result.seconds > 0 for result in results)


def test_a_grading_process_that_hangs_is_ended(tmp_path, monkeypatch):
    """A check that stops pytest itself: no alarm of pytest's can help."""
    monkeypatch.setattr(runs, "SETUP_AND_TEARDOWN_SECONDS", 5.0)
    for path, text in {
        "course.toml": MANIFEST,
        "labs/01_namespaces/empty.py": "",
        "tests/labs/test_01_namespaces.py": "import os, signal\nfrom converge.grader import check\n\n\n"
        "@check(points=1, timeout=1)\ndef test_it():\n    'It hangs.'\n    os.kill(os.getpid(), signal.SIGSTOP)\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    course = courses.load(tmp_path)
    (result,) = run(course, [Job(course.labs[0])], workers=0)
    assert "it hung: it reported nothing" in result.trouble
    assert [check.status for check in result.checks] == [Status.ERROR]


def test_a_job_that_cannot_be_parsed_does_not_stop_the_others(tmp_path):
    course = courses.load()
    lab = course.find("03")
    (tmp_path / "deep").mkdir()
    (tmp_path / lab.file).write_text("def (")
    (tmp_path / "deep" / lab.file).write_text("-" * 100_000 + "1")
    against = [str(tmp_path), str(tmp_path / "deep"), "solutions"]
    broken, deep, well = run(course, [Job(lab, each, lab.checks[:1]) for each in against])
    assert (broken.passed, deep.passed, well.passed) == (False, False, True)
    assert "line 1" in broken.checks[0].parts["message"]
    assert "nested too deeply" in deep.checks[0].parts["message"]


def test_namespaces_go_when_nobody_waits_any_more(tmp_path, cluster, admin):
    if cluster.pods_are_real:
        pytest.skip("here they go at once: their Pods cost something")
    for path, text in {
        "course.toml": MANIFEST,
        "labs/01_namespaces/empty.py": "",
        "tests/labs/test_01_namespaces.py": CHECKS,
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    course = courses.load(tmp_path)
    (result,) = run(course, [Job(course.labs[0])], workers=0)
    assert result.passed, result
    names = (tmp_path / "tests/labs/names").read_text().split()
    assert len(names) == 2
    for name in names:
        try:
            assert admin.get("v1", "Namespace", name)["metadata"].get("deletionTimestamp")
        except NotFound:
            pass


@pytest.mark.parametrize(
    ("error", "theirs"),
    [
        (TypeError(), True),
        (OverflowError(), True),
        (RecursionError(), True),
        (OSError(), False),
        (RuntimeError(), False),
    ],
)
def test_a_check_that_stumbles_over_an_untrusted_answer_blames_that(monkeypatch, error, theirs):
    """Else a submission that answers with 1e999, or writes a list in a list in a list …, is graded again and again."""
    monkeypatch.setattr(plugin, "planned_job", lambda item: SimpleNamespace(jailed=item.jailed))
    for fixture in ("lab", "operator"):
        assert plugin.is_odd_answer(SimpleNamespace(jailed=True, funcargs={fixture: object()}), error) is theirs
        assert not plugin.is_odd_answer(SimpleNamespace(jailed=False, funcargs={fixture: object()}), error)
