"""Tries to read or rewrite the results of the class.

Lab: 03
Earns: nothing
May not touch: the results
"""

import os

for folder, below, names in os.walk("/"):
    below[:] = [each for each in below if each not in ("proc", "sys", "usr")]
    for name in names:
        if folder.endswith("/results/03_workqueue") or name in ("class.csv", "plan.json", "pytest.log"):
            print("GOT", folder, name)
