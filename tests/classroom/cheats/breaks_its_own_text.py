"""Tries to break whatever asks for its text.

Lab: 03
Earns: nothing
May not touch: the grader
"""


class Angry(Exception):
    def __str__(self):
        raise SystemExit(0)

    __repr__ = __str__


class WorkQueue:
    def __init__(self, **options):
        raise Angry

    def __getattr__(self, name):
        raise Angry
