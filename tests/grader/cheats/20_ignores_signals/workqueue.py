"""Attack 20: ignore every signal that can be ignored, and never return."""

import signal


class WorkQueue:
    """A queue that is wrong in every way."""

    def __init__(self, **options):
        self.keys = []

    def __len__(self):
        return 99

    def add(self, key):
        while True:
            pass

    def get(self, timeout=None):
        return "wrong"

    def done(self, key):
        pass


for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
