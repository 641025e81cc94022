"""Two objects with the same name in two namespaces: a name alone says nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from converge.testing.attacks.isolation import Generations, changes, generations
from converge.testing.attacks.until_right import fail_unless_right
from converge.testing.objects.custom_resource import CustomResource
from converge.testing.operator import Operator
from converge.testing.verdicts.failure import Failure
from converge.testing.waits.waiting import eventually

HINT_NAMESPACE = (
    "A name identifies an object only together with its namespace. Pass the namespace in every request, and in every "
    "key."
)

HINT_UID = "An object of the same name is another object, with another uid. Remember nothing by name from pass to pass."


def namesakes_are_independent(
    operator: Operator,
    *,
    make: Callable[..., CustomResource],
    wrong: Callable[[CustomResource], str],
    children: Sequence[str],
    edit: Callable[[CustomResource], object] | None = None,
    deletion: bool = False,
    rests: bool = False,
    reborn: bool = False,
    within: float = 10,
    hint: str = "",
) -> None:
    """Make two objects with the same name in two namespaces: `make(namespace, name)`, with different values.

    Each must get its own children. Then `edit(second)`, where given, and the deletion of the second leave those of the
    first alone. With `deletion`, the children of the second must go with it; with `rests`, nothing is written when both
    are touched and there is nothing to do. With `reborn`, the second is made once more in the end, and gets children of
    its own again. This catches operators that key their
    state by name and never clear it.
    """
    # `here` is the operator's own and the first in a list: a look-up without a namespace finds the object there.
    here, there = operator.namespaces
    if not operator.running:
        operator.start()
    name = here.new_name()
    first = make(here, name)
    when = f"{first} was created in {here}"

    def right(app: CustomResource) -> None:
        fail_unless_right(lambda: _in_its_namespace(app, wrong), within=within, when=when, hint=hint or HINT_NAMESPACE)

    right(first)  # now a look in the wrong namespace finds something
    second = make(there, name)
    when = f"{first} was created in two namespaces, {here} and then {there}, with different values"
    right(second)
    mark = _settled(operator, when, hint)
    if rests:
        # All rollouts are over by now. On a busy machine, the operator may not have reported the end of one.
        right(first)
        right(second)
        mark = _settled(operator, when, hint)
        _nothing_written(operator, (first, second), mark, when, hint)
    before = generations(first, second, children)
    if edit:
        edit(second)
        when = f"{when}; the one in {there} was edited"
        right(second)
        _settled(operator, when, hint)
        _as_before(first, second, children, before, when, hint)
    second.delete()
    when = f"{when}; the one in {there} was deleted" if not edit else f"{when}, then deleted"
    eventually(lambda: second.now() is None, within=within)

    def left() -> list[str]:
        return [kind for kind in children if there.get(kind, name)]

    if deletion and not eventually(lambda: not left(), within=within):
        raise Failure(
            when=when, expected=f"nothing of it is left in {there}", got=", ".join(left()), hint=hint or HINT_NAMESPACE
        )
    first.poke()
    _settled(operator, when, hint)
    _as_before(first, second, children, before, when, hint)
    right(first)
    if reborn:
        for kind in children:
            there.delete(kind, name)
        eventually(lambda: not left(), within=within)
        _settled(operator, when, hint)  # caches have heard of it by then
        third = make(there, name)
        when = f"{when}, and once its children were gone, another one of that name was created there"
        fail_unless_right(lambda: _in_its_namespace(third, wrong), within=within, when=when, hint=hint or HINT_UID)


def _settled(operator: Operator, when: str, hint: str) -> float:
    """Wait until the operator is at rest. One that isn't may be going to and fro between the two."""
    try:
        return operator.settle()
    except Failure as restless:
        if not restless.got:
            raise
        raise Failure(
            when=when, expected="then it comes to rest", got=restless.got, hint=hint or HINT_NAMESPACE
        ) from restless


def _nothing_written(operator: Operator, apps: Sequence[CustomResource], mark: float, when: str, hint: str) -> None:
    for app in apps:
        app.poke()
    operator.settle()
    if written := operator.own_writes(mark):
        raise Failure(
            when=f"{when}; when all was as it should be, both were touched",
            expected="no write: there is nothing to do",
            got="\n".join(str(each) for each in written[:4]),
            hint=hint or HINT_NAMESPACE,
        )


def _in_its_namespace(app: CustomResource, wrong: Callable[[CustomResource], str]) -> str:
    return f"in {app.namespace}: {problem}" if (problem := wrong(app)) else ""


def _as_before(
    app: CustomResource, other: CustomResource, children: Sequence[str], before: Generations, when: str, hint: str
) -> None:
    if changed := changes(before, generations(app, other, children)):
        raise Failure(
            when=when,
            expected=f"what is in {app.namespace} is as before",
            got=changed,
            hint=hint or HINT_NAMESPACE,
        )
