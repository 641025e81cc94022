"""What can come of a check: the six statuses, and the exceptions that carry them.

A check that returns has passed. Everything else is raised: `Failure` (the submission did something wrong),
`NotStarted` (it reached a TODO), `TookTooLong` (a limit was hit), `NeedsKind` (this cluster cannot tell). Any other
exception is an `error`: the grader's own fault, never the learner's. How a verdict looks on a screen is `report`'s
business.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

#: How a skeleton marks what is to be written.
NOT_IMPLEMENTED = r"NotImplementedError\(\s*f?[\"']TODO (\d+):"


class Status(StrEnum):
    """The six ways a check can end. Only `PASSED` earns points; `NEEDS_KIND` was not asked, and costs none."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_STARTED = "not started"
    ERROR = "error"
    TIMEOUT = "timeout"
    NEEDS_KIND = "needs kind"


class Verdict(Exception):  # noqa: N818 - a verdict is no error of ours
    """Why a check did not pass, in parts that every report can lay out in its own way."""

    status = Status.FAILED

    def __init__(
        self,
        message: str = "",
        *,
        when: str = "",
        expected: str = "",
        got: str = "",
        seen: str | Iterable[str] = (),
        hint: str = "",
    ) -> None:
        super().__init__(message or when)
        self.message = message
        self.when = when
        self.expected = expected
        self.got = got
        self.seen = [seen] if isinstance(seen, str) else list(seen)
        self.hint = hint

    def parts(self) -> dict[str, Any]:
        """The parts that say something, as JSON."""
        named = {
            "message": self.message,
            "when": self.when,
            "expected": self.expected,
            "got": self.got,
            "seen": self.seen,
            "hint": self.hint,
        }
        return {name: part for name, part in named.items() if part}


class Failure(Verdict):
    """The submission did something else than the check asked for."""


class NotStarted(Verdict):
    """The submission reached a TODO of the skeleton."""

    status = Status.NOT_STARTED


class TookTooLong(Verdict):
    """A call, a wait or the whole check went over its limit."""

    status = Status.TIMEOUT


class NeedsKind(Verdict):
    """The check is about Pods that run, and on this cluster they only seem to."""

    status = Status.NEEDS_KIND
