"""The heart of the work queue: which keys wait, which are being worked on, and which are both.

- Fair: keys are handed out in the order in which they were added.
- De-duplicating: a key that's already waiting isn't added again.
- One worker per key: a key that is added while a worker has it waits until that worker calls `done`,
  and is then handed out again. So a change during the work is not lost, and never worked on twice at once.

`delayqueue` adds keys that wait for a time, and `workqueue` those that failed.
"""

import threading
import time
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class KeyQueue(Generic[K]):
    """Hands out keys, each to one worker at a time. Safe to use from many threads."""

    def __init__(self) -> None:
        # Every key of `_waiting` is in `_dirty` and not in `_processing`. A key that is dirty *and*
        # processing is not in `_waiting`: `done` puts it there.
        self._waiting: deque[K] = deque()
        self._dirty: set[K] = set()
        self._processing: set[K] = set()
        self._shutting_down = False
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._drained = threading.Condition(self._lock)
        #: Keys accepted so far, without duplicates; for metrics.
        self.adds = 0

    def add(self, key: K) -> None:
        """Say that ``key`` needs work. Ignored if it's already waiting, or after `shut_down`."""
        with self._lock:
            self._add(key)

    def get(self, timeout: float | None = None) -> K | None:
        """Wait for a key and hold it; the caller calls `done` when it has finished with it.

        Returns ``None`` after `shut_down`, once no key is waiting, or after ``timeout`` seconds.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._lock:
            self._collect()
            while not self._waiting:
                if self._shutting_down:
                    return None
                remaining = None if deadline is None else deadline - time.monotonic()
                if remaining is not None and remaining <= 0:
                    self._hand_over()
                    return None
                self._wait(remaining)
                self._collect()
            key = self._waiting.popleft()
            self._dirty.discard(key)
            self._processing.add(key)
            self._hand_over()
            return key

    def done(self, key: K) -> None:
        """Let go of ``key``. If it was added in the meantime, it goes back in line."""
        with self._lock:
            self._processing.discard(key)
            if key in self._dirty:
                self._waiting.append(key)
                self._changed.notify()
            elif self._shutting_down and not self._processing:
                self._drained.notify_all()

    def shut_down(self, drain: bool = False, timeout: float | None = None) -> bool:
        """Accept no more keys. Those that wait are still handed out; after them `get` returns ``None``.

        Args:
            drain: wait until no key waits and every worker has called `done`.
            timeout: wait for that at most this many seconds.

        Returns:
            Whether no key waits and none is being worked on.
        """
        with self._lock:
            self._shutting_down = True
            self._changed.notify_all()
            if drain:
                self._drained.wait_for(self._is_empty, timeout)
            return self._is_empty()

    @property
    def shutting_down(self) -> bool:
        """Whether `shut_down` has been called."""
        return self._shutting_down

    def __len__(self) -> int:
        """How many keys wait; not those that are being worked on, nor those whose time has not come."""
        with self._lock:
            self._collect()
            return len(self._waiting)

    # What follows is called with the lock held. A queue of another kind overrides the last three.

    def _add(self, key: K) -> None:
        if self._shutting_down or key in self._dirty:
            return
        self.adds += 1
        self._dirty.add(key)
        if key not in self._processing:
            self._waiting.append(key)
            self._changed.notify()

    def _is_empty(self) -> bool:
        return not self._waiting and not self._processing

    def _collect(self) -> None:
        """Add keys whose time has come."""

    def _wait(self, timeout: float | None) -> None:
        """Wait until something changes."""
        self._changed.wait(timeout)

    def _hand_over(self) -> None:
        """A worker leaves: whatever it was watching over must be left to another."""
