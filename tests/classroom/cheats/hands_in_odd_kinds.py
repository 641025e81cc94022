"""Tries to make the grader fail at objects whose fields are of other types than they should be.

Lab: 16
Earns: nothing
May not touch: the verdict that it earns
"""
