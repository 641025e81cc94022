"""What reconcilers read instead of the server: the objects of one kind, which they cannot change.

The store follows the server with a delay of some milliseconds. Between a write and its return through the
watch, a reader would not see its own write, and would for instance create a child twice. So an object that
was just written is kept beside the store until the watch has caught up with it.
"""

import threading
from collections.abc import Callable

from converge.runtime.api.client import Object
from converge.runtime.informers.frozen import freeze
from converge.runtime.informers.store import IndexFunction, Store, by_namespace, by_owner, request_for, version_of
from converge.runtime.reconcile import Request

Objects = list[Object]  # inside a class with a method `list`, the name means the method


class Cache:
    """The objects of one kind, read-only. `Informer` is one that fills itself."""

    def __init__(self) -> None:
        self._store = Store()
        self._store.add_index("namespace", by_namespace)
        self._store.add_index("owner", by_owner)
        self._seen = 0  # the version up to which the store is complete
        self._written: dict[Request, Object] = {}
        self._written_lock = threading.Lock()

    def get(self, name: str, namespace: str = "") -> Object | None:
        """One object, or ``None``. It is frozen: take ``copy.deepcopy`` of it to change something."""
        key = Request(namespace, name)
        return (self._written.get(key) if self._written else None) or self._store.get(key)

    def list(self, namespace: str | None = None) -> Objects:
        """All objects, or those of one namespace."""
        if namespace is None:
            return self._merge(self._store.snapshot(), lambda _: True)
        return self.index("namespace", namespace)

    def index(self, name: str, value: str) -> Objects:
        """The objects that the index ``name`` has under ``value``."""
        function = self._store.function(name)
        return self._merge(self._store.find(name, value), lambda obj: value in function(obj))

    def owned_by(self, owner: Object) -> Objects:
        """The objects with an owner reference to this very owner."""
        return self.index("owner", owner["metadata"]["uid"])

    def add_index(self, name: str, function: IndexFunction) -> None:
        """Keep an index: ``function(obj)`` returns the values under which an object is found.

        Indexes ``namespace`` and ``owner`` (by uid) are there from the start.
        """
        self._store.add_index(name, function)

    def remember(self, obj: Object) -> None:
        """Show readers an object that was just written, until the watch brings it or something newer."""
        metadata = obj["metadata"]
        if metadata.get("deletionTimestamp") and not metadata.get("finalizers"):
            return  # this write was its last
        with self._written_lock:
            before = self._written.get(request_for(obj))
            if version_of(obj) > max(self._seen, version_of(before) if before else 0):
                slim = {name: value for name, value in metadata.items() if name != "managedFields"}
                self._written[request_for(obj)] = freeze({**obj, "metadata": slim})

    def __len__(self) -> int:
        return len(self._store)

    def _caught_up(self, version: int) -> None:
        """The store is complete up to ``version``: what was written before that is of no more use."""
        self._seen = max(self._seen, version)
        if self._written:
            with self._written_lock:
                for key in [key for key, obj in self._written.items() if version_of(obj) <= self._seen]:
                    del self._written[key]

    def _merge(self, stored: dict[Request, Object], fits: Callable[[Object], bool]) -> Objects:
        if not self._written:
            return [*stored.values()]
        written = dict(self._written)
        return [
            *(obj for key, obj in stored.items() if key not in written),
            *(obj for obj in written.values() if fits(obj)),
        ]
