"""Tries to read the credentials of the cluster and of the grader's user.

Lab: 03
Earns: nothing
May not touch: kubeconfigs and keys
"""

import glob
import os

HOMES = ["/root", *glob.glob("/home/*")]
NAMES = (".kube/config", ".ssh", ".aws", ".netrc", ".docker/config.json", ".local/state/converge", ".git-credentials")
for path in [f"{home}/{name}" for home in HOMES for name in NAMES] + [
    "/etc/shadow",
    "/etc/kubernetes",
    "/var/run/secrets",
]:
    if os.path.exists(path):
        print("GOT", path)
for folder, below, names in os.walk("/"):
    below[:] = [each for each in below if each not in ("proc", "sys", "usr")]
    for name in names:
        if "kubeconfig" in name and "site-packages" not in folder:
            print("GOT", folder, name)
