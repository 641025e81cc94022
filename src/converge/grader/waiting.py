"""`eventually` and `never`: waiting for the world with a deadline and by evidence, not by a fixed sleep."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from converge.grader.expect import same, show
from converge.grader.patience import hurried, patience
from converge.grader.verdict import Failure

T = TypeVar("T")

# Asked while somebody waits; may raise a verdict when waiting has become pointless (the operator has died).
# The fixtures of a check put their questions here and take them away again.
interruptions: list[Callable[[], None]] = []


class _Anything:
    """Stands for `any true answer`."""

    def __repr__(self) -> str:
        return "something"


ANYTHING = _Anything()


def eventually(
    probe: Callable[[], T],
    want: Any = ANYTHING,
    *,
    within: float = 10.0,
    when: str = "",
    expected: str = "",
    hint: str = "",
    seen: Callable[[], str | Iterable[str]] = tuple,
) -> T:
    """Ask `probe` until it answers `want` (or anything true), at most `within` seconds; return its answer.

    With `when`, an answer that never comes fails the check: `expected` says it in words where `want` does not,
    `seen` is asked for evidence then. Without `when`, the last answer is returned as it is.
    """
    within = hurried(within) if when else patience(within)
    deadline = time.monotonic() + within
    pause = 0.01
    while True:
        answer = probe()
        if bool(answer) if want is ANYTHING else same(answer, want):
            return answer
        if time.monotonic() >= deadline:
            break
        for interruption in interruptions:
            interruption()
        time.sleep(pause)
        pause = min(pause * 1.4, 0.1)
    if not when:
        return answer
    raise Failure(
        when=when,
        expected=f"within {within:.0f} s: {expected or show(want)}",
        got=show(answer),
        seen=seen(),
        hint=hint,
    )


def never(
    probe: Callable[[], Any],
    *,
    until: Callable[[], Any],
    within: float = 10.0,
    when: str,
    expected: str,
    hint: str = "",
) -> None:
    """Fail the check if `probe` answers anything true before `until` does: a moment known by evidence, no sleep."""
    within = patience(within)
    deadline = time.monotonic() + within
    while True:
        over = until()
        if answer := probe():
            raise Failure(when=when, expected=expected, got=show(answer), hint=hint)
        if over or time.monotonic() >= deadline:
            return
        for interruption in interruptions:
            interruption()
        time.sleep(0.01)
