"""`smallest`: looks for a sequence of steps that breaks a submission, and makes it as short as possible.

Random sequences first; from one that breaks something, steps are taken away as long as it still does. What is left
cannot be made shorter by leaving something out, but another sequence may be shorter still: so several are shortened,
and the shortest of them is shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from converge.testing.waits.deadlines import scaled

Step = TypeVar("Step")
Explanation = TypeVar("Explanation")
LOOK_FOR_SHORTER_SECONDS = (
    1.5  # seconds in which other, perhaps shorter sequences are looked for once something was found
)


def smallest(
    steps: Callable[[], list[Step]],
    breaks: Callable[[list[Step]], Explanation | None],
    *,
    examples: int = 400,
    seconds: float = 8.0,
) -> Explanation | None:
    """What `breaks` says about the shortest steps that break something, or None if no steps were found that do.

    `steps` makes a random list of them. At most `examples` lists are tried, and no new one after `seconds`.
    """
    deadline = time.monotonic() + scaled(seconds)
    best: tuple[int, Explanation] | None = None
    for _ in range(examples):
        tried = steps()
        if (finding := breaks(tried)) is not None:
            if best is None:
                deadline = time.monotonic() + scaled(LOOK_FOR_SHORTER_SECONDS)
            length, shortest = _shortened(tried, finding, breaks)
            if best is None or length < best[0]:
                best = length, shortest
        if time.monotonic() > deadline:
            break
    return best[1] if best else None


def _shortened(
    steps: list[Step], finding: Explanation, breaks: Callable[[list[Step]], Explanation | None], seconds: float = 8.0
) -> tuple[int, Explanation]:
    """Take away ever smaller runs of steps until none can go; how many are left, and what they break."""
    deadline = time.monotonic() + scaled(seconds)
    size = len(steps) // 2
    while size and time.monotonic() < deadline:
        start, shorter = 0, False
        while start < len(steps):
            fewer = steps[:start] + steps[start + size :]
            found = breaks(fewer)
            if found is None:
                start += size
            else:
                steps, finding, shorter = fewer, found, True
        if not shorter or size > 1:
            size //= 2
    return len(steps), finding
