"""Tries to leave a file that every Python of the machine runs when it starts.

Lab: 03
Earns: nothing
May not touch: Python's own directories
"""

import os
import site
import sys

for folder in {*sys.path, *site.getsitepackages(), sys.prefix, sys.base_prefix}:
    for name in ("sitecustomize.py", "usercustomize.py", "own.pth"):
        try:
            os.close(os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT))
            if not folder.startswith((os.path.expanduser("~"), "/tmp/")):  # both are the jail's own, and go with it
                print("GOT", folder)
        except OSError:
            pass
