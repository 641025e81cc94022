"""A right answer without sets: each key is in one of three states, and the heap is looked at by everybody."""

import enum
import heapq
import threading
import time


class State(enum.Enum):
    WAITING = 1
    HELD = 2
    HELD_AND_CHANGED = 3


class WorkQueue:
    def __init__(self, clock=time.monotonic, base_delay=0.005, max_delay=60.0):
        self._clock, self._base, self._cap = clock, base_delay, max_delay
        self._mutex = threading.RLock()
        self._news = threading.Condition(self._mutex)
        self._state = {}
        self._line = []
        self._heap = []
        self._delay = {}
        self._count = {}
        self._open = True

    def __len__(self):
        return len(self._line)

    def num_requeues(self, key):
        return self._count.get(key, 0)

    def add(self, key):
        with self._mutex:
            self._collect()
            if self._open:
                self._put(key)

    def _put(self, key):
        match self._state.get(key):
            case None:
                self._state[key] = State.WAITING
                self._line.append(key)
                self._news.notify_all()
            case State.HELD:
                self._state[key] = State.HELD_AND_CHANGED

    def _collect(self):
        while self._heap and self._heap[0][0] <= self._clock():
            self._put(heapq.heappop(self._heap)[1])

    def get(self, timeout=None):
        end = None if timeout is None else time.monotonic() + timeout
        with self._mutex:
            while True:
                self._collect()
                if self._line:
                    key = self._line.pop(0)
                    self._state[key] = State.HELD
                    return key
                if not self._open:
                    return None
                pauses = [] if end is None else [end - time.monotonic()]
                if pauses and pauses[0] <= 0:
                    return None
                if self._heap:
                    pauses.append(max(0.0, self._heap[0][0] - self._clock()))
                self._news.wait(min(pauses, default=None))

    def done(self, key):
        with self._mutex:
            self._collect()
            if self._state.pop(key, None) is State.HELD_AND_CHANGED:
                self._put(key)

    def add_after(self, key, delay):
        with self._mutex:
            if self._open:
                heapq.heappush(self._heap, (self._clock() + max(delay, 0), key))
                self._collect()
                self._news.notify_all()

    def add_rate_limited(self, key):
        with self._mutex:
            delay = self._delay.get(key, self._base)
            self._delay[key] = min(delay * 2, self._cap)
            self._count[key] = self.num_requeues(key) + 1
            self.add_after(key, min(delay, self._cap))

    def forget(self, key):
        with self._mutex:
            self._delay.pop(key, None)
            self._count.pop(key, None)

    def shut_down(self):
        with self._mutex:
            self._collect()
            self._open = False
            self._heap = []
            self._news.notify_all()
