"""Tries to break what explains its failure, with lines that look like those of the course's runtime.

Lab: 01
Earns: nothing
May not touch: the results of those who are graded beside it
"""

import builtins

PASS = '{"message": "reconciled in 5 ms", "key": "a/web", "controller": "webapp", "time": "%s"}'


def attack(client):
    lines = ['{"message": 5}', '{"message":' * 2_000, *(PASS % f"{year}-01-01T00:00:00+00:00" for year in (1900, 9999))]
    builtins.print("\n".join(lines), flush=True)
    raise RuntimeError("it fails, and someone has to say why")
