"""What makes a controller look at an object: a change of it, of something it owns, or of anything else.

A source names a kind to watch and says, for a changed object of it, whose keys to add to the queue.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from converge.runtime.api.client import Object
from converge.runtime.informers.informer import Change
from converge.runtime.informers.predicates import Predicate
from converge.runtime.informers.store import request_for
from converge.runtime.reconcile import Request

#: From a changed object to the keys that have to be looked at because of it.
Mapper = Callable[[Object], Iterable[Request]]


@dataclass(frozen=True, slots=True)
class Source:
    """A kind that a controller watches."""

    api_version: str
    kind: str
    mapper: Mapper
    predicate: Predicate | None = None
    namespace: str | None = None
    label_selector: str | None = None
    field_selector: str | None = None

    def requests(self, change: Change) -> set[Request]:
        """The keys to look at because of ``change``.

        An object may have changed hands: what it belonged to before is looked at as well.
        """
        if self.predicate is not None and not self.predicate(change):
            return set()
        found: set[Request] = set()
        for obj in (change.old, change.new) if change.old is not change.new else (change.new,):
            if obj is not None:
                found.update(self.mapper(obj))
        return found


def itself(obj: Object) -> Iterable[Request]:
    """The object's own key."""
    return (request_for(obj),)


def controller_of(api_version: str, kind: str, *, cluster_scoped: Callable[[], bool]) -> Mapper:
    """The key of the object's controller, if that is of the given kind.

    Only the group counts, not the version: an owner written as v1beta1 is still the owner. An owner is in
    the namespace of what it owns, or in none.
    """
    group = group_of(api_version)

    def mapper(obj: Object) -> Iterable[Request]:
        for owner in obj["metadata"].get("ownerReferences", ()):
            if owner.get("controller") and owner["kind"] == kind and group_of(owner["apiVersion"]) == group:
                namespace = "" if cluster_scoped() else obj["metadata"].get("namespace", "")
                yield Request(namespace, owner["name"])

    return mapper


def group_of(api_version: str) -> str:
    """The group of an apiVersion; the core group is the empty string."""
    return api_version.rpartition("/")[0]
