"""The grader graded: does a lab's skeleton earn nothing, its solution everything, each mutant exactly what it should?

Runs the lab's own checks against each of them, several at a time, and collects what is not as it should be.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from converge.grader.against import Mutant, mutants
from converge.grader.alignment import complaints
from converge.grader.course import Course, Lab
from converge.grader.report.text import explain
from converge.grader.results import LabResult
from converge.grader.run import run_checks
from converge.grader.verdict import Status

TIMES = 3  # a solution that passes once may have been lucky
HALF = 0.5  # of its time is enough for a mutant, where the solution and each variant have had all of theirs
AT_A_TIME = {"library": 2, "operator": 4}  # operators mostly wait


@dataclass
class Trial:
    """One run of the checks against one subject, and what is wrong with its outcome."""

    subject: str
    seconds: float
    problems: list[str] = field(default_factory=list)
    statuses: dict[str, str] = field(default_factory=dict)
    unsteady: list[str] = field(default_factory=list)  # problems that a second look, with nothing beside it, had not


@dataclass
class Verification:
    """All that was found out about one lab."""

    lab: str
    problems: list[str]
    trials: list[Trial]
    seconds: float

    @property
    def passed(self) -> bool:
        return not self.problems and not any(trial.problems for trial in self.trials)

    def of(self, kind: str) -> list[Trial]:
        return [trial for trial in self.trials if trial.subject.partition(":")[0] == kind]

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "passed": self.passed}


def verify(
    course: Course, lab: Lab, on_trial: Callable[[Trial], None] = lambda trial: None, *, quick: bool = False
) -> Verification:
    """Verify one lab. `on_trial` hears of each run as it ends.

    `quick` runs the solution once, and of each mutant only the check that must find it, in half the time. What goes
    wrong then is looked at again, alone, before it is called a problem; what is well only then is told as unsteady.
    """
    began = time.monotonic()
    problems = list(complaints(lab))
    trials: list[Trial] = []
    if lab.checks_file.exists():
        todo = list(jobs(course, lab, quick))
        with ThreadPoolExecutor(AT_A_TIME[lab.kind]) as pool:
            for trial in pool.map(lambda job: job(), todo):
                trials.append(trial)
                on_trial(trial)
        if quick:
            trials = [again(job, trial) if trial.problems else trial for job, trial in zip(todo, trials, strict=True)]
    return Verification(lab.slug, problems, trials, time.monotonic() - began)


def again(job: Callable[[], Trial], first: Trial) -> Trial:
    """Run it once more, with nothing beside it."""
    second = job()
    second.seconds += first.seconds
    if not second.problems:
        second.unsteady = first.problems
    return second


def jobs(course: Course, lab: Lab, quick: bool) -> Iterator[Callable[[], Trial]]:
    """One function for each run, the longest first."""

    def job(against: str, judge: Callable[[LabResult], Iterator[str]], upto: str | None = None) -> Callable[[], Trial]:
        def run() -> Trial:
            names = [check.name for check in lab.checks]
            last = names.index(upto) + 1 if upto else len(names)
            only = lab.checks[last - 1 if upto and quick else 0 : last]
            hurry = HALF if upto and quick else 1.0
            result = run_checks(course, lab, against=against, only=only, workers=0, hurry=hurry)
            problems = [result.trouble] if result.trouble else list(judge(result))
            return Trial(against, result.seconds, problems, {each.name: each.status for each in result.checks})

        return run

    if lab.solution.exists():
        for _ in range(1 if quick else TIMES):
            yield job("solutions", full_marks)
    for name in lab.variants:
        yield job(f"variant:{name}", full_marks)
    names = [check.name for check in lab.checks]
    for mutant in mutants(lab):
        if mutant.check in names:
            yield job(f"mutant:{mutant.id}", partial(found_out, mutant), mutant.check)
    if lab.skeleton.exists():
        yield job("labs", nothing_earned)


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
