"""Lab 04: a cache that fills itself: list once, then watch from there.

Lesson:  docs/lessons/04_informer.md
Check:   make check LAB=04
Hint:    make hint LAB=04

``run`` is the informer's own thread and the only writer of ``objects``. Everyone else reads, and learns *which*
objects to look at, never what happened to them. A watch ends when its connection does, and raises ``Gone``, an
``ApiError``, when the version that it started from is too old.
"""

import copy
import threading
from collections.abc import Callable

from converge.runtime import ApiError, Client, Gone, Object, Request, Watch


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

    # --8<-- [start:read]
    def get(self, request: Request) -> Object | None:
        """The object as the cache has it, or ``None``. Callers may change what they get, but not the cache."""
        return copy.deepcopy(self.objects.get(request))

    # --8<-- [end:read]
    def list(self) -> list[Object]:
        """All objects, each as ``get`` returns it."""
        found = [self.get(request) for request in list(self.objects)]
        return [obj for obj in found if obj is not None]

    # --8<-- [start:tell]
    def tell(self, obj: Object) -> None:
        """Call each handler with its keys for ``obj``.

        If a handler or its ``keys`` raises, log that and go on with the next handler.
        """
        for handler, keys in self.handlers:
            try:
                for request in keys(obj):
                    handler(request)
            except Exception as error:
                print(f"a handler failed: {error!r}")

    # --8<-- [end:tell]
    # --8<-- [start:relist]
    def relist(self) -> str:
        """Make the cache what the server has, ``tell`` every difference and nothing else; return the list's version.

        ``has_synced()`` stays true, so nobody may find the cache empty while you list again.
        """
        found = self.client.list(*self.what)
        old, new = self.objects, {itself(obj)[0]: obj for obj in found}
        self.objects = new
        self.synced.set()
        for request, obj in new.items():
            if request not in old or old[request]["metadata"]["resourceVersion"] != obj["metadata"]["resourceVersion"]:
                self.tell(obj)
        for request in old.keys() - new.keys():
            self.tell(old[request])
        return found.resource_version

    # --8<-- [end:relist]
    # --8<-- [start:apply]
    def apply(self, event_type: str, obj: Object) -> None:
        """Bring one event into the cache, then ``tell`` it. A ``BOOKMARK`` carries no object, only a version."""
        if event_type == "BOOKMARK":
            return
        if event_type == "DELETED":
            self.objects.pop(itself(obj)[0], None)
        else:
            self.objects[itself(obj)[0]] = obj
        self.tell(obj)

    # --8<-- [end:apply]
    # --8<-- [start:run]
    def run(self) -> None:
        """Until ``stopping``: list once, then watch from there; when a watch ends, watch from the last version seen."""
        version = None
        while not self.stopping.is_set():
            try:
                if version is None:
                    version = self.relist()
                self.watch = self.client.watch(*self.what, resource_version=version, bookmarks=True)
                if self.stopping.is_set():
                    self.watch.close()  # stop() came before the watch was open, and had nothing to close
                for event in self.watch:
                    self.apply(event.type, event.object)
                    version = event.object["metadata"]["resourceVersion"]
            except Gone:
                version = None  # too old to continue from: list again
            except ApiError as error:
                print(f"will try again: {error}")
            self.stopping.wait(0.1)  # this misses nothing: the next watch starts from ``version``

    # --8<-- [end:run]
