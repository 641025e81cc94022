"""Tries to lift the limits on memory, files and processes.

Lab: 03
Earns: nothing
May not touch: its limits
"""

import resource

for name in ("RLIMIT_DATA", "RLIMIT_FSIZE", "RLIMIT_CORE"):
    try:
        resource.setrlimit(getattr(resource, name), (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        print("GOT", name)
    except (ValueError, OSError):
        pass
