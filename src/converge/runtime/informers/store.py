"""The objects of one kind that an informer knows, by key and by index."""

import threading
from collections.abc import Callable, Iterable
from typing import Any

from converge.runtime.api.client import Object
from converge.runtime.reconcile import Request

#: Says under which values an object is to be found.
IndexFunction = Callable[[Object], Iterable[str]]


def request_for(obj: Object) -> Request:
    """The key of an object."""
    metadata = obj["metadata"]
    return Request(metadata.get("namespace", ""), metadata["name"])


def by_namespace(obj: Object) -> Iterable[str]:
    """Index an object under its namespace."""
    return (obj["metadata"].get("namespace", ""),)


def by_owner(obj: Object) -> Iterable[str]:
    """Index an object under the uid of each of its owners."""
    return [owner["uid"] for owner in obj["metadata"].get("ownerReferences", ())]


def version_of(obj: Object) -> int:
    """The version of an object as a number: those of one kind grow, and can be compared (KEP-5504)."""
    version = obj["metadata"].get("resourceVersion", "")
    return int(version) if version.isdecimal() else 0


class Store:
    """Objects and indexes over them. One thread writes; any number read."""

    def __init__(self) -> None:
        self._objects: dict[Request, Object] = {}
        self._functions: dict[str, IndexFunction] = {}
        self._indexes: dict[str, dict[str, dict[Request, Object]]] = {}
        self._lock = threading.Lock()

    def get(self, key: Request) -> Object | None:
        return self._objects.get(key)

    def put(self, key: Request, obj: Object) -> Object | None:
        """Add or replace an object; returns the one before."""
        with self._lock:
            old = self._objects.get(key)
            self._unindex(key, old)
            self._objects[key] = obj
            self._index(key, obj)
            return old

    def remove(self, key: Request) -> Object | None:
        """Remove an object; returns it."""
        with self._lock:
            old = self._objects.pop(key, None)
            self._unindex(key, old)
            return old

    def add_index(self, name: str, function: IndexFunction) -> None:
        """Keep an index, over what is there already as well."""
        with self._lock:
            if self._functions.get(name, function) is not function:
                raise ValueError(f"there is another index {name!r} already")
            self._functions[name] = function
            index = self._indexes[name] = {}
            for key, obj in self._objects.items():
                _add_to(index, function(obj), key, obj)

    def function(self, index: str) -> IndexFunction:
        """The function of an index; raises a `KeyError` that says which there are."""
        if index not in self._functions:
            raise KeyError(f"no index {index!r}; there are {', '.join(sorted(self._functions))}")
        return self._functions[index]

    def find(self, index: str, value: str) -> dict[Request, Object]:
        """The objects that an index has under ``value``."""
        with self._lock:
            return dict(self._indexes[index].get(value, ()))

    def snapshot(self) -> dict[Request, Object]:
        """All objects at this moment."""
        with self._lock:
            return dict(self._objects)

    def __len__(self) -> int:
        return len(self._objects)

    def _index(self, key: Request, obj: Object) -> None:
        for name, function in self._functions.items():
            _add_to(self._indexes[name], function(obj), key, obj)

    def _unindex(self, key: Request, obj: Object | None) -> None:
        if obj is None:
            return
        for name, function in self._functions.items():
            index = self._indexes[name]
            for value in function(obj):
                if (found := index.get(value)) is not None:
                    found.pop(key, None)
                    if not found:
                        del index[value]


def _add_to(index: dict[str, dict[Request, Any]], values: Iterable[str], key: Request, obj: Object) -> None:
    for value in values:
        index.setdefault(value, {})[key] = obj
