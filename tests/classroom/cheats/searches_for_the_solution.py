"""Tries to find the solution, or another student's work, anywhere on the disk.

Lab: 03
Earns: nothing
May not touch: solutions and others' work
"""

import os

for folder, below, names in os.walk("/"):
    below[:] = [each for each in below if each not in ("proc", "sys", "usr")]
    for name in names:
        path = os.path.join(folder, name)
        if name == "workqueue.py" and path != __file__ and "03_workqueue" in path:
            print("GOT", path)
            exec(open(path).read())
