"""Counts children that were created more often than in a clean run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from converge.testing.operator import Operator
from converge.testing.verdicts.failure import Failure

if TYPE_CHECKING:
    from converge.recorder import RecordedRequest


def created(operator: Operator, mark: float, kinds: Mapping[str, int]) -> dict[str, list[RecordedRequest]]:
    """The creates of each kind since that mark that the server carried out."""
    here = operator.namespace.name
    asked = {kind: operator.recorder.since(mark).writes(kind, verb="create", namespace=here) for kind in kinds}
    done = {kind: [each for each in found if (each.status or 500) < 300] for kind, found in asked.items()}
    return {kind: found for kind, found in done.items() if found}


def fail_if_made_twice(operator: Operator, mark: float, kinds: Mapping[str, int], when: str, hint: str) -> None:
    """Complain if more children were created since that mark than `kinds` says of each kind."""
    many = {kind: found for kind, found in created(operator, mark, kinds).items() if len(found) > kinds[kind]}
    if many:
        lines = [line for kind, found in many.items() for line in [f"{len(found)} {kind}s:", *map(str, found)]]
        raise Failure(
            when=when,
            expected=", ".join(f"{kinds[kind]} {kind}s are created" for kind in many) + ", as on a good day",
            got="\n".join(lines),
            hint=hint,
        )
