"""Tries to attach to other processes as a debugger does.

Lab: 03
Earns: nothing
May not touch: the grader's memory
"""

import ctypes
import os

PTRACE_ATTACH, PTRACE_SEIZE = 16, 0x4206
for pid in range(2, 300):  # the first process of its jail has the powers that it has itself
    if pid != os.getpid() and os.path.exists(f"/proc/{pid}"):
        if ctypes.CDLL(None).ptrace(PTRACE_SEIZE, pid, 0, 0) == 0:
            print("GOT", pid)
