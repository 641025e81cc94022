# ruff: noqa: PTH110, PTH123, PTH208
"""A submission that tries everything that is forbidden, and says what it got."""

import ctypes
import json
import os
import signal
import socket
import sys
import time

asked = json.loads(sys.argv[1])
found = {"read": [], "wrote": [], "answers": [], "memory of others": [], "lessons": {}}
found["descriptors"] = sorted(int(each) for each in os.listdir("/proc/self/fd"))[:3]
if len(os.listdir("/proc/self/fd")) > 4:  # the fourth is that of this listing
    found["descriptors"].append("more")

for path in asked["hidden"]:
    try:
        with open(path) as file:
            file.read()
        found["read"].append(path)
    except OSError:
        pass
for path in (*asked["fixed"], "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/dev/x", "/etc/x"):
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT))
        found["wrote"].append(path)
    except OSError:
        pass
with open("mine.txt", "w") as file:
    file.write("allowed, and gone with the jail")

for port in asked["ports"]:
    try:
        with socket.create_connection(("127.0.0.1", port), 5) as connection:
            found["answers"].append(connection.recv(5) == b"hello")
    except OSError:
        found["answers"].append(False)

found["sees grader"] = os.path.exists(f"/proc/{asked['grader']}/cmdline")
for pid in filter(str.isdigit, os.listdir("/proc")):
    if int(pid) != os.getpid():
        try:
            with open(f"/proc/{pid}/mem", "r+b"):
                found["memory of others"].append(pid)
        except OSError:
            pass
found["process"] = os.getpid()
if os.getpid() < 50:  # in a jail; never on a developer's machine
    try:
        os.kill(-1, signal.SIGKILL)  # all but the first process and this one
    except ProcessLookupError:
        pass

with open("/proc/self/status") as status:
    found["capabilities"] = next(line.split()[1] for line in status if line.startswith("CapEff"))
libc = ctypes.CDLL(None)
found["unshared"] = libc.unshare(0x10000000) == 0  # CLONE_NEWUSER
found["memory of no one"] = [libc.memfd_create(b"", 0) >= 0, libc.shmget(0, 1 << 20, 0o1666) >= 0]

from converge.operators.lessons import lesson  # noqa: E402

for slug in ("06_idempotency", "07_drift"):
    try:
        lesson(slug)
        found["lessons"][slug] = True
    except ModuleNotFoundError:
        found["lessons"][slug] = False

if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)
print("BEGIN", json.dumps(found), "\nEND", flush=True)
time.sleep(600)
