"""News of the children comes late: an operator that runs again before it hears of them must not create them twice."""

from __future__ import annotations

from collections.abc import Callable

from converge.recorder.matching import events
from converge.testing.attacks.until_right import fail_unless_right
from converge.testing.objects.custom_resource import CustomResource
from converge.testing.operator import Operator
from converge.testing.verdicts.failure import Failure
from converge.testing.waits.idle import wait_until_idle
from converge.testing.waits.waiting import eventually

HINT = (
    "A cache that doesn't show your own create yet isn't proof that there's nothing. Give children names that follow "
    "from their owner's, so that a second create fails, or remember what you've just created until the cache has it."
)
TOUCHES = 3


def late_children_are_not_doubled(
    operator: Operator,
    *,
    make: Callable[..., CustomResource],
    wrong: Callable[[CustomResource], str],
    kind: str,
    creates: int,
    deletes: int = 0,
    within: float = 10,
    hint: str = "",
) -> CustomResource:
    """Hold back every event of one kind of child, touch the object a few times, then let the events through.

    In a clean run the operator creates `creates` children of that kind and deletes `deletes`. Returns the object.
    """
    recorder = operator.recorder
    operator.settle()
    held = recorder.hold(events(kind))
    mark = recorder.mark()
    app = make()
    eventually(lambda: _done(operator, mark, kind, "create"), within=within)
    for _ in range(TOUCHES):
        touched = recorder.mark()
        app.poke()
        eventually(lambda: recorder.since(touched).delivered(app.kind, name=app.name), within=3)  # noqa: B023
        wait_until_idle(operator, 3)
    held.release()
    when = f"{app} was created and touched {TOUCHES} times while every event of its {kind}s was late"
    fail_unless_right(lambda: wrong(app), within=within, when=when, hint=hint or HINT)
    operator.settle()
    made, gone = (_done(operator, mark, kind, verb) for verb in ("create", "delete"))
    if len(made) > creates or len(gone) > deletes:
        raise Failure(
            when=when,
            expected=f"{creates} {kind}s are created and {deletes} deleted, as on a good day",
            got="\n".join([f"{len(made)} created, {len(gone)} deleted:", *map(str, made + gone)]),
            hint=hint or HINT,
        )
    return app


def _done(operator: Operator, mark: float, kind: str, verb: str) -> list[object]:
    """The requests of that verb for that kind that the server carried out."""
    asked = operator.recorder.since(mark).writes(kind, verb=verb, namespace=operator.namespace.name)
    return [each for each in asked if each.status is not None and each.status < 300]
