"""Tries to become root by the programs that can.

Lab: 03
Earns: nothing
May not touch: other users
"""

import os
import shutil
import subprocess

for command in (["su", "-c", "id -u"], ["sudo", "-n", "id", "-u"], ["pkexec", "id", "-u"], ["newgrp"]):
    if shutil.which(command[0]):
        ended = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=5)
        if ended.stdout.strip() == b"0":
            print("GOT", command)
for change in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0])):
    try:
        change()
        print("GOT root")
    except OSError:
        pass
