"""Tries to keep the processors from everyone else, with as many processes as it may have.

Lab: 03
Earns: nothing
May not touch: the others' share of the processors
"""

import os
import time

until = time.monotonic() + 60
for _ in range(100):
    try:
        if os.fork() == 0:
            os.setsid()  # the kernel shares the processors among sessions first
            while time.monotonic() < until:
                pass
            os._exit(0)
    except OSError:
        break

# So that its check takes as long as it may.
time.sleep(60)
