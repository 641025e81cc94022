"""Tries to pass for work that was not begun, or that the cluster can't judge.

Lab: 03
Earns: nothing
May not touch: the verdicts
"""


class WorkQueue:
    def __init__(self, **options):
        raise NotImplementedError("needs kind: TODO 1: nothing to see")
