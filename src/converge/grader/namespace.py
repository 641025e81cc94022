"""The namespace of one check, as the grader sees it: the truth, read past the recorder with the admin's rights.

    app = namespace.webapp(replicas=3)               # a user creates a WebApp; the rest of its spec is random
    app.edit(image=namespace.images.web[1])          # and changes it
    namespace.get("Deployment", app.name)            # what is there now, or None

Names, images, ports and counts differ in every run: what a submission hard-codes is never right.
"""

from __future__ import annotations

import builtins
import random
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from converge.grader.kinds import typed
from converge.grader.objects import Custom

if TYPE_CHECKING:
    from converge.cluster import Cluster, Images
    from converge.runtime import Client

WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "jetty", "knoll", "linen")


class Namespace:
    """One check's namespace. `str(namespace)` is its name."""

    def __init__(self, client: Client, cluster: Cluster, name: str, field_manager: str = "somebody") -> None:
        self.client = client
        self.cluster = cluster
        self.name = name
        self.field_manager = field_manager

    def __str__(self) -> str:
        return self.name

    def somebody_else(self) -> Namespace:
        """The same namespace in the hands of a second writer."""
        return Namespace(self.client, self.cluster, self.name, field_manager="second-writer")

    @property
    def images(self) -> Images:
        """Images that run on this cluster: `web` (two), `bad` (never ready), `postgres` (two versions)."""
        return self.cluster.images

    def get(self, kind: str, name: str) -> dict[str, Any] | None:
        """The object as it is now, or None."""
        from converge.runtime import NotFound

        try:
            return self.client.get(*typed(kind), name, self.name)
        except NotFound:
            return None

    def list(self, kind: str, labels: str | None = None) -> builtins.list[dict[str, Any]]:
        """All objects of a kind in this namespace; `labels` is a label selector."""
        return builtins.list(self.client.list(*typed(kind), self.name, label_selector=labels))

    def owned(self, kind: str, by: Custom) -> builtins.list[dict[str, Any]]:
        """The objects of a kind whose controller is that custom resource."""
        return [each for each in self.list(kind) if controller_of(each) == by.uid]

    def create(self, obj: Mapping[str, Any]) -> dict[str, Any]:
        """Create an object here. apiVersion and namespace are filled in."""
        api_version, kind = typed(obj["kind"])
        metadata = {"namespace": self.name, **obj.get("metadata", {})}
        made = {"apiVersion": api_version, **obj, "kind": kind, "metadata": metadata}
        return self.client.create(made, field_manager=self.field_manager)

    def patch(self, kind: str, name: str, body: Any, *, type: Any = "merge", subresource: str | None = None) -> Any:
        """Change an object as some user would; a merge patch unless `type` says `json` or `strategic`."""
        return self.client.patch(
            *typed(kind), name, self.name, body, type=type, subresource=subresource, field_manager=self.field_manager
        )

    def delete(self, kind: str, name: str, propagation: Any = None) -> None:
        """Delete an object; one that is gone already is fine."""
        from converge.runtime import NotFound

        try:
            self.client.delete(*typed(kind), name, self.name, propagation=propagation)
        except NotFound:
            pass

    def webapp(self, name: str | None = None, **spec: Any) -> Custom:
        """Create a WebApp. What `spec` does not say is random; `field=None` leaves a field out."""
        return self.custom("WebApp", name or self.new_name(), {**self.random_webapp(), **spec})

    def database(self, name: str | None = None, **spec: Any) -> Custom:
        """Create a Database. What `spec` does not say is random; `field=None` leaves a field out."""
        return self.custom("Database", name or self.new_name(), {**self.random_database(), **spec})

    def custom(self, kind: str, name: str, spec: Mapping[str, Any]) -> Custom:
        said = {field: value for field, value in spec.items() if value is not None}
        made = self.create({"kind": kind, "metadata": {"name": name}, "spec": said})
        return Custom(self, made)

    def new_name(self) -> str:
        """A name that was never used before."""
        return f"{random.choice(WORDS)}-{secrets.token_hex(3)}"

    def random_webapp(self) -> dict[str, Any]:
        image = random.choice(self.images.web)
        return {"image": image, "replicas": random.randint(2, 4), "port": random.randint(1024, 9999)}

    def random_database(self) -> dict[str, Any]:
        version = self.images.postgres[0].rpartition(":")[2]
        return {"version": version, "replicas": random.randint(1, 3), "storage": {"size": f"{random.randint(1, 9)}Gi"}}


def controller_of(obj: Mapping[str, Any]) -> str | None:
    """The uid of the object's controller."""
    references = obj["metadata"].get("ownerReferences", [])
    return next((reference["uid"] for reference in references if reference.get("controller")), None)
