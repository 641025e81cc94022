"""Tries to make the disk's device and read it.

Lab: 03
Earns: nothing
May not touch: the disk
"""

import glob
import os
import stat

for major, minor in ((8, 0), (253, 0), (259, 0), (1, 1)):
    try:
        os.mknod(os.path.expanduser(f"~/disk-{major}-{minor}"), 0o600 | stat.S_IFBLK, os.makedev(major, minor))
        print("GOT a device")
    except OSError:
        pass
for path in (
    glob.glob("/dev/sd*") + glob.glob("/dev/vd*") + glob.glob("/dev/nvme*") + ["/dev/mem", "/dev/kmem", "/dev/kmsg"]
):
    if os.path.exists(path):
        print("GOT", path)
