"""Tries to keep its namespace from being deleted.

Lab: 01
Earns: what the solution does, which goes on after it
May not touch: the cluster after its check
"""

from converge.runtime import ApiError


def attack(client):
    metadata = {"name": "held", "namespace": client.namespace, "finalizers": ["cheat.example/held"]}
    labels = {"app": "held"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "registry.example/a"}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    try:
        client.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    except ApiError as error:
        print(error)
