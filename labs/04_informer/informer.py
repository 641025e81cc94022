"""Lab 04: a cache that fills itself: list once, then watch from there.

Lesson:  docs/lessons/04_informer.md
Check:   make check LAB=04
Hint:    make hint LAB=04

``run`` is the informer's own thread and the only writer of ``objects``. Everyone else reads, and learns *which*
objects to look at, never what happened to them. A watch ends when its connection does, and raises ``Gone``, an
``ApiError``, when the version that it started from is too old.
"""

import threading
from collections.abc import Callable

from converge.runtime import Client, Object, Request, Watch


def itself(obj: Object) -> list[Request]:
    """The keys to look at when ``obj`` changes: its own."""
    return [Request(obj["metadata"]["namespace"], obj["metadata"]["name"])]


class Informer:
    """Follows the objects of one kind in one namespace."""

    def __init__(self, client: Client, api_version: str, kind: str, namespace: str) -> None:
        self.client = client
        self.what = (api_version, kind, namespace)
        self.objects: dict[Request, Object] = {}
        self.handlers: list[tuple[Callable[[Request], None], Callable[[Object], list[Request]]]] = []
        self.synced = threading.Event()
        self.stopping = threading.Event()
        self.watch: Watch | None = None  # the open one, so that ``stop`` can close it

    def add_handler(self, handler: Callable[[Request], None], keys: Callable[[Object], list[Request]] = itself) -> None:
        """Before ``start``: call ``handler`` with each of ``keys(obj)`` when an object is new, changed or gone."""
        self.handlers.append((handler, keys))

    def has_synced(self) -> bool:
        """Whether the first list is in the cache. Before that, "not there" means "not read yet"."""
        return self.synced.is_set()

    def start(self) -> None:
        """Call ``run`` on its own thread."""
        threading.Thread(target=self.run, daemon=True).start()

    def stop(self) -> None:
        """End ``run``, even if it waits for an event or has no watch open yet."""
        self.stopping.set()
        if self.watch:
            self.watch.close()

    def get(self, request: Request) -> Object | None:
        """The object as the cache has it, or ``None``. Callers may change what they get, but not the cache."""
        # TODO 1: hand out nothing that belongs to the cache.
        raise NotImplementedError("TODO 1: Informer.get")

    def list(self) -> list[Object]:
        """All objects, each as ``get`` returns it."""
        found = [self.get(request) for request in list(self.objects)]
        return [obj for obj in found if obj is not None]

    def tell(self, obj: Object) -> None:
        """Call each handler with its keys for ``obj``.

        If a handler or its ``keys`` raises, log that and go on with the next handler.
        """
        # TODO 2: a handler and its ``keys`` are someone else's code.
        raise NotImplementedError("TODO 2: Informer.tell")

    def relist(self) -> str:
        """Make the cache what the server has, ``tell`` every difference and nothing else; return the list's version.

        ``has_synced()`` stays true, so nobody may find the cache empty while you list again.
        """
        # TODO 3: ``self.client.list(*self.what)`` has a ``resource_version``. An object that is gone is a difference.
        raise NotImplementedError("TODO 3: Informer.relist")

    def apply(self, event_type: str, obj: Object) -> None:
        """Bring one event into the cache, then ``tell`` it. A ``BOOKMARK`` carries no object, only a version."""
        # TODO 4: ADDED, MODIFIED, DELETED, BOOKMARK.
        raise NotImplementedError("TODO 4: Informer.apply")

    def run(self) -> None:
        """Until ``stopping``: list once, then watch from there; when a watch ends, watch from the last version seen."""
        # TODO 5: ``self.client.watch(*self.what, resource_version=…, bookmarks=True)`` yields events with ``type`` and
        #         ``object``. After an error, pause and try again. ``stop`` may come before there is a watch to close.
        raise NotImplementedError("TODO 5: Informer.run")
