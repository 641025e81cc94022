"""Tries to write into the memory of other processes.

Lab: 03
Earns: nothing
May not touch: the grader's memory
"""

import glob
import os

for path in glob.glob("/proc/[0-9]*/mem"):
    if path != f"/proc/{os.getpid()}/mem":
        try:
            with open(path, "r+b"):
                print("GOT", path)
        except OSError:
            pass
