"""Attack 2: end the process with success from within a call."""

import sys


class WorkQueue:
    """A queue that is wrong in every way."""

    def __init__(self, **options):
        self.keys = []

    def __len__(self):
        return 99

    def add(self, key):
        sys.exit(0)

    def get(self, timeout=None):
        return "wrong"

    def done(self, key):
        pass
