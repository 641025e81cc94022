"""Attack 19: print without end, and one line of a gigabyte."""

import os
import threading


class WorkQueue:
    """A queue that is wrong in every way."""

    def __init__(self, **options):
        self.keys = []

    def __len__(self):
        return 99

    def add(self, key):
        self.keys.append(key)

    def get(self, timeout=None):
        return "wrong"

    def done(self, key):
        pass


def flood():
    for _ in range(64):
        os.write(1, b"x" * (1 << 20))
    while True:
        os.write(1, b"and another line\n" * 4096)


threading.Thread(target=flood, daemon=True).start()
