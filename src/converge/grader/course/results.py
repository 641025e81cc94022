"""The result of a run: plain data that every report is made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from converge.grader.checks.verdict import Status
from converge.grader.course import CheckFacts, Lab


@dataclass
class CheckResult:
    """How one check ended. `parts` are the pieces of the explanation: when, expected, got, seen, hint."""

    name: str
    title: str
    number: str
    max_points: int
    status: Status
    seconds: float = 0.0
    parts: dict[str, Any] = field(default_factory=dict)
    lesson: str = ""
    incident: str = ""
    timeline: str = ""
    cause: str = ""  # a fingerprint of what lies behind the failure, where that is known
    same_as: str = ""  # the number of the check that explains it already

    @property
    def passed(self) -> bool:
        return self.status is Status.PASSED

    @property
    def points(self) -> int:
        return self.max_points if self.passed else 0

    @property
    def asked(self) -> bool:
        """Whether it counts: a check that this cluster cannot answer is neither for nor against anybody."""
        return self.status is not Status.NEEDS_KIND


@dataclass
class LabResult:
    """How all expected checks of one lab ended. A check without a report is an `error`, never a pass."""

    lab: str
    title: str
    against: str
    checks: list[CheckResult]
    seconds: float
    trouble: str = ""  # why the run as a whole went wrong, if it did
    held: str = ""  # why a person has to look at the submission before its points count, in a class

    @property
    def points(self) -> int:
        return sum(check.points for check in self.checks)

    @property
    def max_points(self) -> int:
        return sum(check.max_points for check in self.checks if check.asked)

    @property
    def passed(self) -> bool:
        asked = [check for check in self.checks if check.asked]
        return bool(asked) and not self.trouble and all(check.passed for check in asked)

    @property
    def is_ours(self) -> bool:
        """Whether the grader failed, not the submission."""
        return bool(self.trouble) or any(check.status is Status.ERROR for check in self.checks)

    @property
    def no_grade(self) -> str:
        """Why there's no grade, in a sentence; empty if there is one."""
        if self.is_ours:
            return "The grader failed, not your work."
        return f"Held until a person has looked at it ({self.held})." if self.held else ""

    def find(self, name: str) -> CheckResult:
        return next(check for check in self.checks if check.name == name)

    def to_json(self) -> dict[str, Any]:
        """The course's own format: everything there is to know."""
        made = asdict(self)
        made.update(schema="converge/result/v1", points=self.points, max_points=self.max_points, passed=self.passed)
        if not self.held:
            del made["held"]  # only a class has it
        for check, entry in zip(self.checks, made["checks"], strict=True):
            entry["points"] = check.points
        return made


def expected(lab: Lab, facts: CheckFacts) -> CheckResult:
    """The result of a check before anything is known of it: an error, until a report says otherwise."""
    place = lab.checks.index(facts) + 1
    anchor = f"#{facts.section}" if facts.section else ""
    return CheckResult(
        name=facts.name,
        title=facts.title,
        number=f"{lab.number}.{place}",
        max_points=facts.points,
        status=Status.ERROR,
        parts={"message": "the check did not report"},
        lesson=f"docs/lessons/{lab.slug}.md{anchor}",
        incident=facts.incident,
    )


def link_repeated_failures(checks: Sequence[CheckResult]) -> None:
    """Let each failure with the same cause as one before refer to that one."""
    explained: dict[str, str] = {}
    for check in checks:
        if check.cause and not check.passed:
            first = explained.setdefault(check.cause, check.number)
            check.same_as = "" if first == check.number else first
