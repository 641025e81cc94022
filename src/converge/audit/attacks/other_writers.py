"""Other writers: people who delete and edit children, add to them, take their names, and set conditions."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence

from converge.audit import drifts, snapshot
from converge.audit.attacks.base import (
    ERROR,
    NOTE,
    WARNING,
    Args,
    Attack,
    AttackContext,
    Outcome,
    as_args,
    child_cases,
    failed_phase,
    named_children,
    one_by_one,
)
from converge.audit.target import AuditTarget
from converge.testing import attacks
from converge.testing.attacks.concurrent_writers import NothingReported, set_condition
from converge.testing.objects.custom_resource import CustomResource
from converge.testing.verdicts.failure import Failure


def _child_deleted(target: AuditTarget, context: AttackContext, args: Args) -> str:
    """A child that went with its object's state can't come back: an operator may say instead that it has failed."""
    app = target.running()
    child = target.child(app, args["child"])
    try:
        attacks.heals_deletion(target.operator, app, target.wrong, child=child, within=target.learned.patience)
    except Failure:
        clean = context.learned.clean.get(app.kind, {}).get("status", {})
        if not (word := failed_phase(app.status, clean)):
            raise
        return f"the operator doesn't bring it back, and says so: {word}"
    return ""


def _drift_cases(context: AttackContext) -> list[Args]:
    return [
        {"child": args["child"], "field": drift.field}
        for args in named_children(context)
        for drift in drifts.of(context.learned.examples.get(args["child"]))
        if not context.learned.mask.hides(f"{args['child']}.{drift.field}")
    ]


def _child_edited(target: AuditTarget, context: AttackContext, args: Args) -> None:
    app = target.running()
    kind, name = target.child(app, args["child"])
    there = target.testbed.namespace.get(kind, name)
    drift = next(each for each in drifts.of(there) if each.field == args["field"])
    attacks.heals_drift(
        target.operator,
        app,
        target.wrong,
        drifts={drift.field: (kind, name, drift.patch)},
        within=target.learned.patience,
    )


def _foreign(target: AuditTarget, context: AttackContext, args: Args) -> None:
    """The operator writes because of an edit. Where that replaces the child, what others added goes with it."""
    app = target.running()
    kind, name = target.child(app, args["child"])
    before = target.testbed.namespace.get(kind, name)

    def check(change: Callable[[], object], child: tuple[str, str]) -> None:
        attacks.foreign_fields_survive(target.operator, app, child=child, change=change, within=3)

    if not context.edits:
        check(target.operator.restart, (kind, name))
        return
    try:
        check(lambda: target.edit(app, context.edits[0].patch), (kind, name))
    except Failure:
        now = target.testbed.namespace.get(kind, name)
        if now and before and now["metadata"]["uid"] == before["metadata"]["uid"]:
            raise
        check(target.operator.restart, target.child(app, args["child"]))


def _stranger_cases(context: AttackContext) -> list[Args]:
    return [each for each in named_children(context) if "NAME" in each["child"]]


def _stranger(target: AuditTarget, context: AttackContext, args: Args) -> None:
    target.started()
    example, first = context.learned.examples[args["child"]], context.learned.first
    assert first is not None
    attacks.stranger_is_left_alone(
        target.operator,
        make=target.make,
        stranger=lambda name: drifts.stranger(example, first.name, name),
        within=5,
    )


def _rival_cases(context: AttackContext) -> list[Args]:
    """Another writer of conditions, where there are conditions and an edit that makes the operator report."""
    own = context.learned.clean.get(context.learned.kind, {}).get("status", {})
    if not isinstance(own.get("conditions"), list) or not context.edits:
        return []
    edit = as_args(context.edits[0])
    return [{"how": how, "edit": edit} for how in ("late watch", "in between")]


class LostOnAGoodDayError(Failure):
    """The condition goes without any attack: nobody promised that it stays."""


def _rival(target: AuditTarget, context: AttackContext, cases: Sequence[Args]) -> Iterator[Outcome]:
    """A condition of someone else's must survive. One that doesn't on a good day either is worth a note."""
    for args in cases:
        try:
            yield Outcome(args, answer=_interfere(target, args))
        except LostOnAGoodDayError as failure:
            yield Outcome(args, failure, severity=NOTE)
        except Failure as failure:
            yield Outcome(args, failure)


def _interfere(target: AuditTarget, args: Args) -> str:
    """Set a condition at the worst moment; an answer in words if that proves nothing."""
    from converge.runtime import ApiError

    rival, patch = target.testbed.namespace.second_writer(), args["edit"]["patch"]
    app = target.running()
    try:
        theirs = set_condition(rival, app)
    except ApiError:
        return "its status takes no other conditions"
    target.edit(app, patch)
    target.operator.settle(within=target.learned.patience)
    if app.condition(theirs["type"]) != theirs:
        raise LostOnAGoodDayError(
            when=f"someone set a condition of {app}, and then its spec was changed",
            expected=f"their condition {theirs['type']} is as they set it",
            got="it's gone: the operator takes all conditions for its own",
            hint="Conditions are a map by type. Write yours, and leave those of others where they are.",
        )
    fresh = target.make(**copy.deepcopy(patch))
    target.operator.settle(within=target.learned.patience)
    edited, conditions = target.learned.look(fresh), f"{target.kind}.status.conditions"

    def wrong(app: CustomResource) -> str:
        found = target.learned.mask.differences(target.learned.look(app), edited)
        return snapshot.in_words([each for each in found if not each.path.startswith(conditions)])

    attack = attacks.late_watch_loses_nothing if args["how"] == "late watch" else attacks.write_in_between_is_not_lost
    app = target.running()
    attacks.rival_has_conditions(rival, app)
    target.operator.settle(within=target.learned.patience)
    try:
        attack(target.operator, app, rival, change=lambda: target.edit(app, patch), wrong=wrong)
    except NothingReported:
        return "this edit leads to no report"
    return ""


ATTACKS = (
    Attack("child-deleted", "a child is deleted by hand", ERROR, child_cases, one_by_one(_child_deleted), keeps=True),
    Attack("child-edited", "a child is edited by hand", WARNING, _drift_cases, one_by_one(_child_edited), keeps=True),
    Attack("foreign-fields", "someone else adds to a child", WARNING, child_cases, one_by_one(_foreign), edits=True),
    Attack("name-taken", "someone else's object has a child's name", WARNING, _stranger_cases, one_by_one(_stranger)),
    Attack("rival", "someone else sets a condition", WARNING, _rival_cases, _rival, edits=True),
)
