"""What the server had from one moment to another: every version of an object, also those that nobody looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from converge.grader.kinds import typed

if TYPE_CHECKING:
    from converge.grader.namespace import Namespace


class History:
    """Every version of the WebApps and Deployments of a namespace from this moment on, as the server had them."""

    def __init__(self, namespace: Namespace) -> None:
        self.namespace = namespace
        there = {kind: namespace.client.list(*typed(kind), str(namespace)) for kind in ("Deployment", "WebApp")}
        self.first = {(kind, each["metadata"]["name"]): each for kind, found in there.items() for each in found}
        self.mark = there["Deployment"].resource_version  # the earlier of the two: what came in between comes twice

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
