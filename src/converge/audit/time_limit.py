"""The time that an audit may take: no case begins after it, and what is still under way then is interrupted soon."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from converge.testing.waits.waiting import interruptions

SECOND_TRIES_SECONDS = 60.0  # at the end of the time, or a sixth of it: second tries go before new cases
GRACE_SECONDS = 10.0  # after the end of the time, for cases that are under way


class TimeUp(BaseException):
    """A case was under way when the time was up, and the grace as well."""


class TimeLimit:
    """When to begin nothing more, and when to interrupt what goes on."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._began = time.monotonic()

    @property
    def spent(self) -> float:
        """Seconds since the audit began."""
        return time.monotonic() - self._began

    @property
    def is_over(self) -> bool:
        """Whether nothing more may begin."""
        return self.spent > self.seconds

    @property
    def is_nearly_over(self) -> bool:
        """Whether there's only time left for what has been begun."""
        return self.spent > self.seconds - min(SECOND_TRIES_SECONDS, self.seconds / 6)

    @contextmanager
    def interrupts(self) -> Iterator[None]:
        """End the waits of this thread with `TimeUp` when the grace is over, but not those for tidying up after it."""
        raised = False

        def end_wait() -> None:
            nonlocal raised
            if not raised and self.spent > self.seconds + GRACE_SECONDS:
                raised = True
                raise TimeUp

        interruptions.append(end_wait)
        try:
            end_wait()
            yield
        finally:
            interruptions.remove(end_wait)
