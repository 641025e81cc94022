"""The namespace of one test: the truth, read past the recorder with the admin's rights.

app = namespace.custom("WebApp", "shop", {"replicas": 3})    # a user creates a custom resource
app.edit(replicas=2)                                         # and changes it
namespace.get("Deployment", app.name)                        # what is there now, or None
"""

from __future__ import annotations

import builtins
import copy
import random
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from converge.testing.objects import garbage, manifests
from converge.testing.objects.custom_resource import CustomResource
from converge.testing.objects.kinds import custom_kinds, remember, typed

if TYPE_CHECKING:
    from converge.runtime import Client

WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "jetty", "knoll", "linen")


class Namespace:
    """One test's namespace. `str(namespace)` is its name."""

    #: Images that Pods can run here; a walk over a CRD's schema draws image fields from them.
    runnable_images: Sequence[str] = ()
    #: Where relative paths of manifests start.
    files = Path()

    def __init__(self, client: Client, name: str, field_manager: str = "user") -> None:
        self.client = client
        self.name = name
        self.field_manager = field_manager

    def __str__(self) -> str:
        return self.name

    def second_writer(self) -> Self:
        """The same namespace, used by another writer with its own field manager."""
        other = copy.copy(self)
        other.field_manager = "second-writer"
        return other

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

    def owned(self, kind: str, by: CustomResource) -> builtins.list[dict[str, Any]]:
        """The objects of a kind whose controller is that custom resource."""
        return [each for each in self.list(kind) if controller_uid(each) == by.uid]

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
        """Delete an object. It's fine if the object is already gone."""
        from converge.runtime import NotFound

        garbage.wait_until_collected(self.client, *typed(kind), self.name)
        try:
            self.client.delete(*typed(kind), name, self.name, propagation=propagation)
        except NotFound:
            pass

    def custom(self, kind: str, name: str, spec: Mapping[str, Any]) -> CustomResource:
        """Create a custom resource; `field=None` leaves a field out."""
        said = {field: value for field, value in spec.items() if value is not None}
        made = self.create({"kind": kind, "metadata": {"name": name}, "spec": said})
        return CustomResource(self, made)

    def apply(self, *paths: Path | str) -> CustomResource:
        """Apply all objects of these files here, as `kubectl apply -f` does; returns the custom resource among them.

        If there's no custom resource, it returns the first object. Apply a changed file again to apply its changes.
        """
        documents = self._read(*paths)
        made = [CustomResource(self, self._apply(each)) for each in documents]
        return next((each for each in made if each.kind in custom_kinds()), made[0])

    def maker(self, path: Path | str) -> Callable[..., CustomResource]:
        """For attacks: a function that creates the custom resource of a file, each time under a new name.

        `make()`, `make("shop")`, `make(replicas=2)`: a field of the spec that is named replaces the file's.
        """
        documents = self._read(path)
        [*first, sample] = sorted(documents, key=lambda each: each["kind"] in custom_kinds())

        def make(name: str | None = None, **spec: Any) -> CustomResource:
            for each in first:  # what the custom resource refers to
                self._apply(each)
            metadata = {**sample["metadata"], "namespace": self.name, "name": name or self.new_name()}
            said = {**sample.get("spec", {}), **spec}
            wanted = {**sample, "metadata": metadata, "spec": {k: v for k, v in said.items() if v is not None}}
            return CustomResource(self, self.client.create(wanted, field_manager=self.field_manager))

        remember(sample["apiVersion"], sample["kind"])
        return make

    def _read(self, *paths: Path | str) -> builtins.list[dict[str, Any]]:
        documents = manifests.read(*(self.files / path for path in paths))
        if not documents:
            raise manifests.ManifestError(f"{', '.join(map(str, paths))}: there is no object in it")
        return documents

    def _apply(self, obj: Mapping[str, Any]) -> dict[str, Any]:
        remember(obj["apiVersion"], obj["kind"])
        metadata = {**obj["metadata"], "namespace": self.name}
        return self.client.apply({**obj, "metadata": metadata}, field_manager=self.field_manager, force=True)

    def random_fields(self) -> Mapping[str, Callable[[], Any]]:
        """For each field of a spec that an attack may edit, how to draw a value for it."""
        return {}

    def new_name(self) -> str:
        """A name that was never used before."""
        return f"{random.choice(WORDS)}-{secrets.token_hex(3)}"


def controller_uid(obj: Mapping[str, Any]) -> str | None:
    """The uid of the object's controller."""
    references = obj["metadata"].get("ownerReferences", [])
    return next((reference["uid"] for reference in references if reference.get("controller")), None)
