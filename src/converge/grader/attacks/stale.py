"""A server that lags: the operator is started with a list of objects from before one of them was created."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from converge.grader.attacks.converging import converge
from converge.grader.kinds import typed
from converge.grader.objects import Custom
from converge.grader.operator import Operator
from converge.grader.verdict import Failure

HINT = "What is missing in a cache may be too new for it. Who deletes has to ask the server first."


def old_cache_destroys_nothing(
    operator: Operator,
    *,
    make: Callable[[], Custom],
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
    namespace = operator.namespace
    before = namespace.client.list(*typed(kind), namespace.name).resource_version
    if not operator.running:
        operator.start()
    app = make()
    converge(lambda: wrong(app), within=within, when=f"{app} was created", hint=hint or HINT)
    operator.settle()
    uids = _uids(app, children)
    operator.stop()
    with operator.recorder.freeze(kind, at=before, gets=False):
        mark = operator.recorder.mark()
        operator.start()
        operator.settle()
        deleted = [str(each) for each in operator.recorder.since(mark).writes(verb="delete")]
    when = f"the operator was started anew, and the server's list of {kind}s was from before {app} was created"
    if deleted:
        raise Failure(
            when=when,
            expected="the children of a living object are left alone",
            got="\n".join(deleted),
            hint=hint or HINT,
        )
    converge(lambda: wrong(app), within=within, when=f"{when}; then it caught up", hint=hint or HINT)
    if (now := _uids(app, children)) != uids:
        raise Failure(when=when, expected=f"the same children as before: {uids}", got=str(now), hint=hint or HINT)
    return app


def _uids(app: Custom, children: Sequence[str]) -> dict[str, str | None]:
    """Each child's uid: who was deleted and made again has another one."""
    found = {kind: app.namespace.get(kind, app.name) for kind in children}
    return {kind: child["metadata"]["uid"] if child else None for kind, child in found.items()}
