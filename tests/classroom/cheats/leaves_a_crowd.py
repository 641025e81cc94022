"""Tries to leave more processes than it may have.

Lab: 03
Earns: nothing
May not touch: the machine
"""

import os
import time

for _ in range(200):
    os.fork() or time.sleep(4000)
