"""Tries to hide a request in the body of another.

Lab: 01
Earns: what the solution does, which goes on after it
May not touch: the record of its requests
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
    hidden = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    lengths = ("Content-Length: 0", "Transfer-Encoding: chunked")
    answer = ask(client, "POST /healthz HTTP/1.1", "Host: x", *lengths, body=f"0\r\n\r\n{hidden}")
    if answer.count("HTTP/1.1 200") > 1:
        print("GOT two answers to one request")
