"""Tries to leave files and a process for its next start in the same check.

Lab: 01
Earns: what the solution does, which goes on after it
May not touch: its next start
"""

import os
import time


def attack(client):
    for folder in (os.path.expanduser("~"), "/tmp", "/dev/shm", "/var/tmp"):
        if os.path.exists(f"{folder}/memory"):
            print("GOT", folder)
        try:
            os.close(os.open(f"{folder}/memory", os.O_WRONLY | os.O_CREAT))
        except OSError:
            pass
    if os.fork() == 0:
        os.setsid()
        while True:
            time.sleep(60)
