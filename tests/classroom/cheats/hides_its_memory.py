"""Tries to keep memory where no process has it: in files of memory, and in segments that it lets go.

Lab: 03
Earns: nothing
May not touch: the machine's memory
"""

import ctypes
import os

held = 0
try:
    for name in ("a", "b"):
        file = os.memfd_create(name)
        for _ in range(100):
            held += os.write(file, bytes(1 << 20))
except OSError:
    pass
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
segment = libc.shmget(0, 100 << 20, 0o1600)
if segment >= 0:
    place = libc.shmat(segment, None, 0)
    ctypes.memset(place, 1, 100 << 20)
    libc.shmdt(ctypes.c_void_p(place))
    held += 100 << 20
if held:
    print("GOT", held >> 20, "MB that no process has")
