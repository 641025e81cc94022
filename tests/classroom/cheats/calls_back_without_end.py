"""Tries to keep the grader busy with questions, each of which costs it a thread.

Lab: 03
Earns: nothing
May not touch: the grader's threads
"""

import json
import os
import sys
import threading


def ask():
    question = {"asks": 1, "function": 0, "args": [], "kwargs": {}}
    while True:
        os.write(int(sys.argv[3]), json.dumps(question).encode() + b"\n")


threading.Thread(target=ask, daemon=True).start()
