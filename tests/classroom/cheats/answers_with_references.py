"""Tries to answer with references to objects and functions that aren't there.

Lab: 03
Earns: nothing
May not touch: the verdicts
"""


class WorkQueue:
    def __init__(self, **options):
        pass

    def add(self, key):
        return {"$function": 0}

    def get(self, timeout=None):
        return {"$ref": 0, "$dict": {"a": {"$set": [[]]}}}
