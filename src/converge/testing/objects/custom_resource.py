"""A custom resource that a check has created: what its user does to it, and what it says now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from converge.testing.objects.namespace import Namespace


class CustomResource:
    """A WebApp or a Database of one check."""

    def __init__(self, namespace: Namespace, made: dict[str, Any]) -> None:
        self.namespace = namespace
        self.kind: str = made["kind"]
        self.name: str = made["metadata"]["name"]
        self.uid: str = made["metadata"]["uid"]
        #: What its user wishes for, defaults included: not read from the cluster, where an operator may tamper with it.
        self.spec: dict[str, Any] = made.get("spec", {})
        #: The annotation that `poke` sets.
        self.touched = "poked.example/by"

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"

    def now(self) -> dict[str, Any] | None:
        """The object as it is now, or None when it is gone."""
        return self.namespace.get(self.kind, self.name)

    @property
    def status(self) -> dict[str, Any]:
        return dict((self.now() or {}).get("status", {}))

    def condition(self, type: str) -> dict[str, Any] | None:
        """The condition of that type, or None."""
        return next((each for each in self.status.get("conditions", []) if each["type"] == type), None)

    def edit(self, **spec: Any) -> dict[str, Any]:
        """Change fields of the spec, as its user does; None removes a field."""
        edited: dict[str, Any] = self.namespace.patch(self.kind, self.name, {"spec": spec})
        defaults = {field: edited["spec"][field] for field in spec if spec[field] is None and field in edited["spec"]}
        self.spec = merged(self.spec, spec) | defaults
        return edited

    def poke(self) -> dict[str, Any]:
        """Touch an annotation: its operator gets an event, and the desired state is the same."""
        import secrets

        mark = {"metadata": {"annotations": {self.touched: secrets.token_hex(4)}}}
        poked: dict[str, Any] = self.namespace.patch(self.kind, self.name, mark)
        return poked

    def delete(self, propagation: str | None = None) -> None:
        self.namespace.delete(self.kind, self.name, propagation)


def merged(old: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """A JSON merge patch: https://www.rfc-editor.org/rfc/rfc7386."""
    new = dict(old)
    for key, value in patch.items():
        if value is None:
            new.pop(key, None)
        elif isinstance(value, dict):
            new[key] = merged(new.get(key) or {}, value)
        else:
            new[key] = value
    return new
