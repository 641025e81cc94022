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
SERVED_WITHIN = 30.0  # seconds


def read(*paths: Path | str) -> list[dict[str, Any]]:
    """The definitions in these files and folders."""
    found = manifests.of_kind(manifests.read(*paths), KIND)
    if paths and not found:
        raise manifests.ManifestError(f"{', '.join(map(str, paths))}: there is no CustomResourceDefinition in it")
    if old := [each for each in found if each["apiVersion"] != API_VERSION]:
        name = old[0]["metadata"]["name"]
        raise manifests.ManifestError(f"{name}: {old[0]['apiVersion']} is gone since Kubernetes 1.22: {API_VERSION}")
    return found


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
