"""Every path of spec changes has to end where a fresh start with the last spec ends."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from converge.grader.expect import show
from converge.grader.objects import Custom
from converge.grader.operator import Operator
from converge.grader.verdict import Failure

HINT = "What an old spec asked for and the new one does not has to go: labels, containers, fields, objects."

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


def path_independence(
    operator: Operator,
    *,
    make: Callable[..., Custom],
    fields: Sequence[str],
    children: Sequence[str],
    steps: int = 6,
    hint: str = "",
) -> None:
    """Change random fields of a spec `steps` times, some while the operator is still busy; compare with a fresh object.

    `fields` are the fields of the spec that this lab knows, `children` the kinds to compare.
    """
    if not operator.running:
        operator.start()
    walked = make()
    operator.settle()
    walk = []
    for _ in range(steps):
        change = random_change(walked, fields)
        walk.append(change)
        walked.edit(**change)
        if random.random() < 0.4:
            operator.settle()
    fresh = make(**walked.spec)
    operator.settle()
    different = differences(essence(walked, children), essence(fresh, children))
    if different:
        raise Failure(
            when=f"the spec of {walked} was changed {steps} times:\n" + "\n".join(json.dumps(step) for step in walk),
            expected="the same as for a new object with the last spec:\n" + "\n".join(new for _, new in different[:6]),
            got="\n".join(old for old, _ in different[:6]),
            hint=hint or HINT,
        )


def differences(walked: Any, fresh: Any, path: str = "") -> list[tuple[str, str]]:
    """Where two JSON values differ, as lines `path: value` of each."""
    if isinstance(walked, dict) and isinstance(fresh, dict):
        keys = sorted(walked.keys() | fresh.keys())
        return [
            found for key in keys for found in differences(walked.get(key), fresh.get(key), f"{path}.{key}".lstrip("."))
        ]
    if isinstance(walked, list) and isinstance(fresh, list) and len(walked) == len(fresh):
        return [
            found
            for place, (old, new) in enumerate(zip(walked, fresh, strict=True))
            for found in differences(old, new, f"{path}[{place}]")
        ]
    return [] if walked == fresh else [(f"{path}: {show(walked)}", f"{path}: {show(fresh)}")]


def random_change(app: Custom, fields: Sequence[str]) -> dict[str, Any]:
    """One or two fields with new values that the schema of the CRD allows."""
    images = app.namespace.images
    values: dict[str, Callable[[], Any]] = {
        "image": lambda: random.choice(images.web),
        "replicas": lambda: random.randint(0, 4),
        "port": lambda: random.randint(1024, 9999),
        "labels": lambda: {key: random.choice(("a", "b", None)) for key in random.sample(("tier", "team", "zone"), 2)},
        "sidecar": lambda: random.choice((*images.web, None)),
        "autoscaled": lambda: random.choice((True, False)),
        "version": lambda: random.choice(images.postgres).rpartition(":")[2],
        "parameters": lambda: {key: random.choice(("1", "2", None)) for key in ("max_connections", "work_mem")},
        "deletionPolicy": lambda: random.choice(("Retain", "Delete")),
    }
    return {field: values[field]() for field in random.sample(list(fields), min(2, len(fields)))}


def essence(app: Custom, kinds: Sequence[str]) -> dict[str, Any]:
    """The children of an object without what tells one object from another."""
    found = {}
    for kind in kinds:
        for each in app.namespace.list(kind):
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
