"""The objects that run a WebApp, and what its status says of them. Pure functions, used by both Python operators."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

Object = dict[str, Any]


def selector(name: str) -> dict[str, str]:
    return {"app.kubernetes.io/name": "webapp", "app.kubernetes.io/instance": name}


def deployment(app: Mapping[str, Any]) -> Object:
    """The Deployment that ``app`` should have."""
    name, spec, labels = app["metadata"]["name"], app["spec"], _labels(app)
    container = {
        "name": "web",
        "image": spec["image"],
        "ports": [{"name": "http", "containerPort": spec["port"]}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(app),
        "spec": {
            "replicas": spec["replicas"],
            "selector": {"matchLabels": selector(name)},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def service(app: Mapping[str, Any]) -> Object:
    """The Service that ``app`` should have.

    It has no address of its own. For each Service that gets one, the API server looks through all addresses there are:
    with 2,000 Services that was more than a third of its work, and what is measured here is the operators.
    """
    port = {"name": "http", "port": app["spec"]["port"], "targetPort": "http"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(app),
        "spec": {"selector": selector(app["metadata"]["name"]), "ports": [port], "clusterIP": "None"},
    }


def _labels(app: Mapping[str, Any]) -> dict[str, str]:
    return {**app["spec"].get("labels", {}), **selector(app["metadata"]["name"])}


def _metadata(app: Mapping[str, Any]) -> Object:
    owner = {
        "apiVersion": app["apiVersion"],
        "kind": app["kind"],
        "name": app["metadata"]["name"],
        "uid": app["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "name": app["metadata"]["name"],
        "namespace": app["metadata"]["namespace"],
        "labels": _labels(app),
        "ownerReferences": [owner],
    }


def contains(found: Any, wanted: Any) -> bool:
    """Whether ``found`` has all that ``wanted`` says; what the server and others have added does not matter."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(
            key in found and contains(found[key], value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(found, list)
            and len(found) == len(wanted)
            and all(contains(one, other) for one, other in zip(found, wanted, strict=True))
        )
    return bool(found == wanted)


def status(app: Mapping[str, Any], found: Mapping[str, Any]) -> Object:
    """What the status of ``app`` should say, given its Deployment as it was found."""
    generation, seen = app["metadata"]["generation"], found.get("status") or {}
    done = _rolled_out(found)
    condition = {
        "type": "Available",
        "status": "True" if done else "False",
        "reason": "RolledOut" if done else "RollingOut",
        "message": "all replicas are available" if done else "the Deployment has not finished its rollout",
        "observedGeneration": generation,
    }
    before = (app.get("status") or {}).get("conditions") or []
    same = next((one for one in before if one["type"] == "Available" and one["status"] == condition["status"]), None)
    condition["lastTransitionTime"] = (
        same["lastTransitionTime"] if same else datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    )
    metadata = app["metadata"]
    return {
        "observedGeneration": generation,
        "availableReplicas": seen.get("availableReplicas", 0),
        "url": f"http://{metadata['name']}.{metadata['namespace']}.svc:{app['spec']['port']}",
        "conditions": [*(one for one in before if one["type"] != "Available"), condition],
    }


def _rolled_out(found: Mapping[str, Any]) -> bool:
    wanted, seen = found["spec"]["replicas"], found.get("status") or {}
    counts = (seen.get(key, 0) for key in ("updatedReplicas", "replicas", "availableReplicas"))
    return seen.get("observedGeneration", 0) >= found["metadata"]["generation"] and all(one == wanted for one in counts)
