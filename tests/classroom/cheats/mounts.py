"""Tries to mount what is hidden, or make writable what is read-only.

Lab: 03
Earns: nothing
May not touch: its view of the disk
"""

import ctypes

MS_REMOUNT, MS_BIND = 32, 4096
libc = ctypes.CDLL(None)
for source, target, kind, flags in (
    (b"none", b"/", b"", MS_REMOUNT | MS_BIND),
    (b"proc", b"/tmp", b"proc", 0),
    (b"tmpfs", b"/usr", b"tmpfs", 0),
    (b"/proc/1/root", b"/tmp", b"", MS_BIND),
):
    if libc.mount(source, target, kind, flags, None) == 0:
        print("GOT", target)
for target in (b"/proc", b"/tmp", b"/dev", b"/"):
    if libc.umount2(target, 2) == 0:
        print("GOT", target)
if libc.chroot(b"/proc/1/root") == 0:
    print("GOT chroot")
