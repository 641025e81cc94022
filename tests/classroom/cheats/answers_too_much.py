"""Tries to answer with more text than anyone can store.

Lab: 03
Earns: nothing
May not touch: the size of reports
"""


class WorkQueue:
    def __init__(self, **options):
        pass

    def add(self, key):
        return "x" * 3_000_000

    def get(self, timeout=None):
        return "\u202e" * 1_000_000
