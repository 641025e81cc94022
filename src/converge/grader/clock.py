"""A clock for checks of time: it stands still until it is told to go on."""

from __future__ import annotations


class FakeClock:
    """Tells the time when called; only `advance` moves it."""

    def __init__(self, start: float = 1000.0) -> None:
        self.now = start

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds
