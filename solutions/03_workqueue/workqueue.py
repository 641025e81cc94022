"""Lab 03: a work queue that never hands one key to two workers.

Lesson:  docs/lessons/03_workqueue.md
Check:   make check LAB=03
Hint:    make hint LAB=03

``dirty`` and ``processing`` are the whole trick: a key may be in both, and that is how a change during
processing survives. ``changed`` guards every field below it: hold it whenever you touch one, and notify
when a worker may have something new to do.
"""

import heapq
import threading
import time
from collections import deque
from collections.abc import Callable


class WorkQueue:
    """Hands out keys in the order they came, each to one worker at a time."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, base_delay: float = 0.005, max_delay: float = 60.0
    ) -> None:
        self.clock = clock  # ask it for the time, so that tests do not have to wait
        self.base_delay = base_delay  # seconds before the first retry of a key
        self.max_delay = max_delay
        self.changed = threading.Condition()
        self.waiting: deque[str] = deque()  # the line: dirty keys that no worker holds
        self.dirty: set[str] = set()  # keys that need processing
        self.processing: set[str] = set()  # keys that a worker holds right now
        self.delayed: list[tuple[float, str]] = []  # a heap of (due time, key)
        self.failures: dict[str, int] = {}  # retries of each key since its last success
        self.shutting_down = False

    def __len__(self) -> int:
        return len(self.waiting)

    def num_requeues(self, key: str) -> int:
        """How often ``add_rate_limited`` has added ``key`` since it was last forgotten."""
        return self.failures.get(key, 0)

    def add(self, key: str) -> None:
        """Mark ``key`` as needing work. Adding it again before ``get`` changes nothing."""
        with self.changed:
            if self.shutting_down or key in self.dirty:
                return
            self.dirty.add(key)
            if key not in self.processing:
                self.waiting.append(key)
                self.changed.notify()

    def get(self, timeout: float | None = None) -> str | None:
        """Take the next key and hold it; wait for one if there is none.

        Returns ``None`` when ``timeout`` seconds have passed, or when the queue is shut down and empty.
        """
        deadline = None if timeout is None else self.clock() + timeout
        with self.changed:
            while True:
                now = self.clock()
                while self.delayed and self.delayed[0][0] <= now:
                    self.add(heapq.heappop(self.delayed)[1])
                if self.waiting:
                    key = self.waiting.popleft()
                    self.dirty.discard(key)
                    self.processing.add(key)
                    return key
                if self.shutting_down or (deadline is not None and now >= deadline):
                    return None
                # Sleep until the first of these: the deadline, the next delayed key, a notify.
                wake = [time for time in (deadline, self.delayed[0][0] if self.delayed else None) if time is not None]
                self.changed.wait(min(wake) - now if wake else None)

    def done(self, key: str) -> None:
        """Let go of ``key``. If it was added in the meantime, put it in line again."""
        with self.changed:
            self.processing.discard(key)
            if key in self.dirty:
                self.waiting.append(key)
                self.changed.notify()

    def add_after(self, key: str, delay: float) -> None:
        """Add ``key`` in ``delay`` seconds, or at once if that is not positive."""
        if delay <= 0:
            self.add(key)
        else:
            with self.changed:
                heapq.heappush(self.delayed, (self.clock() + delay, key))
                self.changed.notify_all()  # each sleeper may have to wake up earlier now

    def add_rate_limited(self, key: str) -> None:
        """Add ``key`` after its backoff: ``base_delay``, then twice that, four times, … up to ``max_delay``."""
        with self.changed:
            retries = self.failures.get(key, 0)
            self.failures[key] = retries + 1
        # 2 ** 60 is beyond any cap; without the limit, a key that fails for days overflows a float.
        self.add_after(key, min(self.base_delay * 2 ** min(retries, 60), self.max_delay))

    def forget(self, key: str) -> None:
        """``key`` succeeded: its next backoff starts from ``base_delay`` again."""
        with self.changed:
            self.failures.pop(key, None)

    def shut_down(self) -> None:
        """Take no more keys. Workers still get what is in line, then ``None``; none of them goes on sleeping."""
        with self.changed:
            self.shutting_down = True  # from here on add() takes nothing, so what is delayed never gets in line
            self.changed.notify_all()
