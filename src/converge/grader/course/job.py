"""A job for the grader: some checks of one lab against one submission."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from converge.grader.course.course import CheckFacts, Lab

#: Called for each phase of a check.
OnEvent = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Job:
    """Some checks of one lab against one submission; all checks unless `only` says which.

    `deadline_factor` scales this job's waits. It's below 1 for a mutant, which is expected to fail.
    """

    lab: Lab
    against: str = "labs"
    only: Sequence[CheckFacts] | None = None
    deadline_factor: float = 1.0
    jailed: bool = False  # the submission is untrusted: see `converge.testing.sandbox.jail`
    timelines: str = ""  # a directory of its own for the timelines of what fails
    until_failure: bool = False  # the checks begin in the order of `only`, and none after the first that fails

    @property
    def facts(self) -> Sequence[CheckFacts]:
        return self.lab.checks if self.only is None else self.only
