"""Which changes are worth a reconciliation.

A predicate is a function of a `Change`. Leaving out a change is safe only if it cannot matter, now or
later: the reconciler is not told twice.
"""

from collections.abc import Callable

from converge.runtime.informer import Change

Predicate = Callable[[Change], bool]


def generation_changed(change: Change) -> bool:
    """The spec has changed, or the object has come, is to go, or is gone; not: only its status has.

    Kinds that count no generation, such as Service and Secret, pass always.
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
