"""Tries to change settings of the kernel.

Lab: 03
Earns: nothing
May not touch: the kernel's settings
"""

import glob
import os

PATHS = ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/kernel/hostname", "/sys/power/state")
for path in (*PATHS, *glob.glob("/sys/fs/cgroup/**/cgroup.procs", recursive=True)[:5]):
    try:
        os.close(os.open(path, os.O_WRONLY))
        print("GOT", path)
    except OSError:
        pass
try:
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("-1000")
    print("GOT oom_score_adj")
except OSError:
    pass
