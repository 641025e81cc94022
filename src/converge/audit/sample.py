"""Objects like the sample: the same spec under other names, side by side in one namespace."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from converge.audit.settings import AuditError
from converge.testing.objects.custom_resource import CustomResource, merged

if TYPE_CHECKING:
    from converge.audit.inputs import Inputs
    from converge.testing.objects.namespace import Namespace

# What `kubectl apply` writes each time. Operators that copy annotations to their children leave this one out.
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
NOT_NAMES = ("image", "repository", "version", "kind", "apiVersion")  # they may be equal to the name by accident


class Sample:
    """Makes custom resources from the sample."""

    def __init__(self, inputs: Inputs, unique: tuple[str, ...] = ()) -> None:
        self.inputs = inputs
        self.kind = inputs.kind
        self.name = str(inputs.main["metadata"]["name"])
        self.unique = unique

    @property
    def spec(self) -> dict[str, Any]:
        return dict(self.inputs.main.get("spec") or {})

    def body(self, name: str, spec: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The sample under a name of its own, with parts of its spec replaced."""
        body = copy.deepcopy({key: value for key, value in self.inputs.main.items() if key != "status"})
        kept = {key: value for key, value in body["metadata"].items() if key in ("labels", "annotations")}
        body["metadata"] = {"name": name, **kept}
        body["spec"] = renamed(merged(body.get("spec") or {}, dict(spec or {})), self.name, name)
        for path in self.unique:
            put(body, path, name)
        return body

    def make(self, namespace: Namespace, name: str = "", spec: Mapping[str, Any] | None = None) -> CustomResource:
        """Create one. `spec` is merged into the sample's."""
        made = namespace.create(self.body(name or namespace.new_name(), spec))
        app = CustomResource(namespace, {**made, "spec": made.get("spec") or {}})
        app.touched = LAST_APPLIED
        return app

    def first(self, namespace: Namespace) -> CustomResource:
        """Create the first one of all: what the server has against the sample is the user's to know."""
        from converge.runtime import ApiError

        try:
            return self.make(namespace)
        except ApiError as error:
            text = " ".join(str(error).split())
            if "webhook" in text:
                raise AuditError(f"A webhook that isn't there: {text}.") from None
            raise AuditError(f"The sample doesn't fit its CRD: {text}.") from None


def renamed(value: Any, old: str, new: str) -> Any:
    """The same with one object's name in place of another's, where a whole value is a name that begins with it."""
    if isinstance(value, dict):
        return {key: each if key in NOT_NAMES else renamed(each, old, new) for key, each in value.items()}
    if isinstance(value, list):
        return [renamed(each, old, new) for each in value]
    if isinstance(value, str) and re.fullmatch(rf"{re.escape(old)}(-[a-z0-9-]+)?", value):
        return new + value[len(old) :]
    return value


def put(obj: dict[str, Any], path: str, value: Any) -> None:
    """Set the field of a dotted path."""
    *parents, last = path.split(".")
    for each in parents:
        obj = obj.setdefault(each, {})
    obj[last] = value
