"""Edits of children that nobody asked for: of each kind the fields that people do change by hand."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from converge.testing.attacks.compare import SERVER_SIDE

WORKLOADS = ("Deployment", "StatefulSet", "ReplicaSet")


@dataclass(frozen=True)
class Drift:
    """A strategic patch of one field."""

    field: str
    patch: dict[str, Any]


def of(child: Mapping[str, Any] | None) -> list[Drift]:
    """What might be done to a child."""
    return list(_of(child)) if child else []


def _of(child: Mapping[str, Any]) -> Iterator[Drift]:
    kind, spec = child["kind"], child.get("spec") or {}
    if kind in WORKLOADS:
        yield Drift("spec.replicas", {"spec": {"replicas": spec.get("replicas", 1) + 1}})
        containers = spec.get("template", {}).get("spec", {}).get("containers", [])
        if containers:
            other = {"name": containers[0]["name"], "image": f"{containers[0]['image'].partition('@')[0]}-drift"}
            yield Drift("spec.template.spec.containers[0].image", _in_template({"containers": [other]}))
    elif kind == "Service" and spec.get("selector"):
        key = next(iter(spec["selector"]))
        yield Drift(f"spec.selector.{key}", {"spec": {"selector": {key: "drift"}}})
    elif kind in ("ConfigMap", "Secret") and child.get("data"):
        key = next(iter(child["data"]))
        value = base64.b64encode(b"drift").decode() if kind == "Secret" else "drift"
        yield Drift(f"data.{key}", {"data": {key: value}})


def _in_template(spec: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"template": {"spec": spec}}}


def stranger(example: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    """An object like a child, under the name that the child of another object will get, and with a field of its own."""
    made: dict[str, Any] = json.loads(json.dumps(example).replace(old, new))
    made.pop("status", None)
    metadata = made["metadata"]
    made["metadata"] = {"name": metadata["name"], **({"labels": metadata["labels"]} if "labels" in metadata else {})}
    for field in SERVER_SIDE["spec"]:
        made.get("spec", {}).pop(field, None)
    if made["kind"] == "Job":  # the server ties it to a Job of that uid, and makes these itself
        made["spec"].pop("selector", None)
        labels = made["spec"]["template"]["metadata"].get("labels", {})
        for label in [each for each in labels if each.endswith(("controller-uid", "job-name"))]:
            del labels[label]
    for drift in of(made)[:1]:
        made = _merged(made, drift.patch)
    return made


def _merged(obj: Any, patch: Mapping[str, Any]) -> Any:
    made = copy.deepcopy(obj)
    for key, value in patch.items():
        made[key] = _merged(made.get(key, {}), value) if isinstance(value, dict) else value
    return made
