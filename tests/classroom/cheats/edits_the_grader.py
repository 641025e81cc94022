"""Tries to edit the grader's files.

Lab: 03
Earns: nothing
May not touch: the course
"""

import converge.grader.checks.expect as it

try:
    with open(it.__file__, "a") as file:
        file.write("\ndef expect(*arguments, **more): pass\n")
    print("GOT the grader's file")
except OSError:
    pass
