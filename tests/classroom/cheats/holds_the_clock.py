"""Tries to turn back the clock that a check advances.

Lab: 03
Check: test_a_delayed_key_comes_when_it_is_due
Earns: nothing
May not touch: the check's clock
"""

import converge.grader.library.doubles as doubles

doubles.FakeClock.advance = lambda self, seconds: None


class WorkQueue:
    def __init__(self, clock=None, **options):
        self.keys = []

    def add_after(self, key, delay):
        self.keys.append(key)

    def get(self, timeout=None):
        return self.keys.pop() if self.keys else None

    def done(self, key):
        pass
