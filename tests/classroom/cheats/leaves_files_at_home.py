"""Tries to leave files in the home of the grader's user.

Lab: 03
Earns: nothing
May not touch: the grader's home
"""

import os
import pwd

for home in {each.pw_dir for each in pwd.getpwall()} | {"/root", "/home"}:
    for name in (".bashrc", ".profile", ".config/converge", ".kube/config"):
        try:
            os.close(os.open(f"{home}/{name}", os.O_WRONLY | os.O_CREAT | os.O_APPEND))
            print("GOT", home, name)
        except OSError:
            pass
