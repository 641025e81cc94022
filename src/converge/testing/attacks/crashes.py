"""Crash the operator at each of its writes, one after the other, and see whether it still gets there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Literal

from converge.testing.attacks.until_right import fail_unless_right, wait_until_right
from converge.testing.objects.custom_resource import CustomResource
from converge.testing.operator import Operator
from converge.testing.waits.idle import wait_until_idle
from converge.testing.waits.waiting import eventually

if TYPE_CHECKING:
    from converge.recorder.matching import RequestMatch

Moment = Literal["after", "before"]
Wrong = Callable[[CustomResource], str]
MAX_WRITES = 15  # writes for one object; an operator that needs more is not crashed at the rest

HINTS: dict[Moment, str] = {
    "after": "Whatever was done before the crash is in the cluster: look there, not in memory, and go on from what you "
    "find.",
    "before": "Nothing of that write has happened. Every pass has to look at everything again, not only at what was "
    "new.",
}


def crash_after_every_write(
    operator: Operator,
    *,
    make: Callable[[], CustomResource],
    wrong: Wrong,
    within: float = 10,
    hint: str = "",
    most: int = MAX_WRITES,
) -> None:
    """Kill the operator right after its first write, start it, let it finish; then after its second, and so on.

    The write has happened, and the operator doesn't know. Each round has a new object. The attack ends after `most`
    rounds.
    """
    _crash(operator, make, wrong, "after", within, hint, most)


def crash_before_every_write(
    operator: Operator,
    *,
    make: Callable[[], CustomResource],
    wrong: Wrong,
    within: float = 10,
    hint: str = "",
) -> None:
    """The same, but the write at which the operator dies never reaches the server."""
    _crash(operator, make, wrong, "before", within, hint)


def crash_at_write(
    operator: Operator,
    number: int,
    moment: Moment,
    *,
    make: Callable[[], CustomResource],
    wrong: Wrong,
    match: RequestMatch | None = None,
    within: float = 10,
    hint: str = "",
) -> bool:
    """Make an object and kill the operator at its write of that number, start it, and let it finish.

    False when it needed fewer writes than that. `match` says which requests count; without it every write does.
    """
    from converge.recorder import writes

    recorder, hint = operator.recorder, hint or HINTS[moment]
    operator.settle()  # what is left of the round before must not be counted in this one
    order = recorder.kill_after if moment == "after" else recorder.kill_before
    fault = order(match or writes(), nth=number, kill=operator.crash)
    mark = recorder.mark()
    app = make()
    wait_until_right(lambda: not operator.running or not wrong(app), within=within)
    wait_until_idle(operator, within, unless=lambda: not operator.running)
    if not fault.fired:  # it needed fewer writes than that: every one of them has had its crash
        fault.remove()
        when = f"{app} was created, after {number - 1} objects at whose writes the operator had been killed"
        fail_unless_right(partial(wrong, app), within=within, when=when, hint=hint)
        return False
    eventually(lambda: not operator.running, within=within)
    last = fault.fired[0] if match else recorder.since(mark).writes()[-1]
    operator.start()
    when = f"{app} was created; the operator was killed right {moment} write number {number}, then started again"
    fail_unless_right(partial(wrong, app), within=within, when=f"{when}\nthat write was: {last}", hint=hint)
    return True


def _crash(
    operator: Operator,
    make: Callable[[], CustomResource],
    wrong: Wrong,
    moment: Moment,
    within: float,
    hint: str,
    most: int = MAX_WRITES,
) -> None:
    if not operator.running:
        operator.start()
    for number in range(1, most + 1):
        if not crash_at_write(operator, number, moment, make=make, wrong=wrong, within=within, hint=hint):
            return
