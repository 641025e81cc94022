"""Stale events: old, late, broken or lost. What a cache shows isn't what there is."""

from __future__ import annotations

import copy

from converge.audit.attacks.base import (
    ERROR,
    NOTE,
    Args,
    Attack,
    AttackContext,
    always,
    creates,
    few_edits,
    named_children,
    one_by_one,
)
from converge.audit.attacks.walks import NOT_AT_REST, follows_at_rest
from converge.audit.target import AuditTarget
from converge.testing import attacks
from converge.testing.verdicts.failure import Failure


def _old_cache(target: AuditTarget, context: AttackContext, args: Args) -> None:
    target.started()
    attacks.old_cache_destroys_nothing(
        target.operator,
        make=target.make,
        wrong=target.wrong,
        children=target.children,
        kind=target.kind,
        within=target.learned.patience,
    )


def _old_deletion(target: AuditTarget, context: AttackContext, args: Args) -> None:
    attacks.old_deletion_destroys_nothing(
        target.operator,
        make=target.make,
        wrong=target.wrong,
        children=target.children,
        lived=True,
        within=target.learned.patience,
    )


def _old_spec(target: AuditTarget, context: AttackContext, args: Args) -> str:
    """A note: an operator that takes the old spec for a new one and makes a child again does what it's asked to."""
    app = target.running()
    fresh = target.make(**copy.deepcopy(args["patch"]))
    target.operator.settle(within=target.learned.patience)
    target.expect(app, target.learned.look(fresh))
    try:
        attacks.old_spec_destroys_nothing(
            target.operator,
            app,
            change=lambda: target.edit(app, args["patch"]),
            wrong=target.wrong,
            children=[kind for kind in target.children if kind not in target.learned.random_names],
            within=target.learned.patience,
        )
    except Failure:
        if follows_at_rest(target, args, fresh):
            raise
        return NOT_AT_REST
    return ""


def _late_cases(context: AttackContext) -> list[Args]:
    return [{"kind": kind} for kind in creates(context)]


def _late_children(target: AuditTarget, context: AttackContext, args: Args) -> None:
    deletes = sum(each.verb == "delete" and each.kind == args["kind"] for each in context.learned.writes)
    target.started()
    attacks.late_children_are_not_doubled(
        target.operator,
        make=target.make,
        wrong=target.wrong,
        kind=args["kind"],
        creates=creates(context)[args["kind"]],
        deletes=deletes,
        within=target.learned.patience,
    )


def _late_news(target: AuditTarget, context: AttackContext, args: Args) -> None:
    target.started()
    attacks.late_news_change_nothing(
        target.operator,
        make=target.make,
        wrong=target.wrong,
        creates=creates(context),
        within=target.learned.patience,
    )


def _lost_cases(context: AttackContext) -> list[Args]:
    """An object that it didn't hear of; and of each kind that it watches, a child whose end it didn't hear of."""
    watched = {each.kind for each in context.learned.requests if each.is_watch}
    first: dict[str, Args] = {}
    for each in named_children(context):
        first.setdefault(each["child"].partition("/")[0], {"lost": "a child's deletion", **each})
    if context.learned.ends:
        return [{"lost": "a creation"}]
    return [{"lost": "a creation"}, *(case for kind, case in first.items() if kind in watched)]


def _lost_news(target: AuditTarget, context: AttackContext, args: Args) -> None:
    if args["lost"] == "a creation":
        target.started()
        attacks.lost_creation_is_found(
            target.operator, make=target.make, wrong=target.wrong, within=target.learned.patience
        )
        return
    app = target.running()
    child = target.child(app, args["child"])
    attacks.lost_deletion_is_found(target.operator, app, target.wrong, child=child, within=target.learned.patience)


def _watches(target: AuditTarget, context: AttackContext, args: Args) -> None:
    target.started()
    attacks.broken_watches_lose_nothing(
        target.operator, args["how"], make=target.make, wrong=target.wrong, within=target.learned.patience
    )


ATTACKS = (
    Attack(
        "old-deletion",
        "a list in which an earlier namesake is being deleted",
        ERROR,
        always({}),
        one_by_one(_old_deletion),
    ),
    Attack(
        "old-spec",
        "a list from before its spec was changed",
        NOTE,
        few_edits,
        one_by_one(_old_spec),
        edits=True,
        keeps=True,
    ),
    Attack("old-cache", "a list from before the object was created", ERROR, always({}), one_by_one(_old_cache)),
    Attack("late-children", "news of its children comes late", ERROR, _late_cases, one_by_one(_late_children)),
    Attack("late-news", "all news comes two seconds late", ERROR, always({}), one_by_one(_late_news)),
    Attack("lost-news", "events are lost, then the watch expires", ERROR, _lost_cases, one_by_one(_lost_news)),
    Attack(
        "watches",
        "its watches end, expire, and repeat themselves",
        ERROR,
        always({"how": "ended"}, {"how": "expired"}, {"how": "repeated"}),
        one_by_one(_watches),
    ),
)
