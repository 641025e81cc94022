"""`verify` finds what is wrong with a lab: a solved skeleton, a mutant that goes unnoticed, a variant that fails."""

import shutil
from pathlib import Path

import pytest

from converge.grader import course as courses
from converge.grader.course.job import Job
from converge.grader.session import verify as verifying
from converge.grader.session.fail_fast import NOT_RUN
from converge.grader.session.run import run

MANIFEST = """
[course]
title = "Tiny"
[rights]
[[lab]]
slug = "01_double"
title = "Double"
part = "I"
kind = "library"
file = "double.py"
hints = ["How much is twice?", "Multiply.", "By two."]
"""
SKELETON = '"""Double."""\n\n\ndef double(number):\n    """Twice."""\n    raise NotImplementedError("TODO 1: double")\n'
SOLUTION = '"""Double."""\n\n\ndef double(number):\n    """Twice."""\n    return 2 * number\n'
CHECKS = '''
from converge.grader import check, expect


@check(points=1, section="twice")
def test_zero(lab):
    """Twice nothing is nothing."""
    expect(lab.double(0), 0, when="0 was doubled", hint="zero stays")


@check(points=2, section="twice")
def test_three(lab):
    """Twice three is six."""
    expect(lab.double(3), 6, when="3 was doubled", hint="multiply by two")
'''
MUTANT = """
[[mutant]]
id = "{id}"
misconception = "squares"
check = "{check}"
says = "{says}"
edits = [{{ find = "2 * number", replace = "{replace}" }}]
"""


@pytest.fixture
def course(tmp_path):
    def write(path, text):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    write("course.toml", MANIFEST)
    write("labs/01_double/double.py", SKELETON)
    write("solutions/01_double/double.py", SOLUTION)
    write("tests/labs/test_01_double.py", CHECKS)
    write("tests/variants/01_double/adds.py", SOLUTION.replace("2 * number", "number + number"))
    good = MUTANT.format(id="squares", check="test_three", says="multiply by two", replace="number * number")
    write("tests/mutants/01_double.toml", good)
    made = courses.load(tmp_path)
    made.__dict__["write"] = write
    return made


@pytest.fixture(autouse=True)
def once(monkeypatch):
    """One run of the solution tells as much here as three."""
    monkeypatch.setattr(verifying, "SOLUTION_RUNS", 1)


def problems(course):
    (found,) = verifying.verify(course, course.labs)
    return {trial.subject: trial.problems for trial in found.trials if trial.problems}, found


def test_a_good_lab_has_no_problem(course):
    wrong, found = problems(course)
    assert wrong == {}
    assert [len(found.of(kind)) for kind in ("labs", "solutions", "mutant", "variant")] == [1, 1, 1, 1]


def test_a_solved_skeleton_is_found(course):
    course.write("labs/01_double/double.py", SOLUTION)
    wrong, _ = problems(course)
    assert "the skeleton is passed" in wrong["labs"][0]


def test_a_mutant_that_goes_unnoticed_is_found(course):
    text = MUTANT.format(id="same", check="test_three", says="two", replace="number * 2")
    course.write("tests/mutants/01_double.toml", text)
    assert "goes unnoticed" in problems(course)[0]["mutant:same"][0]


def test_a_mutant_at_the_wrong_check_is_found(course):
    text = MUTANT.format(id="one", check="test_three", says="two", replace="1")
    course.write("tests/mutants/01_double.toml", text)
    assert "another check's business" in problems(course)[0]["mutant:one"][0]


def test_a_message_that_does_not_name_the_mistake_is_found(course):
    text = MUTANT.format(id="squares", check="test_three", says="never said", replace="number * number")
    course.write("tests/mutants/01_double.toml", text)
    assert "without saying 'never said'" in problems(course)[0]["mutant:squares"][0]


def test_a_mutant_that_no_longer_fits_is_found(course):
    text = MUTANT.format(id="lost", check="test_three", says="x", replace="1").replace("2 * number", "3 * number")
    course.write("tests/mutants/01_double.toml", text)
    _, found = problems(course)
    assert any("is 0 times in" in problem for problem in found.problems)


def test_a_variant_without_full_marks_is_found(course):
    course.write("tests/variants/01_double/wrong.py", SOLUTION.replace("2 * number", "number"))
    assert "test_three: failed" in problems(course)[0]["variant:wrong"][0]


def test_an_error_of_the_checks_is_no_verdict_on_the_submission(course):
    course.write("tests/labs/test_01_double.py", CHECKS.replace("expect(lab.double(3)", "expect(lab.double(undefined)"))
    wrong, _ = problems(course)
    assert "test_three: error" in wrong["solutions"][0]
    assert "the skeleton is error" in wrong["labs"][0]


def test_missing_files_are_named(course):
    shutil.rmtree(Path(course.root) / "tests" / "variants")
    _, found = problems(course)
    assert any("docs/lessons/01_double.md is missing" in problem for problem in found.problems)
    assert any("0 variant(s)" in problem for problem in found.problems)


def test_a_quick_run_asks_of_a_mutant_only_the_check_that_must_find_it(course):
    (found,) = verifying.verify(course, course.labs, quick=True)
    assert not any(trial.problems for trial in found.trials)
    assert {trial.subject.partition(":")[0] for trial in found.trials} == {"mutant", "variant"}
    assert found.of("mutant")[0].statuses["test_three"] == "failed"
    assert found.of("mutant")[0].statuses.get("test_zero") != "passed"


def test_answers_are_the_solution_and_the_skeleton(course):
    (found,) = verifying.verify(course, course.labs, answers=True)
    assert [trial.subject for trial in found.trials] == ["solutions", "labs"]
    assert not any(trial.problems for trial in found.trials)


def test_both_halves_can_be_asked_for(course):
    (found,) = verifying.verify(course, course.labs, quick=True, answers=True)
    assert {trial.subject.partition(":")[0] for trial in found.trials} == {"solutions", "labs", "mutant", "variant"}
    assert len(found.of("solutions")) == 1


def test_a_quick_run_looks_twice_before_it_calls_something_a_problem(course, tmp_path):
    once = f"""import pathlib
    seen = pathlib.Path({str(tmp_path / "seen")!r})
    lucky = number == 0 or seen.exists()
    number == 0 or seen.touch()
    return 2 * number if lucky else 0"""
    lucky = SOLUTION.replace("return 2 * number", once)
    course.write("tests/variants/01_double/lucky.py", lucky)
    course.write("tests/variants/01_double/wrong.py", SOLUTION.replace("2 * number", "number"))
    (verified,) = verifying.verify(course, course.labs, quick=True)
    found = {trial.subject: trial for trial in verified.trials}
    assert "test_three: failed" in found["variant:lucky"].unsteady[0]
    assert not found["variant:lucky"].problems
    assert "test_three: failed" in found["variant:wrong"].problems[0]
    assert not found["variant:wrong"].unsteady


def test_a_job_that_ends_with_its_first_failure_runs_nothing_after_it(course):
    zero, three = course.labs[0].checks
    wrong, right = f"{course.root}/labs/01_double/double.py", f"{course.root}/solutions/01_double/double.py"
    jobs = [
        Job(course.labs[0], against, order, until_failure=True)
        for against in (wrong, right)
        for order in ([zero, three], [three, zero])
    ]
    first, second, *passed = run(course, jobs)
    assert [first.find("test_three").cause, second.find("test_zero").cause] == [NOT_RUN, NOT_RUN]
    assert NOT_RUN not in (first.find("test_zero").cause, second.find("test_three").cause)
    assert all(result.passed for result in passed)
