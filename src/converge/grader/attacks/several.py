"""More than one object, and the end of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from converge.grader.attacks.converging import converge
from converge.grader.objects import Custom
from converge.grader.operator import Operator
from converge.grader.verdict import Failure
from converge.grader.waiting import eventually

ALONE = "Everything that belongs to an object carries its name: children, selectors, labels. Nothing is shared."
NOTHING = "An ownerReference with controller: true lets the garbage collector do this; what it cannot see is yours."


def two_objects_are_independent(
    operator: Operator,
    *,
    make: Callable[[], Custom],
    wrong: Callable[[Custom], str],
    children: Sequence[str],
    within: float = 10,
    hint: str = "",
) -> None:
    """Make two objects, delete the first; the second's children must be as before, and their specs untouched.

    `children` are the kinds to look at.
    """
    if not operator.running:
        operator.start()
    first, second = make(), make()
    for each in (first, second):
        converge(
            lambda each=each: wrong(each),  # type: ignore[misc]
            within=within,
            when=f"{first} and {second} were created at the same time",
            hint=hint or ALONE,
        )
    operator.settle()
    before = _generations(second, first, children)
    first.delete()
    eventually(lambda: first.now() is None, within=within)
    second.poke()
    operator.settle()
    after = _generations(second, first, children)
    if after != before:
        raise Failure(
            when=f"{first} was deleted, {second} was not",
            expected=f"what belongs to {second} is as before:\n{_lines(before)}",
            got=_lines(after),
            hint=hint or ALONE,
        )
    converge(lambda: wrong(second), within=within, when=f"{first} was deleted, {second} was not", hint=hint or ALONE)


def deletion_leaves_nothing(
    operator: Operator, app: Custom, *, children: Sequence[str], within: float = 15, hint: str = ""
) -> None:
    """Delete the object and wait until it and all of its children are gone, and stay gone."""
    operator.settle()
    app.delete()

    def left() -> list[str]:
        found = [str(app)] if app.now() else []
        for kind in children:
            for each in app.namespace.list(kind):
                name, owners = each["metadata"]["name"], each["metadata"].get("ownerReferences", [])
                if name == app.name or any(owner["uid"] == app.uid for owner in owners):
                    found.append(f"{kind}/{name}")
        return found

    when = f"{app} was deleted"
    if not eventually(lambda: not left(), within=within):
        raise Failure(
            when=when, expected=f"nothing is left of it {within:g} s later", got=", ".join(left()), hint=hint or NOTHING
        )
    operator.settle()
    if back := left():
        raise Failure(when=when, expected="what is gone stays gone", got=f"back again: {', '.join(back)}", hint=hint)


def _generations(of: Custom, not_of: Custom, kinds: Sequence[str]) -> dict[str, object]:
    """Each child in the namespace that is not of the other object: its uid and the generation of its spec."""
    found: dict[str, object] = {}
    for kind in kinds:
        for each in of.namespace.list(kind):
            metadata = each["metadata"]
            owners = [owner["uid"] for owner in metadata.get("ownerReferences", [])]
            if not_of.uid not in owners and (of.uid in owners or of.name in metadata["name"]):
                found[f"{kind}/{metadata['name']}"] = (metadata["uid"], metadata.get("generation"))
    return found


def _lines(children: dict[str, object]) -> str:
    return "\n".join(f"{name}: {version}" for name, version in sorted(children.items())) or "(nothing)"
