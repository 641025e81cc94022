"""How a check can end: the six statuses, and the two verdicts that only a graded check knows.

`Failure` and `TookTooLong` come from `converge.testing`, where every test of an operator can raise them. `NotStarted`
(the submission reached a TODO) and `NeedsKind` (this cluster can't tell) belong to the course. Any other exception
is an `error`: the grader's own fault, never the learner's. How a verdict looks on a screen is up to `report`.
"""

from __future__ import annotations

from enum import StrEnum

from converge.testing.verdicts.failure import Verdict


class Status(StrEnum):
    """The six ways a check can end. Only `PASSED` earns points; `NEEDS_KIND` wasn't asked, and costs none."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_STARTED = "not started"
    ERROR = "error"
    TIMEOUT = "timeout"
    NEEDS_KIND = "needs kind"


class NotStarted(Verdict):
    """The submission reached a TODO of the skeleton."""

    status = Status.NOT_STARTED


class NeedsKind(Verdict):
    """The check is about Pods whose containers run, and on this cluster they don't."""

    status = Status.NEEDS_KIND
