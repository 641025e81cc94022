"""Someone else also writes to the status, at the worst moment: what they wrote has to stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from converge.recorder.matching import events, writes
from converge.testing.attacks.until_right import fail_unless_right
from converge.testing.objects.custom_resource import CustomResource
from converge.testing.objects.namespace import Namespace
from converge.testing.operator import Operator
from converge.testing.verdicts.failure import Failure
from converge.testing.waits.waiting import eventually

HINT_LATE_WATCH = "The list of conditions is written whole, from a copy that is older than theirs. Who notices?"
HINT_FRESH_READ = (
    "A fresh read is not enough: the write comes later. The server compares, if you say what you have read."
)
HINT_CONFLICT = "After a conflict: read again, and report again."
ADDED, CHANGED, REMOVED = "CertificateReady", "BackupDone", "MigrationRunning"


def rival_has_conditions(rival: Namespace, app: CustomResource) -> None:
    """Let a rival set two conditions beforehand. When it writes again, it changes one of them and removes the other."""
    body = [
        {"op": "add", "path": "/status/conditions/-", "value": condition_of(rival, type, "False")}
        for type in (CHANGED, REMOVED)
    ]
    rival.patch(app.kind, app.name, body, type="json", subresource="status")


def late_watch_loses_nothing(
    operator: Operator,
    app: CustomResource,
    rival: Namespace,
    *,
    change: Callable[[], object],
    wrong: Callable[[CustomResource], str],
    hint: str = "",
) -> None:
    """Let a rival set a condition that the operator doesn't hear about while it carries out `change` and reports.

    The event of the change comes through, all later ones of the object are held back. The rival writes when the
    operator's first write to a child is on its way: after it has read the object, and before it writes the status.
    """
    theirs: dict[str, Any] = {}
    held = operator.recorder.hold(events(app.kind, name=app.name), nth=2)
    operator.recorder.meanwhile(writes(besides=(app.kind,)), lambda: theirs.update(interfere(rival, app)))
    mark = operator.recorder.mark()
    change()
    _reports(lambda: theirs and operator.recorder.since(mark).writes(app.kind), f"{app} was changed")
    held.release()
    when = "someone set a condition; the operator, whose watch was late, then wrote the status"
    _stays(operator, app, theirs, wrong, when, hint or HINT_LATE_WATCH)


def write_in_between_is_not_lost(
    operator: Operator,
    app: CustomResource,
    rival: Namespace,
    *,
    change: Callable[[], object],
    wrong: Callable[[CustomResource], str],
    hint: str = "",
) -> None:
    """Let a rival set a condition while a write that `change` leads to is on its way to the server."""
    theirs: dict[str, Any] = {}
    operator.recorder.meanwhile(writes(app.kind), lambda: theirs.update(interfere(rival, app)))
    change()
    _reports(lambda: theirs, f"{app} was changed")
    when = "while a write of the operator's was on its way to the server, someone else set a condition"
    _stays(operator, app, theirs, wrong, when, hint or HINT_FRESH_READ)


def interfere(rival: Namespace, app: CustomResource) -> dict[str, Any]:
    """Someone else adds a condition, and changes and removes those that it has; what there is of each from then on."""
    there = [each["type"] for each in app.status.get("conditions", [])]
    theirs: dict[str, Any] = {ADDED: condition_of(rival, ADDED)}
    body: list[dict[str, Any]] = []
    for type in (CHANGED, REMOVED):
        if type in there:
            theirs[type] = condition_of(rival, type) if type == CHANGED else None
            place = f"/status/conditions/{there.index(type)}"
            body.append({"op": "test", "path": f"{place}/type", "value": type})
            new = {"op": "replace", "path": place, "value": theirs[type]}
            body.append(new if type == CHANGED else {"op": "remove", "path": place})
    body.append({"op": "add", "path": "/status/conditions/-", "value": theirs[ADDED]})
    rival.patch(app.kind, app.name, body, type="json", subresource="status")
    return theirs


def set_condition(rival: Namespace, app: CustomResource) -> dict[str, Any]:
    """Someone else adds a condition of their own."""
    theirs = condition_of(rival, ADDED)
    body = [{"op": "add", "path": "/status/conditions/-", "value": theirs}]
    rival.patch(app.kind, app.name, body, type="json", subresource="status")
    return theirs


def condition_of(rival: Namespace, type: str, status: str = "True") -> dict[str, Any]:
    return {
        "type": type,
        "status": status,
        "reason": "Issued",
        "message": rival.new_name(),
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


class NothingReported(Failure):
    """The change led to no write of the status: there was nothing to lose."""


def _reports(written: Callable[[], object], when: str) -> None:
    try:
        eventually(
            written,
            when=when,
            expected="the operator writes to its status",
            hint="The number of available Pods has changed.",
        )
    except Failure as failure:
        raise NothingReported(**failure.parts()) from None


def _stays(
    operator: Operator,
    app: CustomResource,
    theirs: dict[str, Any],
    wrong: Callable[[CustomResource], str],
    when: str,
    hint: str,
) -> None:
    """When all is quiet, their condition is there, and what the operator reports is right."""
    fail_unless_right(lambda: wrong(app), within=15, when=when, hint=HINT_CONFLICT)
    operator.settle()
    for type, wanted in theirs.items():
        if app.condition(type) != wanted:
            got = [f"{each['type']}={each['status']}" for each in app.status.get("conditions", [])]
            said = "as they set it" if wanted else "gone, since they removed it"
            raise Failure(
                when=when,
                expected=f"their condition {type} is {said}",
                got=f"conditions {', '.join(got)}",
                hint=hint,
            )
