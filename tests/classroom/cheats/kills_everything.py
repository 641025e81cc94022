"""Tries to kill every process that it can.

Lab: 03
Earns: nothing
May not touch: the grader's processes
"""

import os
import signal

if os.getpid() < 50:  # in a jail; never on a developer's machine
    os.kill(-1, signal.SIGKILL)
