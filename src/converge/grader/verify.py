"""The grader graded: does a lab's skeleton earn nothing, its solution everything, each mutant exactly what it should?

Runs the lab's own checks against each of them, several at a time, and collects what is not as it should be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from converge.grader.against import Mutant, mutants
from converge.grader.alignment import complaints
from converge.grader.course import Course, Lab
from converge.grader.report.text import explain
from converge.grader.results import LabResult
from converge.grader.run import Job, run
from converge.grader.verdict import Status

TIMES = 3  # a solution that passes once may have been lucky
HALF = 0.5  # of its time is enough for a mutant, where the solution and each variant have had all of theirs
AT_A_TIME = {"library": 2, "operator": 4}  # operators mostly wait


@dataclass
class Trial:
    """The checks against one subject, and what is wrong with their outcome."""

    subject: str
    seconds: float  # that its checks took, one after the other
    problems: list[str] = field(default_factory=list)
    statuses: dict[str, str] = field(default_factory=dict)
    unsteady: list[str] = field(default_factory=list)  # problems that a second look, with nothing beside it, had not


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


Told = Callable[[Lab, Trial], None]


def verify(
    course: Course, labs: Sequence[Lab], on_trial: Told = lambda lab, trial: None, *, quick: bool = False
) -> list[Verification]:
    """Verify labs, all in one run: while one waits for its slowest mutant, another goes on. `on_trial` hears of each.

    `quick` runs the solution once, and of each mutant only the check that must find it, in half the time. What goes
    wrong then is looked at again, alone, before it is called a problem; what is well only then is told as unsteady.
    """
    todo = [subject for lab in labs if lab.checks_file.exists() for subject in subjects(lab, quick)]
    at_a_time = max((AT_A_TIME[lab.kind] for lab in labs), default=0)
    found: dict[str, list[Trial]] = {lab.slug: [] for lab in labs}
    for subject, trial in zip(todo, attempt(course, todo, at_a_time, on_trial), strict=True):
        sure = again(course, subject, trial) if quick and trial.problems else trial
        found[subject.job.lab.slug].append(sure)
    return [Verification(lab.slug, list(complaints(lab)), found[lab.slug]) for lab in labs]


@dataclass(frozen=True)
class Subject:
    """Something to grade, and what must come of it."""

    job: Job
    judge: Callable[[LabResult], Iterator[str]]

    def trial(self, result: LabResult) -> Trial:
        problems = [result.trouble] if result.trouble else list(self.judge(result))
        seconds = sum(check.seconds for check in result.checks)
        return Trial(self.job.against, seconds, problems, {each.name: each.status for each in result.checks})


def attempt(
    course: Course, todo: Sequence[Subject], at_a_time: int, on_trial: Told = lambda lab, trial: None
) -> list[Trial]:
    """Grade all of them, so many checks at a time."""
    results = run(
        course,
        [subject.job for subject in todo],
        workers=at_a_time,
        on_result=lambda number, result: on_trial(todo[number].job.lab, todo[number].trial(result)),
    )
    return [subject.trial(result) for subject, result in zip(todo, results, strict=True)]


def again(course: Course, subject: Subject, first: Trial) -> Trial:
    """Grade it once more, with nothing beside it."""
    (second,) = attempt(course, [subject], 0)
    second.seconds += first.seconds
    if not second.problems:
        second.unsteady = first.problems
    return second


def subjects(lab: Lab, quick: bool) -> Iterator[Subject]:
    """All that is graded for one lab."""
    if lab.solution.exists():
        for _ in range(1 if quick else TIMES):
            yield Subject(Job(lab, "solutions"), full_marks)
    for name in lab.variants:
        yield Subject(Job(lab, f"variant:{name}"), full_marks)
    names = [check.name for check in lab.checks]
    for mutant in mutants(lab):
        if mutant.check in names:
            place = names.index(mutant.check)
            only = lab.checks[place if quick else 0 : place + 1]
            job = Job(lab, f"mutant:{mutant.id}", only, hurry=HALF if quick else 1.0)
            yield Subject(job, partial(found_out, mutant))
    if lab.skeleton.exists():
        yield Subject(Job(lab, "labs"), nothing_earned)


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
