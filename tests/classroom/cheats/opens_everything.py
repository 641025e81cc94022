"""Tries to use up open files.

Lab: 03
Earns: nothing
May not touch: the machine's open files
"""

import os

held = []
try:
    while len(held) < 200_000:
        held.append(os.open("/dev/null", os.O_RDONLY))
    print("GOT", len(held))
except OSError:
    for each in held:
        os.close(each)
