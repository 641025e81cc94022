"""Attack 7: a conftest.py beside the submission."""


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
