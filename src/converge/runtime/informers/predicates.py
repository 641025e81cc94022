"""Which changes are worth a reconciliation.

A predicate is a function of a `Change`. Leaving out a change is safe only if it cannot matter, now or
later: the reconciler is not told twice.
"""

from collections.abc import Callable

from converge.runtime.informers.informer import Change

Predicate = Callable[[Change], bool]


def generation_changed(change: Change) -> bool:
    """True if the spec changed or the object was added, marked for deletion or deleted. Ignores status-only changes.

    Kinds without a generation, such as Service and Secret, always pass.
    """
    return _changed(change, "generation") or "generation" not in change.object["metadata"]


def labels_changed(change: Change) -> bool:
    """The labels have changed, or the object has come or gone."""
    return _changed(change, "labels")


def annotations_changed(change: Change) -> bool:
    """The annotations have changed, or the object has come or gone."""
    return _changed(change, "annotations")


def any_of(*predicates: Predicate) -> Predicate:
    """Let a change pass if one of the predicates does."""
    return lambda change: any(predicate(change) for predicate in predicates)


def _changed(change: Change, field: str) -> bool:
    if change.old is None or change.new is None:
        return True
    return bool(change.old["metadata"].get(field) != change.new["metadata"].get(field))
