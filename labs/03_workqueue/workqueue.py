"""Lab 03: a work queue that never hands one key to two workers.

Lesson:  docs/lessons/03_workqueue.md
Check:   make check LAB=03
Hint:    make hint LAB=03

``dirty`` and ``processing`` are the whole trick: a key may be in both, and that is how a change during
processing survives. ``changed`` guards every field below it: hold it whenever you touch one, and notify
when a worker may have something new to do.
"""

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
        # TODO 1: collapse duplicates; a key that a worker holds must not be put in line yet.
        raise NotImplementedError("TODO 1: WorkQueue.add")

    def get(self, timeout: float | None = None) -> str | None:
        """Take the next key and hold it; wait for one if there is none.

        Returns ``None`` when ``timeout`` seconds have passed, or when the queue is shut down and empty.
        """
        # TODO 2: move the key from ``dirty`` to ``processing``. With TODO 4, look at ``delayed`` first.
        #         ``timeout`` may count on ``clock`` or in real time.
        raise NotImplementedError("TODO 2: WorkQueue.get")

    def done(self, key: str) -> None:
        """Let go of ``key``. If it was added in the meantime, put it in line again."""
        # TODO 3: these lines keep a controller from missing a change.
        raise NotImplementedError("TODO 3: WorkQueue.done")

    def add_after(self, key: str, delay: float) -> None:
        """Add ``key`` in ``delay`` seconds, or at once if that is not positive."""
        # TODO 4: remember when it is due (``heapq`` keeps the earliest first) and wake every sleeper; ``get`` adds it.
        raise NotImplementedError("TODO 4: WorkQueue.add_after")

    def add_rate_limited(self, key: str) -> None:
        """Add ``key`` after its backoff: ``base_delay``, then twice that, four times, … up to ``max_delay``."""
        # TODO 5: count the retries of this key; ``add_after`` does the rest.
        raise NotImplementedError("TODO 5: WorkQueue.add_rate_limited")

    def forget(self, key: str) -> None:
        """``key`` succeeded: its next backoff starts from ``base_delay`` again."""
        # TODO 6: one line.
        raise NotImplementedError("TODO 6: WorkQueue.forget")

    def shut_down(self) -> None:
        """Take no more keys. Workers still get what is in line, then ``None``; none of them goes on sleeping."""
        # TODO 7: every worker that sleeps in ``get`` has to wake up.
        raise NotImplementedError("TODO 7: WorkQueue.shut_down")
