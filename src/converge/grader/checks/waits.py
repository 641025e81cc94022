"""Moments and pauses: when an operator has stopped writing, and how far apart requests are."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from converge.recorder import reads

if TYPE_CHECKING:
    from converge.testing.operator import Operator


class Timed(Protocol):
    """A request with the moment at which it came."""

    @property
    def time(self) -> float: ...


def quiet(operator: Operator, deadline: float = 5) -> None:
    """Wait until the operator has stopped writing, for a moment at least."""
    operator.recorder.wait_quiet(0.3, deadline=deadline, ignoring=reads())


def pauses(requests: Iterable[Timed], until: float | None = None) -> list[float]:
    """The seconds between requests, and those from the last one until a moment if you name one."""
    times = [each.time for each in list(requests)]
    return [later - earlier for earlier, later in pairwise(times if until is None else [*times, until])]
