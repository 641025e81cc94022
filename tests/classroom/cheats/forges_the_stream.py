"""Tries to write its own verdicts into every pipe that it can open.

Lab: 03
Earns: nothing
May not touch: the verdicts
"""

import glob

LINE = '{"name": "%s", "job": %d, "phase": "teardown", "status": "passed", "parts": {}, "seconds": 0}\n'
LINES = "".join(LINE % (name, task) for name in ("test_keys_come_out_in_order",) for task in range(99))
for path in glob.glob("/proc/[0-9]*/fd/*"):
    try:
        with open(path, "w") as file:
            file.write(LINES)
    except OSError:
        pass
