"""Tries to use up the recorder's connections, hundreds at once.

Lab: 01
Earns: what the solution does, which goes on after it
May not touch: the grader's connections
"""

import socket

HELD = []


def attack(client):
    host, _, port = client.connection.server.rpartition("/")[2].partition(":")
    for _ in range(600):
        try:
            HELD.append(socket.create_connection((host, int(port)), 0.2))
        except OSError:
            break
    HELD.clear()
