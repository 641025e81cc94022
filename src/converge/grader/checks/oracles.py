"""What is wrong with the children of an object? Said in words, `""` when all is as its spec says.

A lab that knows only some fields, or makes only some of the children, is asked about those alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from converge.grader.checks.webapps import CHILDREN
from converge.testing.objects.custom_resource import CustomResource

WEBAPP_FIELDS = ("image", "replicas", "port", "labels", "sidecar")


def wrong_webapp(app: CustomResource, fields: Sequence[str] = WEBAPP_FIELDS, children: Sequence[str] = CHILDREN) -> str:
    """What is not as a WebApp's spec says."""
    found = {kind: app.namespace.get(kind, app.name) for kind in children}
    if missing := [kind for kind, child in found.items() if child is None]:
        return f"there is no {' and no '.join(missing)} {app.name}"
    seen: dict[str, Any] = {}
    wanted: dict[str, Any] = {}
    if deployment := found.get("Deployment"):
        containers = {each["name"]: each for each in deployment["spec"]["template"]["spec"]["containers"]}
        web, logger = containers.get("web", {}), containers.get("logger", {})
        seen |= {
            "image": web.get("image"),
            "replicas": deployment["spec"]["replicas"],
            "port": [port["containerPort"] for port in web.get("ports", [])],
            "sidecar": logger.get("image"),
        }
        wanted |= {**dict.fromkeys(seen), **app.spec, "port": [app.spec["port"]]}
    if service := found.get("Service"):
        seen["port of the Service"] = [port["port"] for port in service["spec"].get("ports", [])]
        wanted["port of the Service"] = [app.spec["port"]]
    labels = app.spec.get("labels", {})
    for kind, child in found.items():
        there = (child or {}).get("metadata", {}).get("labels", {})
        seen[f"labels of the {kind}"] = {key: there.get(key) for key in labels}
        wanted[f"labels of the {kind}"] = labels
    asked = [what for what in seen if what.partition(" of ")[0] in fields]
    return "\n".join(f"{what}: {seen[what]!r}, not {wanted[what]!r}" for what in asked if seen[what] != wanted[what])


def wrong_database(
    app: CustomResource, fields: Sequence[str] = ("replicas", "version"), children: Sequence[str] = ()
) -> str:
    """What is not as a Database's spec says: its StatefulSet; the other children are only counted."""
    owned = {kind: app.namespace.owned(kind, app) for kind in children or ("StatefulSet", "Service", "Secret")}
    if missing := [kind for kind, found in owned.items() if not found]:
        return f"there is no {' and no '.join(missing)} of {app}"
    (stateful, *_) = owned.get("StatefulSet", [{}])
    spec = stateful.get("spec", {})
    images = [each["image"] for each in spec.get("template", {}).get("spec", {}).get("containers", [])]
    wrong = []
    if "replicas" in fields and spec.get("replicas") != app.spec["replicas"]:
        wrong.append(f"replicas: {spec.get('replicas')}, not {app.spec['replicas']}")
    if "version" in fields and not any(image.endswith(f":{app.spec['version']}") for image in images):
        wrong.append(f"images: {images}, not version {app.spec['version']}")
    return "\n".join(wrong)
