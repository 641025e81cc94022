"""Faults of watch events: drop, duplicate, hold, reorder, delay, end.

A watch keeps its order: an event that is held or delayed keeps those behind it waiting, as a slow network would. Only
``Reorder`` breaks that, on purpose.
"""

from collections.abc import Callable

from converge.grader.recorder.matching import EventMatch
from converge.grader.recorder.records import WatchEvent
from converge.grader.recorder.strikes import Strikes


class EventFault(Strikes[WatchEvent]):
    """One instruction for events."""

    wake: Callable[[], object] = staticmethod(lambda: None)
    """Set by the recorder: looks again at all events that wait."""

    def remove(self) -> None:
        """Take the fault away and let go what it held."""
        super().remove()
        self.wake()


class Drop(EventFault):
    """The operator never hears of it."""

    def __init__(self, match: EventMatch, nth: int, times: int | None) -> None:
        super().__init__(match, nth, times, "dropped")


class Duplicate(EventFault):
    """The operator hears of it twice."""

    def __init__(self, match: EventMatch, nth: int, times: int | None) -> None:
        super().__init__(match, nth, times, "duplicated")


class Delay(EventFault):
    """The operator hears of it later."""

    def __init__(self, match: EventMatch, nth: int, times: int | None, seconds: float) -> None:
        super().__init__(match, nth, times, f"delayed by {seconds:g} s")
        self.seconds = seconds


class EndWatch(EventFault):
    """The watch ends in place of the event; a watch that is opened again from the last version seen has it."""

    def __init__(self, match: EventMatch, nth: int, *, expired: bool) -> None:
        super().__init__(match, nth, 1, "410 in place of" if expired else "watch ended before")
        self.expired = expired


class Hold(EventFault):
    """The operator hears of it when ``release`` is called."""

    def __init__(self, match: EventMatch, nth: int, times: int | None, what: str = "held") -> None:
        super().__init__(match, nth, times, what)
        self.collapse = False

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
