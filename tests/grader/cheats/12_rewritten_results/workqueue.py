"""Attack 12: rewrite results from a thread and at exit."""

import atexit
import threading
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


def rewrite():
    mine = next(parent for parent in Path.home().parents if parent.name.startswith(("converge-", "pytest-")))
    for path in (*mine.rglob("*.json"), *mine.rglob("*.log"), *mine.rglob("*.xml")):
        path.write_text("PASSED")


atexit.register(rewrite)
threading.Thread(target=rewrite, daemon=True).start()
