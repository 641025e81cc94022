"""Attack 16: a daemon that leaves its session and its group and lives on."""

import os
import time
from pathlib import Path


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


if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            (Path.home() / "alive").write_text(str(os.getpid()))
            time.sleep(0.05)
    os._exit(0)
os.wait()
