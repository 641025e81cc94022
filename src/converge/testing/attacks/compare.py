"""Compares the children of two objects without what differs for every object: names, uids, the server's fields."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any

from converge.testing.objects.custom_resource import CustomResource
from converge.testing.verdicts.values import show

# Set by the server or by other controllers, and different for every object.
SERVER_SIDE = {
    "metadata": (
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "managedFields",
        "selfLink",
        "annotations",
        "ownerReferences",
    ),
    "spec": ("clusterIP", "clusterIPs"),
}


# They make Pods and ReplicaSets of their own, whose names come from the object's and whose ends nobody asked for.
CONTROLLERS = ("CronJob", "DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet")


def belongs(obj: Mapping[str, Any], app: CustomResource) -> bool:
    """Whether an object is one that was made for `app`: it's owned by it, or carries its name.

    What a workload of it makes isn't: that's Kubernetes' work.
    """
    metadata = obj["metadata"]
    owners = metadata.get("ownerReferences", [])
    if any(each["uid"] == app.uid for each in owners):
        return True
    by_a_workload = any(each.get("controller") and each["kind"] in CONTROLLERS for each in owners)
    return app.name in metadata["name"] and not by_a_workload


def differing_lines(walked: Any, fresh: Any, path: str = "") -> list[tuple[str, str]]:
    """Where two JSON values differ, as lines `path: value` of each."""
    if isinstance(walked, dict) and isinstance(fresh, dict):
        keys = sorted(walked.keys() | fresh.keys())
        return [
            found
            for key in keys
            for found in differing_lines(walked.get(key), fresh.get(key), f"{path}.{key}".lstrip("."))
        ]
    if isinstance(walked, list) and isinstance(fresh, list) and len(walked) == len(fresh):
        return [
            found
            for place, (old, new) in enumerate(zip(walked, fresh, strict=True))
            for found in differing_lines(old, new, f"{path}[{place}]")
        ]
    return [] if walked == fresh else [(f"{path}: {show(walked)}", f"{path}: {show(fresh)}")]


def comparable_children(
    app: CustomResource, kinds: Sequence[str], listed: Mapping[str, Sequence[dict[str, Any]]] | None = None
) -> dict[str, Any]:
    """The children of an object without what tells one object from another.

    `listed` has the namespace's objects by kind, for callers that ask about many objects at once.
    """
    found = {}
    for kind in kinds:
        for each in app.namespace.list(kind) if listed is None else listed[kind]:
            owners = [owner["uid"] for owner in each["metadata"].get("ownerReferences", [])]
            if app.uid in owners or each["metadata"]["name"] == app.name:
                plain = copy.deepcopy(each)
                plain.pop("status", None)
                for part, names in SERVER_SIDE.items():
                    for name in names:
                        plain.get(part, {}).pop(name, None)
                text = json.dumps(plain).replace(app.uid, "UID").replace(app.name, "NAME")
                found[f"{kind}/{each['metadata']['name'].replace(app.name, 'NAME')}"] = json.loads(text)
    return found
