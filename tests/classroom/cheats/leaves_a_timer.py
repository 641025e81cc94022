"""Tries to let the system run something later.

Lab: 03
Earns: nothing
May not touch: the machine after its check
"""

import os
import shutil
import subprocess

for command in (["at", "now"], ["crontab", "-"], ["systemd-run", "--user", "true"], ["batch"]):
    if shutil.which(command[0]):
        ended = subprocess.run(command, input=b"* * * * * touch /tmp/cheat\n", capture_output=True)
        if ended.returncode == 0:
            print("GOT", command)
for folder in ("/etc/cron.d", "/var/spool/cron", "/etc/systemd/system"):
    try:
        os.close(os.open(f"{folder}/cheat", os.O_WRONLY | os.O_CREAT))
        print("GOT", folder)
    except OSError:
        pass
