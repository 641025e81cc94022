"""Tries to make the grader fail at a manifest that is nested too deeply, so that it counts as the grader's error.

Lab: 16
Earns: nothing
May not touch: the verdict that it earns
"""
