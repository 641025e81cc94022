"""Tries to make the grader wait without end.

Lab: 03
Earns: nothing
May not touch: the others' time
"""

import time

time.sleep(4000)
