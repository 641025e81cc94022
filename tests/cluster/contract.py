"""The objects that the contract suite works with, as small as the server accepts them."""

from typing import Any

from converge.runtime import Client, NotFound

WEBAPP = ("converge.example/v1", "WebApp")
CONFIG_MAP = ("v1", "ConfigMap")

Object = dict[str, Any]


def webapp(namespace: str, name: str = "web", **spec: Any) -> Object:
    return {
        "apiVersion": WEBAPP[0],
        "kind": WEBAPP[1],
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"image": "registry.example/web:1", **spec},
    }


def config_map(namespace: str, name: str = "child", owner: Object | None = None, **metadata: Any) -> Object:
    references = [owner_reference(owner)] if owner else []
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "ownerReferences": references, **metadata},
    }


def owner_reference(owner: Object) -> Object:
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod_template(image: str, **container: Any) -> Object:
    """A Pod that needs next to nothing and is gone as soon as it is asked to."""
    return {
        "metadata": {"labels": {"app": "contract"}},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": image, **container}],
        },
    }


def event(namespace: str, name: str, reason: str = "Tested") -> Object:
    regarding = {"apiVersion": WEBAPP[0], "kind": WEBAPP[1], "name": "web", "namespace": namespace}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": regarding,
        "type": "Normal",
        "reason": reason,
        "message": "said by the contract suite",
    }


def is_gone(client: Client, api_version: str, kind: str, name: str, namespace: str | None = None) -> bool:
    try:
        client.get(api_version, kind, name, namespace)
    except NotFound:
        return True
    return False
