"""Tries to make namespaces of its own, in which it would be root.

Lab: 03
Earns: nothing
May not touch: its confinement
"""

import ctypes
import os

FLAGS = {"user": 0x10000000, "mount": 0x20000, "net": 0x40000000, "pid": 0x20000000, "ipc": 0x8000000, "uts": 0x4000000}
libc = ctypes.CDLL(None)
for name, flag in FLAGS.items():
    if libc.unshare(flag) == 0:
        print("GOT", name)
for name in ("net", "mnt", "user", "pid"):
    descriptor = os.open(f"/proc/1/ns/{name}", os.O_RDONLY) if os.access(f"/proc/1/ns/{name}", os.R_OK) else -1
    if descriptor >= 0 and libc.setns(descriptor, 0) == 0:
        print("GOT", name)
