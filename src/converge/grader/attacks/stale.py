"""A server that lags: the operator is started with a list of objects from before one of them was created."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from converge.grader.attacks.converging import converge
from converge.grader.kinds import typed
from converge.grader.objects import Custom
from converge.grader.operator import Operator
from converge.grader.verdict import Failure
from converge.grader.waiting import eventually

HINT = "What is missing in a cache may be too new for it. Who deletes has to ask the server first."
HINT_OF_A_NAMESAKE = "What the cache says of a name may be said of an earlier object. The server knows who has it now."
HOLD = "converge.example/hold"


def old_cache_destroys_nothing(
    operator: Operator,
    *,
    make: Callable[..., Custom],
    wrong: Callable[[Custom], str],
    children: Sequence[str],
    kind: str = "WebApp",
    within: float = 10,
    hint: str = "",
) -> Custom:
    """Create an object, restart the operator with lists and watches of before, then let them catch up.

    The children are the same ones all the time. A get by name shows the present, as it does where a server answers
    lists from its cache. Returns the object.
    """
    before = operator.namespace.client.list(*typed(kind), operator.namespace.name).resource_version
    app = _running(operator, make, wrong, within, hint or HINT)
    past = f"from before {app} was created"
    _restart_in_the_past(operator, app, wrong, children, at=before, past=past, within=within, hint=hint or HINT)
    return app


def old_deletion_destroys_nothing(
    operator: Operator,
    *,
    make: Callable[..., Custom],
    wrong: Callable[[Custom], str],
    children: Sequence[str],
    within: float = 10,
    hint: str = "",
) -> Custom:
    """Create an object, restart the operator with a list in which an earlier one of its name is being deleted.

    Nothing else is different from `old_cache_destroys_nothing`.
    """
    operator.stop()
    earlier = make()
    dying = _deleted_slowly(earlier)
    app = _running(operator, lambda: make(name=earlier.name), wrong, within, hint or HINT_OF_A_NAMESAKE)
    past = f"from the time when an earlier {app.kind} of the name {app.name} was being deleted"
    _restart_in_the_past(
        operator, app, wrong, children, at=dying, past=past, within=within, hint=hint or HINT_OF_A_NAMESAKE
    )
    return app


def _deleted_slowly(app: Custom) -> str:
    """Delete an object; return the version of a list that shows it with its deletionTimestamp."""
    namespace = app.namespace
    namespace.patch(app.kind, app.name, {"metadata": {"finalizers": [HOLD]}})
    app.delete()
    dying: str = namespace.client.list(*typed(app.kind), namespace.name).resource_version
    namespace.patch(app.kind, app.name, {"metadata": {"finalizers": None}})
    eventually(app.now, None, when=f"{app} was deleted, and its finalizer was removed")
    return dying


def _running(
    operator: Operator, make: Callable[[], Custom], wrong: Callable[[Custom], str], within: float, hint: str
) -> Custom:
    """An object with which all is well, and an operator that has nothing to do."""
    if not operator.running:
        operator.start()
    app = make()
    converge(lambda: wrong(app), within=within, when=f"{app} was created", hint=hint)
    operator.settle()
    return app


def _restart_in_the_past(
    operator: Operator,
    app: Custom,
    wrong: Callable[[Custom], str],
    children: Sequence[str],
    *,
    at: str,
    past: str,
    within: float,
    hint: str,
) -> None:
    """Start it anew with a list as it was at a version; complain if it deletes anything or makes a child again."""
    uids = _uids(app, children)
    operator.stop()
    with operator.recorder.freeze(app.kind, at=at, gets=False):
        mark = operator.recorder.mark()
        operator.start()
        operator.settle()
        deleted = [str(each) for each in operator.recorder.since(mark).writes(verb="delete")]
    when = f"the operator was started anew, and the server's list of {app.kind}s was {past}"
    if deleted:
        raise Failure(
            when=when,
            expected="the children of a living object are left alone",
            got="\n".join(deleted),
            hint=hint,
        )
    converge(lambda: wrong(app), within=within, when=f"{when}; then it caught up", hint=hint)
    if (now := _uids(app, children)) != uids:
        raise Failure(when=when, expected=f"the same children as before: {uids}", got=str(now), hint=hint)


def _uids(app: Custom, children: Sequence[str]) -> dict[str, str | None]:
    """Each child's uid: who was deleted and made again has another one."""
    found = {kind: app.namespace.get(kind, app.name) for kind in children}
    return {kind: child["metadata"]["uid"] if child else None for kind, child in found.items()}
