"""Watches break: they end, expire, or repeat themselves. What happened in the meantime still has to be found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from converge.recorder.matching import events
from converge.testing.attacks.until_right import fail_unless_right
from converge.testing.objects.custom_resource import CustomResource
from converge.testing.operator import Operator
from converge.testing.waits.waiting import eventually

Break = Literal["ended", "expired", "repeated"]
WORDS = {
    "ended": "all of its watches were ended right after its first write",
    "expired": "all of its watches were answered 410 right after its first write",
    "repeated": "every event was delivered twice",
}
HINT = "Watches end all the time. List again after a 410, and look at each object as it is, not at the event."


def broken_watches_lose_nothing(
    operator: Operator,
    how: Break,
    *,
    make: Callable[..., CustomResource],
    wrong: Callable[[CustomResource], str],
    within: float = 10,
    hint: str = "",
) -> CustomResource:
    """Create an object while the operator's watches break in this way. Returns the object."""
    recorder = operator.recorder
    operator.settle()
    mark = recorder.mark()
    fault = recorder.duplicate(events(), times=None) if how == "repeated" else None
    app = make()
    eventually(lambda: operator.own_writes(mark) or not wrong(app), within=within)
    if how == "ended":
        recorder.end_watches()
    elif how == "expired":
        recorder.expire_watches()
    fail_unless_right(lambda: wrong(app), within=within, when=f"{app} was created, and {WORDS[how]}", hint=hint or HINT)
    if fault:
        fault.remove()
    operator.settle()
    return app
