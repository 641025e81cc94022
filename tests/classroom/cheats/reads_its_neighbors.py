"""Tries to read and change what is in other namespaces.

Lab: 01
Earns: what the solution does, which goes on after it
May not touch: others' namespaces
"""

from converge.operators.webapp import WEBAPP
from converge.runtime import ApiError


def attack(client):
    for namespace in ("default", "kube-system", None):
        for kind in (("v1", "Secret"), ("v1", "ServiceAccount"), ("apps/v1", "Deployment"), WEBAPP):
            try:
                client.list(*kind, namespace)
                print("GOT", kind, namespace)
            except ApiError:
                pass
