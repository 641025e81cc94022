"""More than one object, and the end of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from converge.testing.attacks.compare import belongs
from converge.testing.attacks.until_right import fail_unless_right, wait_until_right
from converge.testing.objects.custom_resource import CustomResource
from converge.testing.operator import Operator
from converge.testing.verdicts.failure import Failure
from converge.testing.waits.waiting import eventually

HINT_NAMES = "Everything that belongs to an object carries its name: children, selectors, labels. Nothing is shared."
HINT_LEFTOVERS = (
    "An ownerReference with controller: true lets the garbage collector do this; the rest needs a finalizer."
)

HINT_GONE = "What you want to clean up may be gone already: a 404 means that it's done, and the finalizer can go."


def two_objects_are_independent(
    operator: Operator,
    *,
    make: Callable[[], CustomResource],
    wrong: Callable[[CustomResource], str],
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
        fail_unless_right(
            lambda each=each: wrong(each),  # type: ignore[misc]
            within=within,
            when=f"{first} and {second} were created at the same time",
            hint=hint or HINT_NAMES,
        )
    operator.settle()
    before = generations(second, first, children)
    first.delete()
    eventually(lambda: first.now() is None, within=within)
    second.poke()
    operator.settle()
    if changed := changes(before, generations(second, first, children)):
        raise Failure(
            when=f"{first} was deleted, {second} was not",
            expected=f"what belongs to {second} is as before",
            got=changed,
            hint=hint or HINT_NAMES,
        )
    fail_unless_right(
        lambda: wrong(second), within=within, when=f"{first} was deleted, {second} was not", hint=hint or HINT_NAMES
    )


def deletion_leaves_nothing(
    operator: Operator,
    app: CustomResource,
    *,
    children: Sequence[str],
    propagation: str | None = None,
    while_down: bool = False,
    children_first: bool = False,
    belongs: Callable[[Mapping[str, Any], CustomResource], bool] | None = None,
    within: float = 15,
    hint: str = "",
) -> None:
    """Delete the object and wait until it and all of its children are gone, and stay gone.

    With `while_down` the operator isn't running when it's deleted, and is started afterwards; with `children_first`
    someone has deleted the children before that. `belongs` says which objects have to go; by default those that it
    owns and those of its name.
    """
    belongs = belongs or _owned_or_of_its_name
    operator.settle()
    while_down = while_down or children_first
    if while_down:
        operator.stop()
    if children_first:
        for kind in children:
            for each in app.namespace.list(kind):
                if belongs(each, app):
                    # As kubectl does. By default the server keeps the Pods of a deleted Job.
                    app.namespace.delete(kind, each["metadata"]["name"], propagation="Background")
    app.delete(propagation)
    if while_down:
        operator.start()

    def left() -> list[str]:
        found = [str(app)] if app.now() else []
        for kind in children:
            found += [f"{kind}/{each['metadata']['name']}" for each in app.namespace.list(kind) if belongs(each, app)]
        return found

    how = f" in the {propagation.lower()}" if propagation else ""
    when = f"{app} was deleted{how}" + (" while the operator was down, which was then started" if while_down else "")
    if children_first:
        when, hint = when.replace("was deleted", "and all of its children were deleted", 1), hint or HINT_GONE
    if not wait_until_right(lambda: not left(), within=within):
        raise Failure(
            when=when,
            expected=f"nothing is left of it {within:g} s later",
            got=", ".join(left()),
            hint=hint or HINT_LEFTOVERS,
        )
    operator.settle()
    if back := left():
        raise Failure(when=when, expected="what is gone stays gone", got=f"back again: {', '.join(back)}", hint=hint)


def _owned_or_of_its_name(obj: Mapping[str, Any], app: CustomResource) -> bool:
    metadata = obj["metadata"]
    return metadata["name"] == app.name or any(owner["uid"] == app.uid for owner in metadata.get("ownerReferences", []))


Generations = dict[str, tuple[str, int]]


def generations(of: CustomResource, not_of: CustomResource, kinds: Sequence[str]) -> Generations:
    """Each child in the namespace that is not of the other object: its uid and the generation of its spec."""
    found: Generations = {}
    for kind in kinds:
        for each in of.namespace.list(kind):
            metadata = each["metadata"]
            if belongs(each, of) and not_of.uid not in [owner["uid"] for owner in metadata.get("ownerReferences", [])]:
                found[f"{kind}/{metadata['name']}"] = (metadata["uid"], metadata.get("generation", 0))
    return found


def changes(before: Generations, after: Generations) -> str:
    """What became of each child that isn't as before; `""` when all are."""
    found = [f"{name} is gone" for name in before if name not in after]
    found += [f"{name} is new" for name in after if name not in before]
    for name in before.keys() & after.keys():
        (old, spec), (new, spec_now) = before[name], after[name]
        if old != new:
            found.append(f"{name} was deleted and created again")
        elif spec != spec_now:
            found.append(f"the spec of {name} was changed")
    return "\n".join(sorted(found))
