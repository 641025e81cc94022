"""What attacks share: waiting until nothing is wrong anymore."""

from __future__ import annotations

from collections.abc import Callable

from converge.testing.verdicts.failure import Failure
from converge.testing.waits import deadlines
from converge.testing.waits.waiting import Questions, eventually

#: Asked while an attack waits; one that says yes ends the wait before its deadline, because nothing will change.
stop_waiting_hooks: Questions[bool] = Questions()


def wait_until_right(right: Callable[[], bool], *, within: float) -> bool:
    """Wait until `right()`, or until there's no hope of it. Returns whether it came right."""
    was_right = False

    def over() -> bool:
        nonlocal was_right
        was_right = right()
        return was_right or any(each() for each in stop_waiting_hooks)

    eventually(over, within=within)
    return was_right


def fail_unless_right(wrong: Callable[[], str], *, within: float, when: str, hint: str, expected: str = "") -> None:
    """Wait until `wrong()` has nothing to say, or fail the check with what it says."""
    patience = within * deadlines.deadline_factor
    if not wait_until_right(lambda: not wrong(), within=patience) and (problem := wrong()):
        raise Failure(
            when=when, expected=expected or f"within {within:g} s all is as the spec says", got=problem, hint=hint
        )
