"""Tries to find anything on the machine that answers: API server, etcd, other submissions.

Lab: 03
Earns: nothing
May not touch: every port
"""

import socket

for port in range(1, 65536):
    with socket.socket() as connection:
        answers = connection.connect_ex(("127.0.0.1", port)) == 0
        if answers and connection.getsockname() != connection.getpeername():  # not with itself
            print("GOT", port)
