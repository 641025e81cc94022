"""Change something while the operator is down."""

from __future__ import annotations

from collections.abc import Callable

from converge.testing.attacks.until_right import fail_unless_right
from converge.testing.operator import Operator

HINT = "The event is lost for good. On start, compare the desired with the actual state, for every object."


def changes_while_down(
    operator: Operator,
    *,
    change: Callable[[], object],
    wrong: Callable[[], str],
    what: str = "things were changed",
    within: float = 10,
    hint: str = "",
) -> None:
    """Stop the operator, make the change, start it again: it has to find out by itself.

    `what` describes the change in words, in the past tense.
    """
    operator.stop()
    change()
    operator.start()
    fail_unless_right(
        wrong, within=within, when=f"{what} while the operator was down, then it was started", hint=hint or HINT
    )
