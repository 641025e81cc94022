"""The grader graded: does a lab's skeleton earn nothing, its solution everything, each mutant exactly what it should?

Runs the lab's own checks against each of them, several at a time, and collects what is not as it should be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from converge.grader.checks.verdict import Status
from converge.grader.course import Course, Lab
from converge.grader.course.alignment import problems
from converge.grader.course.job import Job
from converge.grader.course.results import LabResult
from converge.grader.course.submissions import Mutant, mutants
from converge.grader.report.text import explain
from converge.grader.session.run import run

SOLUTION_RUNS = 3  # a solution that passes once may have been lucky
RETRIES = 2  # of what went wrong in a quick run; what passes only then is reported as flaky
MUTANT_DEADLINE_FACTOR = 0.5  # the solution and the variants have already passed with the full deadline
CHECKS_AT_A_TIME = {"library": 2, "operator": 8}  # operators mostly wait


@dataclass
class Trial:
    """The checks against one subject, and what is wrong with their outcome."""

    subject: str
    seconds: float  # that its checks took, one after the other
    problems: list[str] = field(default_factory=list)
    statuses: dict[str, str] = field(default_factory=dict)
    unsteady: list[str] = field(default_factory=list)  # problems that a retry, running alone, did not reproduce


@dataclass
class Verification:
    """All that was found out about one lab."""

    lab: str
    problems: list[str]
    trials: list[Trial]

    @property
    def passed(self) -> bool:
        return not self.problems and not any(trial.problems for trial in self.trials)

    @property
    def seconds(self) -> float:
        return sum(trial.seconds for trial in self.trials)

    def of(self, kind: str) -> list[Trial]:
        return [trial for trial in self.trials if trial.subject.partition(":")[0] == kind]

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "seconds": self.seconds, "passed": self.passed}


OnTrial = Callable[[Lab, Trial], None]


def verify(
    course: Course,
    labs: Sequence[Lab],
    on_trial: OnTrial = lambda lab, trial: None,
    *,
    quick: bool = False,
    answers: bool = False,
) -> list[Verification]:
    """Verify labs, all in one run: while one waits for its slowest mutant, another goes on. `on_trial` hears of each.

    There are two quick halves. `answers` grades the solution, once, and the skeleton. `quick` grades the variants, and
    each mutant by the one check that must find it, in half the time. What goes wrong then is looked at again,
    alone, before it is called a problem; what passes only then is reported as flaky.
    """
    todo = [case for lab in labs if lab.checks_file.exists() for case in cases(lab, quick, answers)]
    at_a_time = max((CHECKS_AT_A_TIME[lab.kind] for lab in labs), default=0)
    found: dict[str, list[Trial]] = {lab.slug: [] for lab in labs}
    for case, trial in zip(todo, attempt(course, todo, at_a_time, on_trial), strict=True):
        sure = again(course, case, trial) if (quick or answers) and trial.problems else trial
        found[case.job.lab.slug].append(sure)
    return [Verification(lab.slug, list(problems(lab)), found[lab.slug]) for lab in labs]


@dataclass(frozen=True)
class VerifyCase:
    """A submission to grade, and the outcome that is expected."""

    job: Job
    judge: Callable[[LabResult], Iterator[str]]

    def trial(self, result: LabResult) -> Trial:
        problems = [result.trouble] if result.trouble else list(self.judge(result))
        seconds = sum(check.seconds for check in result.checks)
        return Trial(self.job.against, seconds, problems, {each.name: each.status for each in result.checks})


def attempt(
    course: Course, todo: Sequence[VerifyCase], at_a_time: int, on_trial: OnTrial = lambda lab, trial: None
) -> list[Trial]:
    """Grade all of them, `at_a_time` checks in parallel."""
    results = run(
        course,
        [case.job for case in todo],
        workers=at_a_time,
        on_result=lambda number, result: on_trial(todo[number].job.lab, todo[number].trial(result)),
    )
    return [case.trial(result) for case, result in zip(todo, results, strict=True)]


def again(course: Course, case: VerifyCase, first: Trial) -> Trial:
    """Grade it once more, with nothing beside it and in full time; if that fails as well, a last time."""
    patient = replace(case, job=replace(case.job, deadline_factor=1.0))
    for _ in range(RETRIES):
        (trial,) = attempt(course, [patient], 0)
        trial.seconds += first.seconds
        if not trial.problems:
            trial.unsteady = first.problems
            break
    return trial


def cases(lab: Lab, quick: bool = False, answers: bool = False) -> Iterator[VerifyCase]:
    """What is graded for one lab: the halves that are asked for, or all of it in full."""
    in_full = not (quick or answers)
    if lab.solution.exists() and (answers or in_full):
        for _ in range(SOLUTION_RUNS if in_full else 1):
            yield VerifyCase(Job(lab, "solutions"), full_marks)
    if quick or in_full:
        for name in lab.variants:
            yield VerifyCase(Job(lab, f"variant:{name}"), full_marks)
        names = [check.name for check in lab.checks]
        for mutant in mutants(lab):
            if mutant.check in names:
                place = names.index(mutant.check)
                only = lab.checks[0 if in_full else place : place + 1]
                job = Job(lab, f"mutant:{mutant.id}", only, deadline_factor=1.0 if in_full else MUTANT_DEADLINE_FACTOR)
                yield VerifyCase(job, partial(found_out, mutant))
    if lab.skeleton.exists() and (answers or in_full):
        yield VerifyCase(Job(lab, "labs"), nothing_earned)


def full_marks(result: LabResult) -> Iterator[str]:
    for check in result.checks:
        if check.asked and not check.passed:
            yield f"{check.name}: {check.status}\n{explain(check.status, check.parts)}"


def nothing_earned(result: LabResult) -> Iterator[str]:
    for check in result.checks:
        if check.asked and check.status not in (Status.NOT_STARTED, Status.FAILED):
            yield f"{check.name}: the skeleton is {check.status}\n{explain(check.status, check.parts)}"


def found_out(mutant: Mutant, result: LabResult) -> Iterator[str]:
    """A mutant passes every check before its own and fails there, with a message that names the mistake."""
    for check in result.checks:
        text = explain(check.status, check.parts)
        if check.name != mutant.check:
            if check.asked and not check.passed and check.name not in mutant.also:
                yield f"{check.name}: {check.status}, though its mistake is another check's business\n{text}"
        elif check.passed:
            yield f"{check.name}: passed; this mistake goes unnoticed"
        elif check.status not in (Status.FAILED, Status.TIMEOUT):
            yield f"{check.name}: {check.status}\n{text}"
        elif mutant.says not in text:
            yield f"{check.name}: failed, but without saying {mutant.says!r}\n{text}"
