"""Tries to change nodes, namespaces, custom resources and webhooks for everyone.

Lab: 01
Earns: what the solution does, which goes on after it
May not touch: what all share in the cluster
"""

from converge.runtime import ApiError

KINDS = (
    ("v1", "Node"),
    ("v1", "Namespace"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("scheduling.k8s.io/v1", "PriorityClass"),
)


def attack(client):
    for version, kind in KINDS:
        for change in (
            lambda version=version, kind=kind: client.list(version, kind),
            lambda version=version, kind=kind: client.create(
                {"apiVersion": version, "kind": kind, "metadata": {"name": "cheat"}}
            ),
        ):
            try:
                change()
                print("GOT", kind)
            except ApiError:
                pass
