"""The words in which a check says which requests or events it means.

    writes("Deployment", name="web")      every create, update, patch, apply or delete of it
    reads("deployments")                  gets and lists
    watches("webapps")                    watch requests
    requests(verb="list")                 anything at all
    events("webapps", type="DELETED")     events within watches

A kind (``Deployment``) and its plural (``deployments``) mean the same.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict, Unpack

from converge.recorder.entries import RecordedEvent, RecordedRequest
from converge.recorder.routes import plural


@dataclass(frozen=True)
class RequestMatch:
    """Says yes or no to a request. What is None does not matter."""

    family: str
    kind: str | None = None
    name: str | None = None
    namespace: str | None = None
    subresource: str | None = None
    verb: str | None = None
    besides: tuple[str, ...] = ()
    where: Callable[[RecordedRequest], bool] | None = None

    def __call__(self, request: RecordedRequest) -> bool:
        return (
            self._in_family(request)
            and (self.kind is None or request.resource == plural(self.kind))
            and (self.name is None or request.name == self.name)
            and (self.namespace is None or request.namespace == self.namespace)
            and (self.subresource is None or request.subresource == self.subresource)
            and (self.verb is None or request.verb == self.verb)
            and not any(request.resource == plural(kind) for kind in self.besides)
            and (self.where is None or self.where(request))
        )

    def _in_family(self, request: RecordedRequest) -> bool:
        match self.family:
            case "write":
                return request.is_write
            case "read":
                return request.is_read
            case "watch":
                return request.is_watch
            case _:
                return True

    def phrase(self, which: str = "") -> str:
        """In words: ``write 2 of deployments/web``."""
        return _phrase(self.verb or self.family, which, self.kind, self.name, self.subresource)


@dataclass(frozen=True)
class EventMatch:
    """Says yes or no to an event of a watch. What is None does not matter."""

    kind: str | None = None
    name: str | None = None
    namespace: str | None = None
    type: str | None = None

    def __call__(self, event: RecordedEvent) -> bool:
        return (
            event.type not in ("BOOKMARK", "ERROR")
            and (self.kind is None or event.resource == plural(self.kind))
            and (self.name is None or event.name == self.name)
            and (self.namespace is None or event.namespace == self.namespace)
            and (self.type is None or event.type == self.type)
        )

    def phrase(self, which: str = "") -> str:
        """In words: ``DELETED event 1 of deployments/web``."""
        return _phrase(f"{self.type} event" if self.type else "event", which, self.kind, self.name, None)


class Narrowed(TypedDict, total=False):
    """What else a request must have. ``subresource=""`` means the object itself; ``besides`` leaves kinds out."""

    name: str | None
    namespace: str | None
    subresource: str | None
    verb: str | None
    besides: tuple[str, ...]
    where: Callable[[RecordedRequest], bool] | None


def requests(kind: str | None = None, **narrowed: Unpack[Narrowed]) -> RequestMatch:
    """Any request, discovery too."""
    return RequestMatch("request", kind, **narrowed)


def writes(kind: str | None = None, **narrowed: Unpack[Narrowed]) -> RequestMatch:
    """Requests that ask the server to store something."""
    return RequestMatch("write", kind, **narrowed)


def reads(kind: str | None = None, **narrowed: Unpack[Narrowed]) -> RequestMatch:
    """Gets and lists of objects."""
    return RequestMatch("read", kind, **narrowed)


def watches(kind: str | None = None, *, name: str | None = None, namespace: str | None = None) -> RequestMatch:
    """Watch requests."""
    return RequestMatch("watch", kind, name, namespace)


def events(
    kind: str | None = None, *, name: str | None = None, namespace: str | None = None, type: str | None = None
) -> EventMatch:
    """Events of the open watches, bookmarks left out; ``type`` is ADDED, MODIFIED or DELETED."""
    return EventMatch(kind, name, namespace, type)


def _phrase(what: str, which: str, kind: str | None, name: str | None, subresource: str | None) -> str:
    of = "/".join(part for part in (plural(kind) if kind else None, name, subresource) if part)
    return " ".join(part for part in (what, which, f"of {of}" if of else "") if part)
