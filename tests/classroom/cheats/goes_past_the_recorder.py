"""Tries to reach the API server itself, where nobody writes down what it does.

Lab: 01
Earns: what the solution does, which goes on after it
May not touch: the record of its requests
"""

import os
import socket


def attack(client):
    mine = int(client.connection.server.rpartition(":")[2].strip("/"))
    for port in range(1024, 65536):
        with socket.socket() as connection:
            answers = port != mine and connection.connect_ex(("127.0.0.1", port)) == 0
            if answers and connection.getsockname() != connection.getpeername():  # not with itself
                print("GOT", port)
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        print("GOT", os.environ["KUBERNETES_SERVICE_HOST"])
