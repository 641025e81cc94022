"""How long to wait after a failure: per key, doubling with each failure in a row, up to a cap."""

import math
import random
import threading
from collections.abc import Hashable


class Backoff:
    """Counts the failures of each key and turns them into delays. Safe to use from many threads.

    The defaults are client-go's: 5 ms, 10 ms, 20 ms, … up to 1000 s.

    Args:
        base: seconds after the first failure.
        cap: no delay is longer than this, whatever the jitter.
        factor: by which the delay grows with each failure.
        jitter: up to this fraction of a delay is added at random, so that keys that failed together do
            not come back together.
    """

    def __init__(self, base: float = 0.005, cap: float = 1000.0, factor: float = 2.0, jitter: float = 0.0) -> None:
        if not (0 < base <= cap and factor >= 1 and jitter >= 0):
            raise ValueError(
                "a backoff needs 0 < base <= cap, factor >= 1 and jitter >= 0, "
                f"got base={base}, cap={cap}, factor={factor}, jitter={jitter}"
            )
        self._base = base
        self._cap = cap
        self._factor = factor
        self._jitter = jitter
        # Past this many failures the delay is the cap; to compute it would overflow some day.
        self._capped_at = math.log(cap / base) / math.log(factor) if factor > 1 else math.inf
        self._failures: dict[Hashable, int] = {}
        self._lock = threading.Lock()

    def next(self, key: Hashable) -> float:
        """Count one more failure of ``key`` and return how many seconds to wait."""
        with self._lock:
            failures = self._failures.get(key, 0)
            self._failures[key] = failures + 1
        delay = self._cap if failures >= self._capped_at else self._base * self._factor**failures
        if self._jitter:
            delay += delay * self._jitter * random.random()
        return min(delay, self._cap)

    def forget(self, key: Hashable) -> None:
        """Start over with ``key``. Without this the memory of failures would only grow."""
        self._failures.pop(key, None)

    def failures(self, key: Hashable) -> int:
        """How often ``key`` has failed since it was last forgotten."""
        return self._failures.get(key, 0)
