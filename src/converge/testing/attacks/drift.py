"""Someone else edits a child: what the operator owns has to come back, what it does not own has to stay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from converge.testing.attacks.until_right import fail_unless_right
from converge.testing.objects.custom_resource import CustomResource
from converge.testing.operator import Operator
from converge.testing.verdicts.failure import Failure
from converge.testing.waits.waiting import eventually

HINT_DRIFT = "Compare every field that you own with what it should be, each time, not only when the spec has changed."
HINT_FOREIGN_FIELDS = (
    "Say only what you own: apply or patch those fields. A replace with your own object wipes out the rest."
)
ANNOTATION = "someone.example/note"


def heals_drift(
    operator: Operator,
    app: CustomResource,
    wrong: Callable[[CustomResource], str],
    *,
    drifts: Mapping[str, tuple[str, str, Mapping[str, Any]]],
    within: float = 10,
    hint: str = "",
) -> None:
    """Edit a child behind the operator's back, once for each of `drifts`, and wait until it is healed.

    `drifts` maps the name of a field to `(kind, name, patch)`; the patch is strategic.
    """
    operator.settle()
    for field, (kind, name, patch) in drifts.items():
        app.namespace.patch(kind, name, patch, type="strategic")
        fail_unless_right(
            lambda: wrong(app),
            within=within,
            when=f"someone changed {field} of {kind}/{name} to something else than {app} asks for",
            expected=f"{field} is back within {within:g} s",
            hint=hint or HINT_DRIFT,
        )
        operator.settle()


def heals_deletion(
    operator: Operator,
    app: CustomResource,
    wrong: Callable[[CustomResource], str],
    *,
    child: tuple[str, str],
    within: float = 10,
    hint: str = "",
) -> None:
    """Delete a child behind the operator's back, and wait until there is one again."""
    kind, name = child
    operator.settle()
    gone = delete_child(app, child)
    fail_unless_right(
        lambda: wrong(app) if gone() else f"{kind}/{name} is still being deleted",
        within=within,
        when=f"someone deleted {kind}/{name}, which {app} needs",
        expected=f"it is back within {within:g} s",
        hint=hint or "Watch what you create: an event of a child has to lead to a look at its owner.",
    )
    operator.settle()


def delete_child(app: CustomResource, child: tuple[str, str]) -> Callable[[], bool]:
    """Delete a child by its kind and name. Returns the question whether it's gone; another of its name may be there."""
    there = app.namespace.get(*child)
    app.namespace.delete(*child)

    def gone() -> bool:
        now = app.namespace.get(*child)
        return now is None or there is None or now["metadata"]["uid"] != there["metadata"]["uid"]

    return gone


def foreign_fields_survive(
    operator: Operator,
    app: CustomResource,
    *,
    child: tuple[str, str],
    change: Callable[[], object],
    patch: Mapping[str, Any] | None = None,
    within: float = 10,
    hint: str = "",
) -> None:
    """Let someone else write to a child, make the operator write to it as well (`change`), and see what's left.

    Without `patch`, someone adds an annotation and a label.
    """
    kind, name = child
    foreign = patch or {"metadata": {"annotations": {ANNOTATION: "keep"}, "labels": {ANNOTATION: "keep"}}}
    operator.settle()
    app.namespace.patch(kind, name, foreign, type="strategic")
    mark = operator.settle()
    _still_there(app, child, foreign, f"someone added to {kind}/{name}", hint)
    change()
    eventually(lambda: operator.recorder.since(mark).writes(kind, name=name), within=within)
    operator.settle()
    _still_there(app, child, foreign, f"someone added to {kind}/{name}, then the spec of {app} was changed", hint)


def _still_there(app: CustomResource, child: tuple[str, str], foreign: Mapping[str, Any], when: str, hint: str) -> None:
    now = app.namespace.get(*child)
    missing = sorted(absent(foreign, now or {}))
    if missing:
        raise Failure(
            when=when,
            expected="what others have added is still there",
            got=f"gone from {'/'.join(child)}: {', '.join(missing)}",
            hint=hint or HINT_FOREIGN_FIELDS,
        )


def absent(wanted: Any, there: Any, path: str = "") -> set[str]:
    """The paths of `wanted` that `there` does not have. Items of lists are found by their name."""
    if isinstance(wanted, Mapping):
        there = there if isinstance(there, Mapping) else {}
        return {
            gone
            for key, value in wanted.items()
            for gone in (absent(value, there[key], f"{path}.{key}") if key in there else {f"{path}.{key}".lstrip(".")})
        }
    if isinstance(wanted, list) and all(isinstance(item, Mapping) and "name" in item for item in wanted):
        named = {item.get("name"): item for item in there or [] if isinstance(item, Mapping)}
        return {
            gone
            for item in wanted
            for gone in (
                absent(item, named[item["name"]], f"{path}[{item['name']}]")
                if item["name"] in named
                else {f"{path}[{item['name']}]".lstrip(".")}
            )
        }
    return set() if wanted == there else {path.lstrip(".")}
