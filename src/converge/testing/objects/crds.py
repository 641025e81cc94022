"""Custom resources of an operator's author: their definitions, read from files and served by the cluster."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from converge.testing.objects import garbage, kinds, manifests
from converge.testing.waits.waiting import eventually

if TYPE_CHECKING:
    from converge.runtime import Client

KIND = "CustomResourceDefinition"
API_VERSION = "apiextensions.k8s.io/v1"
FIELD_MANAGER = "converge"
NEEDED = ("metadata.name", "spec.group", "spec.names.kind", "spec.names.plural", "spec.versions")
SERVED_WITHIN = 30.0  # seconds


def read(*paths: Path | str) -> list[dict[str, Any]]:
    """The definitions in these files and folders."""
    skipped: list[manifests.ManifestError] = []
    read = manifests.read(*paths, skipped=skipped)
    found = manifests.of_kind(read, KIND)
    if paths and not found:
        if skipped:
            raise skipped[0]
        where = ", ".join(map(str, paths))
        for each in manifests.of_kind(read, "Kustomization"):
            raise manifests.ManifestError(kustomization(where, each))
        raise manifests.ManifestError(
            f"{where}: there is no CustomResourceDefinition in it; give the file that has yours, or their directory"
        )
    for each in found:
        if missing := [path for path in NEEDED if not _has(each, path)]:
            name = each.get("metadata", {}).get("name", "a CustomResourceDefinition")
            raise manifests.ManifestError(f"{name}: it has no `{missing[0]}`")
    if old := [each for each in found if each["apiVersion"] != API_VERSION]:
        name = old[0]["metadata"]["name"]
        raise manifests.ManifestError(f"{name}: {old[0]['apiVersion']} is gone since Kubernetes 1.22: {API_VERSION}")
    return found


def kustomization(where: Path | str, obj: dict[str, Any]) -> str:
    """What to do with a kustomization: it only names the files."""
    return f"{where} is a {obj['kind']}: build it with `kubectl kustomize DIRECTORY > objects.yaml`, and give that file"


def _has(obj: Any, path: str) -> bool:
    for each in path.split("."):
        obj = obj.get(each) if isinstance(obj, dict) else None
    return bool(obj)


def install(client: Client, definitions: Sequence[dict[str, Any]]) -> None:
    """Define these kinds, wait until their objects can be listed, and let tests name them by their kind."""
    from converge.runtime import ApiError

    for definition in definitions:
        try:
            client.apply(without_webhook(definition), field_manager=FIELD_MANAGER, force=True)
        except ApiError as error:
            raise manifests.ManifestError(f"{definition['metadata']['name']}: {error}") from error
    for definition in definitions:
        kind = api_version(definition), definition["spec"]["names"]["kind"]
        assert eventually(lambda: _served(client, *kind), within=SERVED_WITHIN), f"{kind[1]} isn't served"  # noqa: B023
        kinds.register(*kind)
        garbage.is_new(*kind)


def api_version(definition: dict[str, Any]) -> str:
    """The version whose objects are stored: the one to speak of."""
    spec = definition["spec"]
    stored = next((each for each in spec["versions"] if each.get("storage")), spec["versions"][0])
    return f"{spec['group']}/{stored['name']}"


def without_webhook(definition: dict[str, Any]) -> dict[str, Any]:
    """The same without a conversion webhook: nothing would answer it, and every request would fail."""
    made = copy.deepcopy(definition)
    made.pop("status", None)
    if made["spec"].get("conversion", {}).get("strategy") == "Webhook":
        made["spec"]["conversion"] = {"strategy": "None"}
    return made


def _served(client: Client, api_version: str, kind: str) -> bool:
    from converge.runtime import RuntimeProblem

    try:
        client.list(api_version, kind, page_size=1)
    except RuntimeProblem:
        return False
    return True
