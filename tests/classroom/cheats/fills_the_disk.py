"""Tries to fill the disk.

Lab: 03
Earns: nothing
May not touch: the disk's space
"""

import os

written = 0
for folder in (os.path.expanduser("~"), "/tmp", "/dev/shm", "/var/tmp"):
    try:
        with open(f"{folder}/filler", "wb") as file:
            for _ in range(400):
                written += file.write(b"x" * (1 << 20))
    except OSError:
        pass
if written > 300 << 20:
    print("GOT", written >> 20, "MB")
