"""Nothing to do is nothing done: count the writes of an operator whose objects are all as they should be."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from converge.testing.objects.custom_resource import CustomResource
from converge.testing.operator import Operator
from converge.testing.verdicts.evidence import counted
from converge.testing.verdicts.failure import Failure
from converge.testing.waits.waiting import eventually, interruptions

if TYPE_CHECKING:
    from converge.recorder import RecordedRequest

MOST_WRITES_SHOWN = 6  # writes at rest: more would tell the same
HINT = "Compare what is there with what you want, field by field that you own, and write only when they differ."


def zero_writes_at_rest(operator: Operator, app: CustomResource, *, restart: bool = True, hint: str = "") -> None:
    """No write when nothing changed, when the object is only touched, and when the operator starts again.

    After a touch and after a start, kopf writes its own notes on the object. Those don't count.
    """
    mark = operator.settle()
    operator.settle()
    _none(operator.recorder.since(mark).writes(), f"{app} was as it should be, and nobody touched anything", hint)
    no_writes_after_touch(operator, app, hint=hint)
    if restart:
        no_writes_after_restart(operator, app, hint=hint)


def no_writes_after_touch(operator: Operator, app: CustomResource, *, hint: str = "") -> None:
    """No write when the object gets an event that changes nothing."""
    mark = operator.recorder.mark()
    version = app.poke()["metadata"]["resourceVersion"]
    eventually(lambda: _has_seen(operator, app, mark, version), within=5)
    operator.settle()
    _none(operator.own_writes(mark), f"an annotation of {app} was touched: an event, and nothing to do", hint)


def no_writes_after_restart(operator: Operator, app: CustomResource, *, hint: str = "") -> None:
    """No write when the operator starts again."""
    operator.stop()
    mark = operator.recorder.mark()
    operator.start()
    operator.settle()
    _none(operator.own_writes(mark), f"the operator was started again with {app} as it should be", hint)


def no_writes_left_alone(operator: Operator, app: CustomResource, *, seconds: float, hint: str = "") -> None:
    """No write for that many seconds in which nothing happens: long enough to catch what runs on a timer."""
    mark = operator.settle()
    ends = time.monotonic() + seconds
    while (left := ends - time.monotonic()) > 0:
        if operator.recorder.wait_for(lambda: len(operator.own_writes(mark)) >= MOST_WRITES_SHOWN, min(left, 0.5)):
            break
        for each in interruptions:
            each()
    _none(operator.own_writes(mark), f"{app} was as it should be, and nobody touched anything for {seconds:g} s", hint)


def _has_seen(operator: Operator, app: CustomResource, mark: float, version: str) -> bool:
    """Whether the operator heard of the touch: by an event of it or a later one, or by a list or get of its own."""
    since = operator.recorder.since(mark)
    heard = [int(event.resource_version or 0) for event in since.delivered(app.kind, name=app.name)]
    return any(each >= int(version) for each in heard) or any(
        read.duration is not None and read.verb in ("list", "get") for read in since.reads(app.kind)
    )


def _none(written: list[RecordedRequest], when: str, hint: str) -> None:
    # A leader renews its Lease and changes nothing by that. The kind is known only once the server has answered.
    written = [each for each in written if each.resource != "leases"]
    if not written:
        return
    futile = sum(each.changed is False for each in written)
    lines = counted([str(each) for each in written])
    listed = "\n".join(lines[:6]) + ("\n…" if len(lines) > 6 else "")
    many = "1 write" if len(written) == 1 else f"{len(written)} writes"
    raise Failure(
        when=when,
        expected="no write at all",
        got=f"{many}, {futile} of which changed nothing:\n{listed}",
        hint=hint or HINT,
    )
