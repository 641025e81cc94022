"""Tries to find the grader among the processes.

Lab: 03
Earns: nothing
May not touch: the grader's processes
"""

import glob

for path in glob.glob("/proc/[0-9]*/cmdline"):
    with open(path, "rb") as file:
        words = file.read()
    if b"\0-m\0pytest\0" in words or b"jailer.py" in words or b"kube-apiserver" in words:
        print("GOT", words)
