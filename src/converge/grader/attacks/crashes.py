"""Crash the operator at each of its writes, one after the other, and see whether it gets there all the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from converge.grader.attacks.converging import converge
from converge.grader.objects import Custom
from converge.grader.operator import Operator
from converge.grader.rest import wait_for_rest
from converge.grader.waiting import eventually

Wrong = Callable[[Custom], str]
MOST = 15  # writes for one object; an operator that needs more is not crashed at the rest

AFTER = "Whatever was done before the crash is in the cluster: look there, not in memory, and go on from what you find."
BEFORE = "Nothing of that write has happened. Every pass has to look at everything again, not only at what was new."


def crash_after_every_write(
    operator: Operator,
    *,
    make: Callable[[], Custom],
    wrong: Wrong,
    within: float = 10,
    hint: str = "",
    most: int = MOST,
) -> None:
    """Kill the operator right after its first write, start it, let it finish; then after its second, and so on.

    The write has happened; the operator has not heard of it. Each round has a new object. After `most` rounds it is
    enough.
    """
    _crash(operator, make, wrong, "after", within, hint or AFTER, most)


def crash_before_every_write(
    operator: Operator,
    *,
    make: Callable[[], Custom],
    wrong: Wrong,
    within: float = 10,
    hint: str = "",
) -> None:
    """The same, but the write at which the operator dies never reaches the server."""
    _crash(operator, make, wrong, "before", within, hint or BEFORE)


def _crash(
    operator: Operator,
    make: Callable[[], Custom],
    wrong: Wrong,
    moment: Literal["after", "before"],
    within: float,
    hint: str,
    most: int = MOST,
) -> None:
    from converge.grader.recorder import writes

    recorder = operator.recorder
    if not operator.running:
        operator.start()
    for number in range(1, most + 1):
        operator.settle()  # what is left of the round before must not be counted in this one
        order = recorder.kill_after if moment == "after" else recorder.kill_before
        fault = order(writes(), nth=number, kill=operator.crash)
        mark = recorder.mark()
        app = make()
        eventually(lambda: not operator.running or not wrong(app), within=within)  # noqa: B023 - asked right here
        wait_for_rest(operator, within, unless=lambda: not operator.running)
        if operator.running:  # it needed fewer writes than that: every one of them has had its crash
            fault.remove()
            when = f"{app} was created, after {number - 1} objects at whose writes the operator had been killed"
            converge(partial(wrong, app), within=within, when=when, hint=hint)
            return
        last = recorder.since(mark).writes()[-1]
        operator.start()
        when = f"{app} was created; the operator was killed right {moment} write number {number}, then started again"
        converge(partial(wrong, app), within=within, when=f"{when}\nthat write was: {last}", hint=hint)
