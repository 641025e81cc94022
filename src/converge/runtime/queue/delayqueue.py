"""Keys that wait for their time before they wait for a worker.

This needs no thread of its own. One of the workers that wait for a key keeps the time: it sleeps until the
first delayed key is due, the others until they're woken. With nothing due, nobody wakes up at all.
"""

import heapq
import itertools
import time
from collections.abc import Callable

from converge.runtime.queue.keyqueue import K, KeyQueue

__all__ = ["DelayQueue", "K"]


class DelayQueue(KeyQueue[K]):
    """A `KeyQueue` that can also be given a key for later.

    Args:
        clock: seconds, as ``time.monotonic`` counts them. With a clock that is moved by hand ask with
            ``get(timeout=0)``: a worker that sleeps does not see it move.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._due_at: dict[K, float] = {}
        # May hold entries that are no longer true, which `_due_at` tells: to change the time of a key in
        # the middle of a heap costs more than to leave the old entry in it.
        self._heap: list[tuple[float, int, K]] = []
        self._order = itertools.count()  # keys need not be comparable, and equal times stay in order
        self._has_timekeeper = False

    def add_after(self, key: K, delay: float) -> None:
        """Add ``key`` in ``delay`` seconds. If it's already due at another time, the earlier one counts."""
        with self._lock:
            if delay <= 0:
                self._add(key)
                return
            if self._shutting_down:
                return
            due_at = self._clock() + delay
            if due_at >= self._due_at.get(key, float("inf")):
                return
            self._due_at[key] = due_at
            heapq.heappush(self._heap, (due_at, next(self._order), key))
            if len(self._heap) > 2 * len(self._due_at) + 64:
                self._sweep()
            if self._heap[0][2] == key:
                self._changed.notify_all()  # the timekeeper has to wake up earlier

    def _collect(self) -> None:
        if not self._heap:
            return
        now = self._clock()
        while self._heap and (self._heap[0][0] <= now or self._is_stale(self._heap[0])):
            entry = heapq.heappop(self._heap)
            if not self._is_stale(entry):
                del self._due_at[entry[2]]
                self._add(entry[2])

    def _wait(self, timeout: float | None) -> None:
        if not self._heap or self._has_timekeeper:
            self._changed.wait(timeout)
            return
        until_due = self._heap[0][0] - self._clock()
        self._has_timekeeper = True
        try:
            self._changed.wait(until_due if timeout is None else min(timeout, until_due))
        finally:
            self._has_timekeeper = False

    def _hand_over(self) -> None:
        if self._heap and not self._has_timekeeper:
            self._changed.notify()

    def _is_stale(self, entry: tuple[float, int, K]) -> bool:
        return self._due_at.get(entry[2]) != entry[0]

    def _sweep(self) -> None:
        self._heap = [entry for entry in self._heap if not self._is_stale(entry)]
        heapq.heapify(self._heap)
