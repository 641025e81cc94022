"""Tries to keep its namespace from being deleted, with Pods that have a finalizer from their template.

Lab: 01
Earns: what the solution does, which goes on after it
May not touch: the cluster after its check
"""


def attack(client):
    labels = {"app": "held"}
    template = {
        "metadata": {"labels": labels, "finalizers": ["registry.example/held"]},
        "spec": {"containers": [{"name": "a", "image": "registry.example/a"}]},
    }
    spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": template}
    metadata = {"name": "held-by-pods", "namespace": client.namespace}
    client.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
