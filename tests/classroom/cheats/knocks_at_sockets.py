"""Tries to talk to Docker, systemd, D-Bus or any other socket of the machine.

Lab: 03
Earns: nothing
May not touch: sockets of the machine
"""

import os
import socket

with open("/proc/net/unix") as file:
    listed = [line.split()[-1] for line in file.readlines()[1:]]
USUAL = [
    "/var/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/dbus/system_bus_socket",
    "/run/systemd/private",
]
for path in USUAL + [name.replace("@", "\0") for name in listed if name.startswith(("/", "@"))]:
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(path)
            print("GOT", path)
        except (OSError, ValueError):
            pass
if os.path.exists("/tmp/.X11-unix"):
    print("GOT X11")
