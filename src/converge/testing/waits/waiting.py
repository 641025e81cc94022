"""`eventually` and `never`: waiting with a deadline and for evidence, not for a fixed time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from converge.testing.verdicts.failure import Failure
from converge.testing.verdicts.values import contrast, same, show
from converge.testing.waits.deadlines import scaled, shortened

T = TypeVar("T")

# The longest time between two looks, in seconds. Pauses grow with the wait, because looks keep the API server busy, and
# after a long wait a quarter of a second more or less says nothing.
LONGEST_PAUSE = 0.25


class Questions(threading.local, Generic[T]):
    """Questions that are asked while something waits. Each thread has its own: several runs can wait at once."""

    def __init__(self) -> None:
        self._asked: list[Callable[[], T]] = []

    def append(self, question: Callable[[], T]) -> None:
        self._asked.append(question)

    def extend(self, questions: Iterable[Callable[[], T]]) -> None:
        self._asked.extend(questions)

    def remove(self, question: Callable[[], T]) -> None:
        self._asked.remove(question)

    def __contains__(self, question: object) -> bool:
        return question in self._asked

    def __iter__(self) -> Iterator[Callable[[], T]]:
        return iter(self._asked)


# They may raise a verdict when waiting has become pointless (the operator has died).
# The fixtures of a check put their questions here and take them away again.
interruptions: Questions[None] = Questions()


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

    With `when`, the check fails if the answer never comes. Then `expected` describes it in words where `want` can't,
    and `seen` is asked for evidence. Without `when`, the last answer is returned as it is.
    """
    allowed = shortened if when else scaled
    began, longest = time.monotonic(), allowed(within)
    pause = 0.01
    while True:
        answer = probe()
        if bool(answer) if want is ANYTHING else same(answer, want):
            return answer
        if time.monotonic() >= began + longest:
            longest = max(longest, allowed(within))  # the machine may have become busy since
            if time.monotonic() >= began + longest:
                break
        for interruption in interruptions:
            interruption()
        time.sleep(pause)
        pause = min(pause * 1.4, LONGEST_PAUSE)
    if not when:
        return answer
    wanted, got = contrast(answer, want)
    if want == "":  # the answer says in words what is wrong
        wanted, got = "nothing wrong", str(answer)
    elif want is ANYTHING:
        got = "nothing"
    elif isinstance(answer, bool):
        got = "that did not happen"
    raise Failure(when=when, expected=f"within {longest:.0f} s: {expected or wanted}", got=got, seen=seen(), hint=hint)


def never(
    probe: Callable[[], Any],
    *,
    until: Callable[[], Any],
    within: float = 10.0,
    when: str,
    expected: str,
    hint: str = "",
) -> None:
    """Fail the check if `probe` answers anything true before `until` does. It waits for evidence and doesn't sleep."""
    within = scaled(within)
    deadline = time.monotonic() + within
    while True:
        over = until()
        if answer := probe():
            raise Failure(when=when, expected=expected, got=show(answer), hint=hint)
        if over or time.monotonic() >= deadline:
            return
        for interruption in interruptions:
            interruption()
        time.sleep(0.03)
