"""Tries to read what the grader's environment says.

Lab: 03
Earns: nothing
May not touch: the grader's environment
"""

import glob

SECRETS = (b"CONVERGE", b"TOKEN", b"SECRET", b"KUBECONFIG", b"PYTEST", b"PROXY", b"CANARY")
for path in glob.glob("/proc/[0-9]*/environ"):
    try:
        with open(path, "rb") as file:
            for line in file.read().split(b"\0"):
                if any(word in line.partition(b"=")[0].upper() for word in SECRETS):
                    print("GOT", line)
    except OSError:
        pass
