"""Tries to leave shared memory that outlives it.

Lab: 03
Earns: nothing
May not touch: the machine's memory
"""

import ctypes

libc = ctypes.CDLL(None)
print(
    "made",
    libc.shmget(0x43564348, 1 << 20, 0o1666),
    libc.semget(0x43564348, 1, 0o1666),
    libc.msgget(0x43564348, 0o1666),
)
