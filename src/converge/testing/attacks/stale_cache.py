"""A server that lags: the operator is started with a list of objects from before one of them was created."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from converge.testing.attacks.compare import belongs
from converge.testing.attacks.until_right import fail_unless_right, wait_until_right
from converge.testing.objects.custom_resource import CustomResource
from converge.testing.objects.kinds import typed
from converge.testing.operator import Operator
from converge.testing.verdicts.evidence import counted
from converge.testing.verdicts.failure import Failure
from converge.testing.waits.idle import wait_until_idle
from converge.testing.waits.waiting import eventually

HINT = "What's missing in a cache may be too new for it. Ask the server before you delete."
HINT_OF_A_NAMESAKE = "What the cache says of a name may be about an earlier object: compare uids before you delete."
HINT_OF_AN_OWNER = (
    "The uid in a cache may be an earlier object's, and the garbage collector deletes a child whose owner is gone. "
    "Look who controls the child before you write an owner reference."
)
HINT_OF_AN_OLD_SPEC = "The spec in a cache may be older than what you did. Before you delete, ask the server."
HINT_OF_A_FAILED_READ = "A read that fails says nothing; only NotFound says that it's gone."
OUR_FINALIZER = "converge.example/hold"


def old_cache_destroys_nothing(
    operator: Operator,
    *,
    make: Callable[..., CustomResource],
    wrong: Callable[[CustomResource], str],
    children: Sequence[str],
    kind: str = "WebApp",
    unreadable: bool = False,
    within: float = 10,
    hint: str = "",
) -> CustomResource:
    """Create an object, restart the operator with lists and watches from before that, then let them catch up.

    The children are the same ones all the time. A get by name shows the present, as it does where a server answers
    lists from its cache; with `unreadable`, the first get of the object is answered 500. Returns the object.
    """
    from converge.recorder import reads

    before = operator.namespace.client.list(*typed(kind), operator.namespace.name).resource_version
    app = _running(operator, make, wrong, within, hint or HINT)
    past = f"from before {app} was created"
    if unreadable:
        past += f"; the first get of {app}, if there was one, was answered 500"
        failed = operator.recorder.fail(reads(kind, verb="get", name=app.name), status=500)
        hint = hint or f"{HINT} {HINT_OF_A_FAILED_READ}"
    _restart_in_the_past(operator, app, wrong, children, at=before, past=past, within=within, hint=hint or HINT)
    if unreadable:
        failed.remove()
    return app


def old_deletion_destroys_nothing(
    operator: Operator,
    *,
    make: Callable[..., CustomResource],
    wrong: Callable[[CustomResource], str],
    children: Sequence[str],
    lived: bool = False,
    alive: bool = False,
    within: float = 10,
    hint: str = "",
) -> CustomResource:
    """Create an object, restart the operator with a list in which an earlier namesake is being deleted.

    Nothing else is different from `old_cache_destroys_nothing`. With `lived` the operator has known the earlier one, so
    that it has the operator's finalizer; without, it was down all that time. With `alive`, which asks for the latter,
    the list is from before the deletion: it shows the earlier one as if it were the one that there is.
    """
    past, told = "being deleted", hint or HINT_OF_A_NAMESAKE
    if lived:
        earlier = _running(operator, make, wrong, within, hint or HINT_OF_A_NAMESAKE)
        theirs = set(_uids(earlier, children).values())
        operator.stop()
        dying = _deleted_slowly(earlier, finished=operator.start)
        wait_until_right(lambda: theirs.isdisjoint(_uids(earlier, children).values()), within=within)
        operator.settle()
    else:
        operator.stop()
        earlier = make()
        living = earlier.namespace.client.list(*typed(earlier.kind), earlier.namespace.name).resource_version
        dying = _deleted_slowly(earlier)
        if alive:
            dying, past, told = living, "there", hint or HINT_OF_AN_OWNER
    app = _running(operator, lambda: make(name=earlier.name), wrong, within, told)
    past = f"from the time when an earlier {app.kind} of the name {app.name} was {past}"
    _restart_in_the_past(operator, app, wrong, children, at=dying, past=past, within=within, hint=told)
    return app


def _deleted_slowly(app: CustomResource, finished: Callable[[], object] = lambda: None) -> str:
    """Delete an object; return the version of a list that shows it with its deletionTimestamp.

    `finished` is called once nothing of ours holds the object any longer.
    """
    namespace = app.namespace
    now = app.now()
    held = (now or {}).get("metadata", {}).get("finalizers", [])
    namespace.patch(app.kind, app.name, {"metadata": {"finalizers": [*held, OUR_FINALIZER]}})
    app.delete()
    dying: str = namespace.client.list(*typed(app.kind), namespace.name).resource_version
    namespace.patch(app.kind, app.name, {"metadata": {"finalizers": held or None}})
    finished()
    eventually(app.now, None, when=f"{app} was deleted, and its finalizer was removed")
    return dying


def old_spec_destroys_nothing(
    operator: Operator,
    app: CustomResource,
    *,
    change: Callable[[], object],
    wrong: Callable[[CustomResource], str],
    children: Sequence[str],
    within: float = 10,
    hint: str = "",
) -> None:
    """Change an object, restart the operator with a list from before the change, then let it catch up.

    It may do what the old spec says, but what both specs ask for is there all the time.
    """
    namespace, before = app.namespace, _uids(app, children)
    at = namespace.client.list(*typed(app.kind), namespace.name).resource_version
    change()
    fail_unless_right(lambda: wrong(app), within=within, when=f"{app} was changed", hint=hint or HINT_OF_AN_OLD_SPEC)
    operator.settle()
    after = _uids(app, children)
    operator.stop()
    with operator.recorder.freeze(app.kind, at=at, gets=False):
        operator.start()
        wait_until_idle(operator, within)
    when = f"{app} was changed, and the operator was started again with a list from before the change"
    fail_unless_right(
        lambda: wrong(app), within=within, when=f"{when}; then it caught up", hint=hint or HINT_OF_AN_OLD_SPEC
    )
    now = _uids(app, children)
    if lost := [name for name in before if name in after and now.get(name) != after[name]]:
        raise Failure(
            when=when,
            expected="what both specs ask for is left alone",
            got="\n".join(f"{name} was deleted and made again" for name in lost),
            hint=hint or HINT_OF_AN_OLD_SPEC,
        )


def _running(
    operator: Operator,
    make: Callable[[], CustomResource],
    wrong: Callable[[CustomResource], str],
    within: float,
    hint: str,
) -> CustomResource:
    """An object with which all is well, and an operator that has nothing to do."""
    if not operator.running:
        operator.start()
    app = make()
    fail_unless_right(lambda: wrong(app), within=within, when=f"{app} was created", hint=hint)
    operator.settle()
    return app


def _restart_in_the_past(
    operator: Operator,
    app: CustomResource,
    wrong: Callable[[CustomResource], str],
    children: Sequence[str],
    *,
    at: str,
    past: str,
    within: float,
    hint: str,
) -> None:
    """Start it again with a list as it was at a version; complain if it deletes anything or makes a child again."""
    uids = _uids(app, children)
    operator.stop()
    with operator.recorder.freeze(app.kind, at=at, gets=False):
        mark = operator.recorder.mark()
        operator.start()
        wait_until_idle(operator, within, unless=lambda: _uids(app, children) != uids)
        deletions = operator.recorder.since(mark).writes(verb="delete")
        wait_until_right(lambda: all(each.duration is not None for each in deletions), within=within)
        deleted = [str(each) for each in deletions]
    when = f"the operator was started again, and the server's list of {app.kind}s was {past}"
    if deleted:
        raise Failure(
            when=when,
            expected="the children of a living object are left alone",
            got="\n".join(counted(deleted)),
            hint=hint,
        )
    fail_unless_right(lambda: wrong(app), within=within, when=f"{when}; then it caught up", hint=hint)
    if (now := _uids(app, children)) != uids:
        raise Failure(when=when, expected=f"the same children as before: {uids}", got=str(now), hint=hint)


def _uids(app: CustomResource, children: Sequence[str]) -> dict[str, str]:
    """The uid of each child, which is owned by the object or carries its name: one that was made again has another."""
    found: dict[str, str] = {}
    for kind in children:
        for child in app.namespace.list(kind):
            if belongs(child, app):
                found[f"{kind}/{child['metadata']['name']}"] = child["metadata"]["uid"]
    return found
