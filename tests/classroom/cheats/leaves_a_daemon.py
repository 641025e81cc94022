"""Tries to leave a process that lives on under another name, and ignores every signal.

Lab: 03
Earns: nothing
May not touch: the machine after its check
"""

import os
import signal

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(1, 32):
            if number not in (signal.SIGKILL, signal.SIGSTOP):
                signal.signal(number, signal.SIG_IGN)
        os.execve("/bin/sleep", ["cheat-daemon", "4000"], {})
    os._exit(0)
