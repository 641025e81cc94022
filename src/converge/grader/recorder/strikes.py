"""Which of the requests or events that match a fault it is for: so many, from the n-th on.

A fault counts what matches it from the moment it was set, so the same run meets the same fault at the same point.
"""

from typing import Generic, Protocol, Self, TypeVar

Struck = TypeVar("Struck")
Matched = TypeVar("Matched", contravariant=True)


class Match(Protocol[Matched]):
    """Says yes or no to a request or an event, and says in words what it means."""

    def __call__(self, one: Matched, /) -> bool: ...

    def phrase(self, which: str = "") -> str: ...


class Strikes(Generic[Struck]):
    """One instruction to the recorder. ``fired`` is what it struck, in order."""

    def __init__(self, match: Match[Struck], nth: int, times: int | None, what: str) -> None:
        if nth < 1:
            raise ValueError("nth counts from 1")
        self.match = match
        self.nth = nth
        self.times = times
        self.name = f"{what} {match.phrase(ordinals(nth, times))}"
        self.matched = 0
        self.fired: list[Struck] = []
        self.removed = False

    def remove(self) -> None:
        """Take the fault away; what it struck stays in the record."""
        self.removed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()

    def __str__(self) -> str:
        return self.name

    def strikes(self, one: Struck) -> bool:
        """Count one that came in; True if this is one that the fault is for."""
        if self.removed or not self.match(one):
            return False
        self.matched += 1
        if self.matched < self.nth or (self.times is not None and self.matched >= self.nth + self.times):
            return False
        self.fired.append(one)
        return True


def ordinals(nth: int, times: int | None) -> str:
    """Which of the matching ones, in words: ``2``, ``2–4``, ``2 and later``, or nothing when it is each."""
    if times is None:
        return "" if nth == 1 else f"{nth} and later"
    return str(nth) if times == 1 else f"{nth}–{nth + times - 1}"
