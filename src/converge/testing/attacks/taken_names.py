"""The name is taken: someone else's object has the name that a child would get."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from converge.testing.objects.custom_resource import CustomResource
from converge.testing.objects.namespace import Namespace
from converge.testing.operator import Operator
from converge.testing.verdicts.failure import Failure
from converge.testing.waits.waiting import eventually

HINT = "Before you write to a child, look whose it is: an object with another controller isn't yours to change."
STRANGER_ANNOTATION = "stranger.example/keep"


def stranger_is_left_alone(
    operator: Operator,
    *,
    make: Callable[..., CustomResource],
    stranger: Callable[[str], Mapping[str, Any]],
    within: float = 10,
    hint: str = "",
) -> CustomResource:
    """Create `stranger(name)`, owned by someone else, then an object with that name; then delete the object.

    What the stranger's owner wrote has to stay. Returns the object.
    """
    namespace = operator.namespace
    operator.settle()
    name = namespace.new_name()
    theirs = _owned(namespace, stranger(name))
    before = namespace.create(theirs)
    kind, called = before["kind"], before["metadata"]["name"]
    mark = operator.recorder.mark()
    app = make(name=name)
    eventually(lambda: operator.own_writes(mark), within=within)
    operator.settle()
    when = f"{kind}/{called} was there, with another controller, and then {app} was created"
    _same(namespace, before, theirs, when, hint or HINT)
    app.delete()
    eventually(lambda: app.now() is None, within=within)
    operator.settle()
    _same(namespace, before, theirs, f"{when} and deleted", hint or HINT)
    return app


def _owned(namespace: Namespace, obj: Mapping[str, Any]) -> dict[str, Any]:
    owner = namespace.create({"kind": "ConfigMap", "metadata": {"name": f"owner-{namespace.new_name()}"}})
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    metadata = {**obj["metadata"], "ownerReferences": [reference], "annotations": {STRANGER_ANNOTATION: "yes"}}
    return {**obj, "metadata": metadata}


def _same(namespace: Namespace, before: Mapping[str, Any], theirs: Mapping[str, Any], when: str, hint: str) -> None:
    kind, name = before["kind"], before["metadata"]["name"]
    now = namespace.get(kind, name)
    changed = []
    if now is None or now["metadata"]["uid"] != before["metadata"]["uid"]:
        changed.append("it was deleted" if now is None else "it was deleted and made again")
    else:
        if now["metadata"].get("ownerReferences") != before["metadata"]["ownerReferences"]:
            owners = [f"{each['kind']}/{each['name']}" for each in now["metadata"].get("ownerReferences", [])]
            changed.append(f"its owners are now {', '.join(owners) or 'nobody'}")
        changed += [
            f"its {part} is no longer what its owner wrote"
            for part in ("spec", "data")
            if now.get(part) != before.get(part)
        ]
    if changed:
        raise Failure(
            when=when,
            expected=f"{kind}/{name} stays as its owner made it, and the operator says that the name is taken",
            got="\n".join(changed),
            hint=hint,
        )
