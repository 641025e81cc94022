"""Faults of watch events: drop, duplicate, hold, reorder, delay, end.

A watch keeps its order: an event that is held or delayed keeps those behind it waiting, as a slow network would. Only
``Reorder`` breaks that, on purpose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from converge.recorder.faults.base import EventFault
from converge.recorder.matching import EventMatch

if TYPE_CHECKING:
    from converge.recorder.stream import EventStream, PassingEvent


class Drop(EventFault):
    """The operator never gets the event."""

    def __init__(self, match: EventMatch, nth: int, times: int | None) -> None:
        super().__init__(match, nth, times, "dropped")

    def on_event(self, passing: PassingEvent, stream: EventStream) -> bool:
        return True


class Duplicate(EventFault):
    """The operator gets the event twice."""

    def __init__(self, match: EventMatch, nth: int, times: int | None) -> None:
        super().__init__(match, nth, times, "duplicated")

    def on_event(self, passing: PassingEvent, stream: EventStream) -> bool:
        passing.copies = 2
        return False


class Delay(EventFault):
    """The operator gets the event later."""

    def __init__(self, match: EventMatch, nth: int, times: int | None, seconds: float) -> None:
        super().__init__(match, nth, times, f"delayed by {seconds:g} s")
        self.seconds = seconds

    def on_event(self, passing: PassingEvent, stream: EventStream) -> bool:
        passing.not_before = stream.now() + self.seconds
        return False


class EndWatch(EventFault):
    """The watch ends in place of the event; a watch that is opened again from the last version seen has it."""

    def __init__(self, match: EventMatch, nth: int, *, expired: bool) -> None:
        super().__init__(match, nth, 1, "410 in place of" if expired else "watch ended before")
        self.expired = expired

    def on_event(self, passing: PassingEvent, stream: EventStream) -> bool:
        stream.flush()
        if self.expired:
            stream.expire()
        else:
            stream.finish()
        return True


class Hold(EventFault):
    """The operator gets the event when ``release`` is called."""

    def __init__(self, match: EventMatch, nth: int, times: int | None, what: str = "held") -> None:
        super().__init__(match, nth, times, what)
        self.collapse = False

    def on_event(self, passing: PassingEvent, stream: EventStream) -> bool:
        passing.held_by = self
        return False

    @property
    def holds(self) -> bool:
        return not self.removed

    def release(self, *, collapse: bool = False) -> None:
        """Pass on what was held, in order, and hold no more. ``collapse``: of each object only the last event."""
        self.collapse = collapse
        self.remove()


class Reorder(Hold):
    """Holds events until there are ``window`` of them in one watch, then passes them on last first."""

    def __init__(self, match: EventMatch, nth: int, window: int) -> None:
        super().__init__(match, nth, window, "reordered")
        self.window = window

    def on_event(self, passing: PassingEvent, stream: EventStream) -> bool:
        passing.held_by = self
        held = [*stream.held_by(self), passing]
        if len(held) == self.window:
            backwards = [(each.event, each.line) for each in reversed(held)]
            for place, (event, line) in zip(held, backwards, strict=True):
                place.event, place.line, place.held_by = event, line, None
        return False
