"""When a lab is decided: its first check has shown that whatever the submission tries ends in one and the same way.

The first check of a lab is the good day. If even there the operator dies, or does nothing but fail, the process that
ran the check leaves a note beside the plan, for all processes of the same run. If nothing was achieved at all, the
checks that have not begun are not run; otherwise each gets its chance, but nobody waits once it shows the same cause.

A job that ends with its first failure has a note as well, from whichever check failed.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from converge.files import write_whole
from converge.grader.checks.check import ATTRIBUTE, Facts
from converge.grader.session.plan import PLAN_OPTION, PlannedJob
from converge.testing.verdicts.failure import Failure, Verdict

if TYPE_CHECKING:
    from converge.testing.operator import RepeatedFailure

NOT_RUN = "not run: another check has failed"  # the cause of a check that had not begun when its job ended
SUBMISSION_FIXTURES = ("operator", "lab")  # the fixtures that run a submission


@dataclass(frozen=True)
class Decision:
    """What decided a lab."""

    cause: str
    nothing_achieved: bool


class FailFast:
    """One check's view of what is decided. Only a run of all checks of a lab, or of its first, has such notes."""

    def __init__(self, item: pytest.Item, job: PlannedJob | None) -> None:
        self._item = item
        self._until_failure = job if job and job.until_failure else None
        self._job = job if job and job.whole_lab and _runs_submission(item) else None

    def skip_if_decided(self) -> None:
        """Skip the check if the lab is already decided, or if its job has ended."""
        if self._until_failure and self._failed(self._until_failure).exists():
            raise Failure(NOT_RUN).because(NOT_RUN, nothing_achieved=False)
        decided = self._decided()
        if decided and decided.nothing_achieved:
            raise Failure("not run: it would fail in the same way").because(decided.cause, nothing_achieved=True)

    def may_stop_waiting(self, repeated: RepeatedFailure) -> bool:
        """Whether a check need not wait any longer for an operator that keeps failing like this."""
        decided = self._decided()
        return self._is_first() if decided is None else decided.cause == repeated.cause

    def record_decision(self, verdict: Verdict) -> None:
        """Decide the lab, if this was its first check and it ended in a way that all others will."""
        if verdict.cause and self._is_first():
            decision = Decision(verdict.cause, verdict.nothing_achieved)
            write_whole(self._note(), json.dumps(asdict(decision)))

    def record_failure(self) -> None:
        """End the job, if its first failure ends it."""
        if self._until_failure:
            self._failed(self._until_failure).touch()

    def _is_first(self) -> bool:
        if self._job is None:
            return False
        mine = [
            each
            for each in self._item.session.items
            if each.path == self._item.path and _runs_submission(each) and not _takes_long(each)
        ]
        return getattr(mine[0], "originalname", "") == getattr(self._item, "originalname", "")

    def _decided(self) -> Decision | None:
        try:
            return Decision(**json.loads(self._note().read_text())) if self._job else None
        except FileNotFoundError:
            return None

    def _note(self) -> Path:
        assert self._job is not None
        return self._beside_plan(f"decided-{self._job.number}.json")

    def _failed(self, job: PlannedJob) -> Path:
        return self._beside_plan(f"failed-{job.number}")

    def _beside_plan(self, name: str) -> Path:
        return Path(self._item.config.getoption(PLAN_OPTION)).with_name(name)


FAIL_FAST = pytest.StashKey[FailFast]()


def _runs_submission(item: pytest.Item) -> bool:
    return any(name in getattr(item, "fixturenames", ()) for name in SUBMISSION_FIXTURES)


def _takes_long(item: pytest.Item) -> bool:
    """Whether it begins before its turn."""
    facts: Facts | None = getattr(getattr(item, "function", None), ATTRIBUTE, None)
    return facts is not None and facts.long
