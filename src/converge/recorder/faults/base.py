"""What every fault is: which requests or events it hits, and what it does to them.

A fault counts what matches it from the moment it was set, so the same run meets the same fault at the same point.
To add one, subclass ``RequestFault`` or ``EventFault`` (or both, as ``Freeze`` does) and say what it does: ``before``
or ``after`` for requests, ``on_event`` for events. A fault that leaves its part out is an error when it's set.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, Protocol, Self, TypeVar

from converge.recorder.entries import RecordedEvent, RecordedRequest

if TYPE_CHECKING:
    from converge.recorder.exchange import Exchange
    from converge.recorder.stream import EventStream, PassingEvent

Target = TypeVar("Target")
Matched = TypeVar("Matched", contravariant=True)


class Match(Protocol[Matched]):
    """Says yes or no to a request or an event, and says in words what it means."""

    def __call__(self, one: Matched, /) -> bool: ...

    def phrase(self, which: str = "") -> str: ...


class Fault(Generic[Target]):
    """One instruction to the recorder. ``fired`` is what it hit, in order."""

    wake: Callable[[], object] = staticmethod(lambda: None)
    """Set by the recorder: looks again at all events that wait."""

    def __init__(self, match: Match[Target], nth: int, times: int | None, what: str) -> None:
        if nth < 1:
            raise ValueError("nth counts from 1")
        self.match = match
        self.nth = nth
        self.times = times
        self.name = f"{what} {match.phrase(ordinals(nth, times))}"
        self.matched = 0
        self.fired: list[Target] = []
        self.removed = False

    def remove(self) -> None:
        """Take the fault away and release what it held; what it hit stays in the record."""
        self.removed = True
        self.wake()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()

    def __str__(self) -> str:
        return self.name

    # --- which ones

    def hits_request(self, request: RecordedRequest) -> bool:
        """Whether a request that just came in is one that the fault is for. Called once per request."""
        return False

    def hits_event(self, event: RecordedEvent) -> bool:
        """Whether an event that just came in is one that the fault is for. Called once per event."""
        return False

    def count(self, one: Target) -> bool:
        """Count one that came in; True if it's the n-th match or one of the ``times`` from there."""
        if self.removed or not self.match(one):
            return False
        self.matched += 1
        if self.matched < self.nth or (self.times is not None and self.matched >= self.nth + self.times):
            return False
        self.fired.append(one)
        return True

    # --- what happens to them

    async def before(self, exchange: Exchange) -> bool:
        """Act before the request reaches the server; True if it must not reach it."""
        return False

    async def after(self, exchange: Exchange) -> bool:
        """Act after the server answered; True if the operator must not see the answer."""
        return False

    def on_event(self, passing: PassingEvent, stream: EventStream) -> bool:
        """Act on an event that came in; True if the operator must not get it."""
        return False

    def check_complete(self) -> None:
        """Raise TypeError for a fault that would be recorded and do nothing, or would never be asked."""
        for which, actions in _PARTS:
            hits, acts = self._defines(which), [action for action in actions if self._defines(action)]
            if hits and not acts:
                raise TypeError(f"{self._kind} doesn't say what it does: define {' or '.join(actions)}")
            if acts and not hits:
                raise TypeError(f"{self._kind} defines {acts[0]}, but {which} never says yes: define it")
        if not any(self._defines(which) for which, _ in _PARTS):
            raise TypeError(f"{self._kind} hits nothing: subclass RequestFault or EventFault")

    @property
    def _kind(self) -> str:
        return f"the fault {type(self).__name__}"

    def _defines(self, method: str) -> bool:
        return getattr(type(self), method) is not getattr(Fault, method)


_PARTS = (("hits_request", ("before", "after")), ("hits_event", ("on_event",)))


class RequestFault(Fault[RecordedRequest]):
    """A fault of requests: ``before`` they reach the server, or ``after`` it answered."""

    def hits_request(self, request: RecordedRequest) -> bool:
        return self.count(request)


class EventFault(Fault[RecordedEvent]):
    """A fault of watch events."""

    def hits_event(self, event: RecordedEvent) -> bool:
        return self.count(event)


def ordinals(nth: int, times: int | None) -> str:
    """Which of the matching ones, in words: ``2``, ``2–4``, ``2 and later``, or nothing when it is each."""
    if times is None:
        return "" if nth == 1 else f"{nth} and later"
    return str(nth) if times == 1 else f"{nth}–{nth + times - 1}"
