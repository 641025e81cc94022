"""Tries to write verdicts to every descriptor that it has.

Lab: 03
Earns: nothing
May not touch: the verdicts
"""

import os

LINE = b'{"name": "test_keys_come_out_in_order", "job": 0, "phase": "call", "status": "passed", "parts": {}}\n'
for descriptor in range(256):
    try:
        os.write(descriptor, LINE)
    except OSError:
        pass
