"""From ``apiVersion`` and ``kind`` to a URL: what the server says it serves, asked once per group version."""

import threading
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from converge.runtime.api.connection import Connection
from converge.runtime.api.errors import NotFound, UnknownKind


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind, as the server serves it."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool
    subresources: frozenset[str] = field(default_factory=frozenset)

    def path(self, namespace: str | None, name: str | None = None, subresource: str | None = None) -> str:
        """The path of a collection, an object or a subresource; ``namespace=None`` means all of them."""
        path = f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"
        if self.namespaced and namespace:
            path += f"/namespaces/{quote(namespace, safe='')}"
        path += f"/{self.plural}"
        if name is not None:
            path += f"/{quote(name, safe='')}"
        if subresource:
            path += f"/{subresource}"
        return path


class Discovery:
    """Remembers what the server serves. A kind that is not known is asked for again: CRDs come later."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._known: dict[tuple[str, str], Resource] = {}
        self._by_subresource: dict[tuple[str, str, str], Resource] = {}
        self._lock = threading.Lock()

    def resource(self, api_version: str, kind: str) -> Resource:
        """The resource of a kind; raises `UnknownKind`."""
        found = self._known.get((api_version, kind))
        if found is not None:
            return found
        with self._lock:
            if (api_version, kind) not in self._known:
                self._ask(api_version, kind)
            return self._known[api_version, kind]

    def parent_of(self, kind: str, subresource: str) -> Resource:
        """The core resource with such a subresource: TokenRequest and Eviction are created below one."""
        with self._lock:
            key = ("v1", kind, subresource)
            if key not in self._by_subresource:
                self._read("v1")
            if key not in self._by_subresource:
                raise _unknown("v1", kind, f"the server has no {subresource} subresource that takes it")
            return self._by_subresource[key]

    def forget(self, api_version: str) -> None:
        """Ask again next time: what was known of this group version has turned out to be gone."""
        with self._lock:
            self._known = {key: value for key, value in self._known.items() if key[0] != api_version}

    def _ask(self, api_version: str, kind: str) -> None:
        if not api_version or not kind:
            raise _unknown(api_version, kind, f"an object needs both, got {api_version!r} and {kind!r}")
        try:
            served = self._read(api_version)
        except NotFound:
            answer = f"the server does not serve {api_version}; is the CustomResourceDefinition installed?"
            raise _unknown(api_version, kind, answer) from None
        if (api_version, kind) not in self._known:
            answer = f"the server serves no {kind} in {api_version}, but {', '.join(sorted(served))}"
            raise _unknown(api_version, kind, answer)

    def _read(self, api_version: str) -> set[str]:
        path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        answer: dict[str, Any] = self._connection.request("GET", path, asked=f"discover {api_version}")
        entries = answer.get("resources", [])
        subresources: dict[str, set[str]] = {}
        for entry in entries:
            plural, _, sub = entry["name"].partition("/")
            subresources.setdefault(plural, set()).update({sub} if sub else ())
        by_plural: dict[str, Resource] = {}
        for entry in entries:
            if "/" not in entry["name"]:
                resource = Resource(
                    api_version,
                    entry["kind"],
                    entry["name"],
                    entry["namespaced"],
                    frozenset(subresources[entry["name"]]),
                )
                by_plural[entry["name"]] = self._known[api_version, entry["kind"]] = resource
        for entry in entries:
            plural, _, sub = entry["name"].partition("/")
            if sub and plural in by_plural:
                self._by_subresource.setdefault((api_version, entry["kind"], sub), by_plural[plural])
        return {resource.kind for resource in by_plural.values()}


def _unknown(api_version: str, kind: str, answer: str) -> UnknownKind:
    return UnknownKind(f"find the kind {kind} of {api_version}", answer)
