"""Owner references to a kind that was defined a moment ago.

The garbage collector looks for new kinds every thirty seconds. Until it knows one, deleting an object of that kind
leaves its children behind, which no operator can help.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from converge.testing.waits.waiting import eventually

if TYPE_CHECKING:
    from converge.runtime import Client

KNOWS_WITHIN = 90.0  # seconds: three of its rounds
MISSING_OWNER = "whose-owner-never-was"
_new: set[tuple[str, str]] = set()


def is_new(api_version: str, kind: str) -> None:
    """The garbage collector may not know this kind yet."""
    _new.add((api_version, kind))


def wait_until_collected(client: Client, api_version: str, kind: str, namespace: str) -> None:
    """Wait until the children of a new kind are collected: until a child whose owner never was is gone."""
    from converge.runtime import NotFound

    if (api_version, kind) not in _new:
        return
    owner = {"apiVersion": api_version, "kind": kind, "name": MISSING_OWNER, "uid": str(uuid.uuid4())}
    metadata = {"name": f"{MISSING_OWNER}-{kind.lower()}", "namespace": namespace, "ownerReferences": [owner]}
    client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})

    def gone() -> bool:
        try:
            client.get("v1", "ConfigMap", metadata["name"], namespace)  # type: ignore[arg-type]
        except NotFound:
            return True
        return False

    assert eventually(gone, within=KNOWS_WITHIN), f"the garbage collector didn't learn of {kind} in {KNOWS_WITHIN:g} s"
    _new.discard((api_version, kind))
