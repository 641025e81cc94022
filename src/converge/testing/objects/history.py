"""Every version of an object between two points in time, including versions that nobody read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from converge.testing.objects.kinds import typed

if TYPE_CHECKING:
    from converge.testing.objects.namespace import Namespace


class History:
    """Every version of the objects of some kinds in a namespace from this moment on, as the server had them."""

    def __init__(self, namespace: Namespace, *kinds: str) -> None:
        self.namespace = namespace
        there = {kind: namespace.client.list(*typed(kind), str(namespace)) for kind in kinds}
        self.first = {(kind, each["metadata"]["name"]): each for kind, found in there.items() for each in found}
        self.mark = there[kinds[0]].resource_version  # of the first list: what came in between comes twice

    def versions(self, kind: str, name: str) -> list[dict[str, Any]]:
        """The versions of one object, oldest first."""
        client, found = self.namespace.client, [self.first[kind, name]]
        newest = version(client.get(*typed(kind), name, str(self.namespace)))
        if newest > int(self.mark):
            for event in client.watch(*typed(kind), str(self.namespace), resource_version=self.mark, timeout=5):
                if event.object["metadata"]["name"] == name:
                    found.append(event.object)
                if version(event.object) >= newest:
                    break
        return found


def version(obj: dict[str, Any]) -> int:
    """The version of an object, as the number that it is."""
    return int(obj["metadata"]["resourceVersion"])
