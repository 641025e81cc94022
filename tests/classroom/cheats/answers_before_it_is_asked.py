"""Tries to answer calls before they are made, in the grader's own channel.

Lab: 03
Earns: nothing
May not touch: the verdicts
"""

import json
import os
import sys

for number in range(1, 400):
    os.write(int(sys.argv[3]), json.dumps({"id": number, "value": True}).encode() + b"\n")
