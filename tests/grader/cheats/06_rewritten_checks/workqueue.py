"""Attack 6: find the checks in memory and empty them."""

import gc
import types


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


def nothing(*args, **kwargs):
    return None


for each in gc.get_objects():
    if isinstance(each, types.FunctionType) and (each.__name__.startswith("test_") or "outcome" in each.__name__):
        each.__code__ = nothing.__code__
