"""Killed at each of its writes, and started again."""

from __future__ import annotations

from typing import Any

from converge.audit.attacks.base import ERROR, Args, Attack, AttackContext, Single, named, one_by_one
from converge.audit.audited_operator import AuditedOperator
from converge.audit.target import AuditTarget
from converge.recorder import writes
from converge.testing import attacks

MOST_WRITES = 12  # of one object at which it's killed


def counted_writes(operator: AuditedOperator) -> Any:
    """Every write that is about state."""
    return writes(where=lambda request: not operator.ignored(request))


def _cases(context: AttackContext) -> list[Args]:
    found = context.learned.writes[:MOST_WRITES]
    return [{"write": number, "request": named(each)} for number, each in enumerate(found, 1)]


def _killed(moment: Any) -> Single:
    def run(target: AuditTarget, context: AttackContext, args: Args) -> str:
        operator = target.started()
        struck = attacks.crash_at_write(
            operator,
            args["write"],
            moment,
            make=target.make,
            wrong=target.wrong,
            match=counted_writes(operator),
            within=target.learned.patience,
        )
        operator.settle(within=target.learned.patience)
        return "" if struck else "this time it needed fewer writes"

    return run


ATTACKS = (
    Attack("killed-after", "killed right after each of its writes", ERROR, _cases, one_by_one(_killed("after"))),
    Attack("killed-before", "killed right before each of its writes", ERROR, _cases, one_by_one(_killed("before"))),
)
