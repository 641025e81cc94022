"""What attacks share: waiting until nothing is wrong anymore."""

from __future__ import annotations

import time
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
    patience, began = within * deadlines.deadline_factor, time.monotonic()
    if not wait_until_right(lambda: not wrong(), within=patience) and (problem := wrong()):
        waited = time.monotonic() - began
        given_up = f"we stopped waiting after {waited:.0f} s: the operator had fallen silent"
        raise Failure(
            when=when,
            expected=expected or f"within {within:g} s all is as the spec says",
            got=problem,
            seen=[given_up] if waited < within - 1 else (),
            hint=hint,
        )
