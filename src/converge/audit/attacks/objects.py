"""More than one object, the end of one, and more than one operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from converge.audit.attacks.base import (
    ERROR,
    NOTE,
    Args,
    Attack,
    AttackContext,
    Outcome,
    always,
    creates,
    goes_with,
    one_by_one,
)
from converge.audit.target import AuditTarget
from converge.testing import attacks
from converge.testing.attacks.replicas import CannotRunTwiceError
from converge.testing.verdicts.failure import Failure

HINT_ELECTION = (
    "It asked for no Lease: two processes act at once, as they do for a moment in every rolling update. "
    "Turn its leader election on, or let it be replaced with `strategy: Recreate`."
)


def _deletion(target: AuditTarget, context: AttackContext, args: Args) -> None:
    app = target.running()
    attacks.deletion_leaves_nothing(
        target.operator,
        app,
        children=target.children,
        propagation="Foreground" if args["how"] == "foreground" else None,
        while_down=args["how"] == "while-down",
        children_first=args["how"] == "children-first",
        belongs=goes_with,
        within=target.learned.patience,
    )


def _two_objects(target: AuditTarget, context: AttackContext, args: Args) -> None:
    target.started()
    attacks.two_objects_are_independent(
        target.operator,
        make=target.make,
        wrong=target.wrong,
        children=target.children,
        within=target.learned.patience,
    )


def _two_replicas(target: AuditTarget, context: AttackContext, cases: Sequence[Args]) -> Iterator[Outcome]:
    """Two processes of it. Where it elects no leader nobody promised that this works, so that's worth a note."""
    elects = context.learned.elects
    for args in cases:
        target.started()
        try:
            attacks.two_replicas_are_as_good_as_one(
                target.operator,
                make=target.make,
                wrong=target.wrong,
                creates=creates(context),
                elects=elects,
                within=target.learned.patience,
                hint="" if elects else HINT_ELECTION,
            )
            yield Outcome(args)
        except CannotRunTwiceError as reason:
            yield Outcome(args, answer=f"a second process can't run beside the first: {reason}")
        except Failure as failure:
            yield Outcome(args, failure, severity="" if elects else NOTE)


ATTACKS = (
    Attack(
        "deletion",
        "the object is deleted",
        ERROR,
        always({"how": "background"}, {"how": "foreground"}, {"how": "while-down"}, {"how": "children-first"}),
        one_by_one(_deletion),
    ),
    Attack("two-objects", "two objects, and one is deleted", ERROR, always({}), one_by_one(_two_objects)),
    Attack("two-replicas", "two processes of it, of which one is killed", ERROR, always({}), _two_replicas),
)
