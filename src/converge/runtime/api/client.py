"""The client: Kubernetes objects as plain dicts, any kind by its ``apiVersion`` and ``kind``.

What it leaves to others: sending (`connection`), URLs (`discovery`), reading a watch (`watch`), and caching
(`informer`): every call here goes to the server.
"""

import copy
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, cast

from converge.runtime.api.connection import Connection
from converge.runtime.api.discovery import Discovery, Resource
from converge.runtime.api.errors import Gone, NotFound, UnknownKind
from converge.runtime.api.watch import Watch

#: A Kubernetes object, as JSON has it.
Object = dict[str, Any]

_PATCH_TYPES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
_APPLY = "application/apply-patch+yaml"  # JSON is YAML


class ObjectList(list[Object]):
    """The objects of a list, and the version of the collection at which they were read."""

    def __init__(self, items: Iterable[Object] = (), resource_version: str = "") -> None:
        super().__init__(items)
        self.resource_version = resource_version


class Client:
    """Talks to one API server. Safe to use from many threads.

    Args:
        kubeconfig: a kubeconfig file; without one: ``$KUBECONFIG``, the Pod's ServiceAccount,
            ``~/.kube/config``.
        context: a context of the kubeconfig other than its current one.
        namespace: where namespaced objects are looked for when a call names no namespace; by default
            the namespace of the context.
        timeout: seconds to wait for an answer before `Timeout` is raised.
        patience: how many seconds to keep asking a busy server that says when to ask again.
    """

    def __init__(
        self,
        kubeconfig: str | os.PathLike[str] | None = None,
        context: str | None = None,
        namespace: str | None = None,
        *,
        timeout: float = 30.0,
        patience: float = 60.0,
        user_agent: str = "converge-runtime",
    ) -> None:
        self.connection = Connection(kubeconfig, context, timeout=timeout, patience=patience, user_agent=user_agent)
        self.namespace = namespace or self.connection.namespace
        self.discovery = Discovery(self.connection)
        #: Called with each object that a write returned; a manager shows it to its caches.
        self.on_write: Callable[[Object], None] | None = None

    def get(
        self, api_version: str, kind: str, name: str, namespace: str | None = None, subresource: str | None = None
    ) -> Object:
        """Read one object; raises `NotFound`."""
        resource = self.discovery.resource(api_version, kind)
        return self._call("GET", resource, "get", name, namespace, subresource)

    def list(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        page_size: int = 500,
    ) -> ObjectList:
        """Read all objects of a kind, page by page; ``namespace=None`` means all namespaces."""
        resource = self.discovery.resource(api_version, kind)
        query: dict[str, Any] = _selectors(label_selector, field_selector)
        if page_size:
            query["limit"] = page_size
        found = ObjectList()
        while True:
            try:
                page = self._call("GET", resource, "list", None, namespace, query=query, everywhere=True)
            except Gone:
                if "continue" not in query:
                    raise
                # The pages read so far are of a version that the server no longer has. Begin again, in
                # one piece, so that it cannot happen again.
                found.clear()
                query = _selectors(label_selector, field_selector)
                continue
            for item in page.get("items") or ():
                # Items of a list do not say what they are; everywhere else objects do.
                item.setdefault("apiVersion", api_version)
                item.setdefault("kind", kind)
                found.append(item)
            found.resource_version = page["metadata"].get("resourceVersion", "")
            query["continue"] = page["metadata"].get("continue")
            if not query["continue"]:
                return found

    def watch(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        resource_version: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        bookmarks: bool = False,
        timeout: float | None = None,
        idle_timeout: float | None = None,
    ) -> Watch:
        """Follow changes from ``resource_version`` on; without one, what exists comes first as ``ADDED``.

        Args:
            bookmarks: ask for ``BOOKMARK`` events, which carry a newer ``resourceVersion`` and no change.
            timeout: seconds after which the server ends the watch.
            idle_timeout: give up after this many seconds of silence, in case the connection died
                unnoticed. By default only TCP keep-alive notices that.
        """
        resource = self.discovery.resource(api_version, kind)
        query = {"watch": "true", **_selectors(label_selector, field_selector)}
        if resource_version is not None:
            query["resourceVersion"] = resource_version
        if bookmarks:
            query["allowWatchBookmarks"] = "true"
        if timeout is not None:
            query["timeoutSeconds"] = str(max(1, round(timeout)))
        asked = _asked("watch", resource.kind, namespace, None)
        response = self.connection.stream(resource.path(namespace), query, asked=asked, read_timeout=idle_timeout)
        return Watch(response, asked)

    def create(
        self,
        obj: Mapping[str, Any],
        subresource: str | None = None,
        name: str | None = None,
        *,
        field_manager: str | None = None,
    ) -> Object:
        """Create an object; raises `AlreadyExists`.

        With ``subresource`` and ``name`` the object is posted to a subresource of an existing one: an
        ``Eviction`` of a Pod, a ``TokenRequest`` of a ServiceAccount.
        """
        api_version, kind, own_name, namespace = _identity(obj)
        if subresource:
            resource = self.discovery.parent_of(kind, subresource)
            name = name or own_name
        else:
            resource = self.discovery.resource(api_version, kind)
        query = {"fieldManager": field_manager} if field_manager else None
        return self._call(
            "POST", resource, "create", name, namespace, subresource, query=query, body=obj, called=own_name
        )

    def replace(
        self, obj: Mapping[str, Any], subresource: str | None = None, *, field_manager: str | None = None
    ) -> Object:
        """Write a whole object; raises `Conflict` when its ``resourceVersion`` is not the newest."""
        api_version, kind, name, namespace = _identity(obj)
        resource = self.discovery.resource(api_version, kind)
        query = {"fieldManager": field_manager} if field_manager else None
        return self._call("PUT", resource, "replace", name, namespace, subresource, query=query, body=obj)

    def patch(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str | None,
        body: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        type: Literal["merge", "json", "strategic"] = "merge",
        subresource: str | None = None,
        *,
        field_manager: str | None = None,
    ) -> Object:
        """Change part of an object: a merge patch, a JSON patch (a list) or a strategic merge patch.

        Custom resources don't support strategic merge. A merge patch with a ``metadata.resourceVersion`` is
        refused with `Conflict` if that isn't the newest.
        """
        if type not in _PATCH_TYPES:
            raise ValueError(f"a patch is of type {', '.join(_PATCH_TYPES)}, not {type!r}")
        resource = self.discovery.resource(api_version, kind)
        query = {"fieldManager": field_manager} if field_manager else None
        return self._call(
            "PATCH", resource, "patch", name, namespace, subresource, query, body, content_type=_PATCH_TYPES[type]
        )

    def apply(
        self, obj: Mapping[str, Any], field_manager: str, force: bool = False, subresource: str | None = None
    ) -> Object:
        """Server-side apply: create the object or set the given fields, and own them.

        Raises `Conflict` when another manager owns one of the fields, unless ``force`` takes it over.
        """
        api_version, kind, name, namespace = _identity(obj)
        resource = self.discovery.resource(api_version, kind)
        query = {"fieldManager": field_manager, "force": "true" if force else "false"}
        return self._call(
            "PATCH",
            resource,
            "apply",
            name,
            namespace,
            subresource,
            query,
            obj,
            content_type=_APPLY,
            repeatable=True,
        )

    def delete(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str | None = None,
        propagation: Literal["Foreground", "Background", "Orphan"] | None = None,
        resource_version: str | None = None,
        uid: str | None = None,
        grace_period: int | None = None,
    ) -> Object:
        """Delete an object; raises `NotFound`, and `Conflict` when a precondition does not hold.

        Args:
            propagation: what becomes of the objects that it owns.
            resource_version: delete only if this is still its version.
            uid: delete only if it is still this very object, not a later one of the same name.
            grace_period: seconds before it is killed, for Pods.
        """
        resource = self.discovery.resource(api_version, kind)
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if propagation is not None:
            options["propagationPolicy"] = propagation
        if grace_period is not None:
            options["gracePeriodSeconds"] = grace_period
        preconditions = {"resourceVersion": resource_version, "uid": uid}
        if present := {key: value for key, value in preconditions.items() if value is not None}:
            options["preconditions"] = present
        return self._call("DELETE", resource, "delete", name, namespace, body=options)

    def with_timeout(self, seconds: float) -> Self:
        """The same client, for requests that need an answer within that many seconds."""
        other = copy.copy(self)
        other.connection = self.connection.with_timeout(seconds)
        return other

    def close(self) -> None:
        """Close idle connections; requests that wait for a busy server stop waiting."""
        self.connection.close()

    def _call(
        self,
        method: str,
        resource: Resource,
        verb: str,
        name: str | None,
        namespace: str | None,
        subresource: str | None = None,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        *,
        called: str | None = None,
        everywhere: bool = False,
        content_type: str = "application/json",
        repeatable: bool | None = None,
    ) -> Object:
        if namespace is None and resource.namespaced and not everywhere:
            namespace = self.namespace
        path = resource.path(namespace, name, subresource)
        asked = _asked(verb, resource.kind, namespace if resource.namespaced else None, name or called, subresource)
        try:
            answer = self.connection.request(
                method, path, query, asked=asked, body=body, content_type=content_type, repeatable=repeatable
            )
        except NotFound as error:
            if not error.reason:  # not "no such object" but "no such path": the CRD has been removed
                self.discovery.forget(resource.api_version)
                answer = f"the server no longer serves {resource.kind} in {resource.api_version}"
                raise UnknownKind(asked, answer, status=404) from None
            raise
        if self.on_write is not None and method in ("POST", "PUT", "PATCH") and answer.get("kind") == resource.kind:
            self.on_write(answer)
        return cast(Object, answer)


def _identity(obj: Mapping[str, Any]) -> tuple[str, str, str | None, str | None]:
    metadata = obj.get("metadata") or {}
    return obj.get("apiVersion") or "", obj.get("kind") or "", metadata.get("name"), metadata.get("namespace")


def _selectors(label_selector: str | None, field_selector: str | None) -> dict[str, Any]:
    given = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return {key: value for key, value in given.items() if value is not None}


def _asked(verb: str, kind: str, namespace: str | None, name: str | None, subresource: str | None = None) -> str:
    """The beginning of an error's message: what was asked, of which object."""
    kind = f"{kind}/{subresource}" if subresource else kind
    if name is None:
        return f"{verb} {kind} in {namespace}" if namespace else f"{verb} {kind}"
    return f"{verb} {kind} {namespace}/{name}" if namespace else f"{verb} {kind} {name}"
