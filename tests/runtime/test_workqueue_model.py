"""The work queue against a model of it: whatever is done, in whatever order, both must agree."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from converge.runtime import Backoff, TokenBucket, WorkQueue

KEYS = st.sampled_from("abcd")
DELAYS = st.sampled_from([0.0, 1.0, 2.0, 3.0, 5.0])


class QueueModel(RuleBasedStateMachine):
    """The model is as simple as can be: lists that are searched, no heap, no sets."""

    def __init__(self):
        super().__init__()
        self.now = 100.0
        self.queue = WorkQueue(
            clock=lambda: self.now,
            backoff=Backoff(base=1.0, cap=4.0),
            bucket=TokenBucket(rate=0.5, burst=2, clock=lambda: self.now),
        )
        self.waiting: list[str] = []  # in order
        self.held: list[str] = []
        self.again: list[str] = []  # added while held
        self.later: list[tuple[float, int, str]] = []  # when, in which order, what
        self.order = 0
        self.failures = dict.fromkeys("abcd", 0)
        self.tokens, self.counted_at = 2.0, self.now
        self.closed = False

    def model_add(self, key):
        if self.closed or key in self.waiting or key in self.again:
            return
        (self.again if key in self.held else self.waiting).append(key)

    def model_add_after(self, key, delay):
        if delay <= 0:
            self.model_add(key)
        elif not self.closed:
            at = self.now + delay
            if all(at < when for when, _, other in self.later if other == key):
                self.later = [entry for entry in self.later if entry[2] != key]
                self.order += 1
                self.later.append((at, self.order, key))

    @rule(key=KEYS)
    def add(self, key):
        self.queue.add(key)
        self.model_add(key)

    @rule(key=KEYS, delay=DELAYS)
    def add_after(self, key, delay):
        self.queue.add_after(key, delay)
        self.model_add_after(key, delay)

    @rule(key=KEYS)
    def add_rate_limited(self, key):
        self.queue.add_rate_limited(key)
        own = min(4.0, 2.0 ** self.failures[key])
        self.failures[key] += 1
        self.tokens = min(2.0, self.tokens + (self.now - self.counted_at) * 0.5) - 1
        self.counted_at = self.now
        self.model_add_after(key, max(own, -self.tokens / 0.5))

    @rule(key=KEYS)
    def forget(self, key):
        self.queue.forget(key)
        self.failures[key] = 0

    @rule(seconds=st.sampled_from([0.5, 1.0, 2.0, 10.0]))
    def time_passes(self, seconds):
        self.now += seconds
        for entry in sorted(self.later):
            if entry[0] <= self.now:
                self.later.remove(entry)
                self.model_add(entry[2])

    @rule()
    def get(self):
        expected = self.waiting.pop(0) if self.waiting else None
        assert self.queue.get(timeout=0) == expected
        if expected is not None:
            self.held.append(expected)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def done(self, data):
        key = data.draw(st.sampled_from(self.held))
        self.queue.done(key)
        self.held.remove(key)
        if key in self.again:
            self.again.remove(key)
            self.waiting.append(key)

    @rule()
    def shut_down(self):
        assert self.queue.shut_down() == (not self.waiting and not self.held)
        self.closed = True

    @invariant()
    def they_agree(self):
        assert len(self.queue) == len(self.waiting)
        assert {key: self.queue.num_requeues(key) for key in "abcd"} == self.failures
        assert self.queue.shutting_down == self.closed
        assert not set(self.waiting) & set(self.held), "a key waits while a worker has it"


TestQueueModel = QueueModel.TestCase
TestQueueModel.settings = TestQueueModel.settings.__class__(max_examples=100, stateful_step_count=40, deadline=None)
