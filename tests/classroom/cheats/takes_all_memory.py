"""Tries to take more memory than it may.

Lab: 03
Earns: nothing
May not touch: the machine's memory
"""

held = []
try:
    for _ in range(8):
        held.append(bytearray(1 << 30))
    print("GOT 8 GB")
except MemoryError:
    held.clear()
