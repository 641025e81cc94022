"""A right answer in the manner of controller-runtime's priority queue: one entry per key, ready at some time."""

import threading
import time
from itertools import count


class WorkQueue:
    def __init__(self, clock=time.monotonic, base_delay=0.005, max_delay=60.0):
        self.clock, self.base_delay, self.max_delay = clock, base_delay, max_delay
        self.lock = threading.Condition(threading.Lock())
        self.entries = {}  # key -> (ready at, ticket); a held key may have one too
        self.held = set()
        self.retries = {}
        self.tickets = count()
        self.closed = False

    def __len__(self):
        with self.lock:
            return len(self._ready())

    def _ready(self):
        now = self.clock()
        ready = [(when, ticket, key) for key, (when, ticket) in self.entries.items() if when <= now]
        return [key for _, _, key in sorted(ready) if key not in self.held]

    def num_requeues(self, key):
        return self.retries.get(key, 0)

    def add(self, key):
        self.add_after(key, 0)

    def add_after(self, key, delay):
        with self.lock:
            when = self.clock() + delay if delay > 0 else 0
            if not self.closed and (key not in self.entries or when < self.entries[key][0]):
                self.entries[key] = (when, next(self.tickets))
                self.lock.notify_all()

    def get(self, timeout=None):
        give_up = None if timeout is None else time.monotonic() + timeout
        with self.lock:
            while True:
                if ready := self._ready():
                    del self.entries[ready[0]]
                    self.held.add(ready[0])
                    return ready[0]
                left = None if give_up is None else give_up - time.monotonic()
                if (self.closed and not self.entries.keys() - self.held) or (left is not None and left <= 0):
                    return None
                due = [when - self.clock() for key, (when, _) in self.entries.items() if key not in self.held]
                waits = [wait for wait in (*due, left) if wait is not None]
                self.lock.wait(min(waits) if waits else None)

    def done(self, key):
        with self.lock:
            self.held.discard(key)
            if key in self.entries:
                when, _ = self.entries[key]
                self.entries[key] = (when, next(self.tickets))
                self.lock.notify_all()

    def add_rate_limited(self, key):
        with self.lock:
            delay = self.base_delay
            for _ in range(self.retries.get(key, 0)):
                delay *= 2
                if delay >= self.max_delay:
                    break
            self.retries[key] = self.retries.get(key, 0) + 1
        self.add_after(key, min(delay, self.max_delay))

    def forget(self, key):
        with self.lock:
            self.retries.pop(key, None)

    def shut_down(self):
        with self.lock:
            self.closed = True
            self.entries = {key: entry for key, entry in self.entries.items() if entry[0] <= self.clock()}
            self.lock.notify_all()
