"""Every path of spec changes has to end where a fresh start with the last spec ends."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from converge.testing.attacks.compare import comparable_children, differing_lines
from converge.testing.objects.custom_resource import CustomResource
from converge.testing.operator import Operator
from converge.testing.verdicts.failure import Failure

HINT = "What an old spec asked for and the new one does not has to go: labels, containers, fields, objects."


def path_independence(
    operator: Operator,
    *,
    make: Callable[..., CustomResource],
    fields: Sequence[str],
    children: Sequence[str],
    steps: int = 6,
    hint: str = "",
) -> None:
    """Change random fields of a spec `steps` times, some while the operator is still busy; compare with a fresh object.

    `fields` are the fields of the spec that this lab knows, `children` the kinds to compare.
    """
    if not operator.running:
        operator.start()
    walked = make()
    operator.settle()
    walk = []
    for _ in range(steps):
        change = random_change(walked, fields)
        walk.append(change)
        walked.edit(**change)
        if random.random() < 0.4:
            operator.settle()
    fresh = make(**walked.spec)
    operator.settle()
    different = differing_lines(comparable_children(walked, children), comparable_children(fresh, children))
    if different:
        raise Failure(
            when=f"the spec of {walked} was changed {steps} times:\n" + "\n".join(json.dumps(step) for step in walk),
            expected="the same as for a new object with the last spec:\n" + "\n".join(new for _, new in different[:6]),
            got="\n".join(old for old, _ in different[:6]),
            hint=hint or HINT,
        )


def random_change(app: CustomResource, fields: Sequence[str]) -> dict[str, Any]:
    """One or two fields with new values that the schema of the CRD allows."""
    draw = app.namespace.random_fields()
    return {field: draw[field]() for field in random.sample(list(fields), min(2, len(fields)))}
