"""Tries to make links out of its home and read through them.

Lab: 03
Earns: nothing
May not touch: files outside
"""

import os

for number, target in enumerate(
    ("/etc/shadow", "/root/.ssh", "/proc/1/root/etc/shadow", "/proc/1/cwd/..", "/proc/self/fd/3")
):
    link = os.path.expanduser(f"~/link-{number}")
    os.symlink(target, link)
    try:
        found = os.listdir(link) if os.path.isdir(link) else [open(link).read(10)]
        if found and number < 3:
            print("GOT", target, found[:3])
    except OSError:
        pass
