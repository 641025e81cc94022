"""Why a test or a check did not pass, in parts that every report can lay out in its own way.

A check that returns has passed. Everything else is raised: `Failure` when the operator did something wrong,
`TookTooLong` when a limit was hit. Any other exception is an error of the test itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self


class Verdict(Exception):  # noqa: N818 - a verdict isn't an error of ours
    """What was done, what was expected, what was seen, and what to try."""

    status = "failed"
    #: What lies behind it, as a fingerprint: other failures with the same one need not be explained again.
    cause = ""
    #: Whether nothing was achieved at all, so that no other test of the same operator can do better.
    nothing_achieved = False

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

    def because(self, cause: str, *, nothing_achieved: bool) -> Self:
        """Say what lies behind it, for reports that say each thing once."""
        self.cause, self.nothing_achieved = cause, nothing_achieved
        return self

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
    """The operator did something other than what was asked for."""


class TookTooLong(Verdict):
    """A call, a wait or the whole check went over its limit."""

    status = "timeout"


LABELS = ("when", "expected", "got", "seen", "hint")
WIDTH = 10


def lay_out(parts: Mapping[str, Any], indent: str = "    ") -> str:
    """The parts of a verdict as text: the message, then one labelled block each."""
    blocks = [f"{indent}{parts['message']}"] if parts.get("message") else []
    for label in LABELS:
        part = parts.get(label)
        for text in part if isinstance(part, list) else [part] if part else []:
            lines = str(text).splitlines() or [""]
            blocks.append(f"{indent}{label:<{WIDTH}}{lines[0]}")
            blocks += [f"{indent}{'':<{WIDTH}}{line}" for line in lines[1:]]
    return "\n".join(blocks)
