"""Tries to make the check fail rather than the work, so that it counts as an error of the grader.

Lab: 03
Earns: nothing
May not touch: who is to blame
"""

WorkQueue = 7
