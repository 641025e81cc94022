"""Nothing to do is nothing done: count the writes of an operator whose objects are all as they should be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from converge.grader.objects import Custom
from converge.grader.operator import Operator
from converge.grader.verdict import Failure
from converge.grader.waiting import eventually

if TYPE_CHECKING:
    from converge.grader.recorder import Request

HINT = "Compare what is there with what you want, field by field that you own, and write only when they differ."


def zero_writes_at_rest(operator: Operator, app: Custom, *, restart: bool = True, hint: str = "") -> None:
    """No write when nothing changed, when the object is only touched, and when the operator starts anew.

    After a touch and after a start, kopf notes down for itself what it has seen: that is not the operator's doing.
    """
    recorder = operator.recorder
    mark = operator.settle()
    operator.settle()
    _none(recorder.since(mark).writes(), f"{app} was as it should be, and nobody touched anything", hint)
    mark = recorder.mark()
    version = app.poke()["metadata"]["resourceVersion"]
    eventually(lambda: _has_seen(operator, app, mark, version), within=5)
    operator.settle()
    _none(operator.own_writes(mark), f"an annotation of {app} was touched: an event, and nothing to do", hint)
    if restart:
        operator.stop()
        mark = recorder.mark()
        operator.start()
        operator.settle()
        _none(operator.own_writes(mark), f"the operator was started again with {app} as it should be", hint)


def _has_seen(operator: Operator, app: Custom, mark: float, version: str) -> bool:
    """Whether the operator was told of the touch: by an event of a watch, or by a list or get of its own."""
    since = operator.recorder.since(mark)
    return bool(since.delivered(app.kind, name=app.name)) or any(
        read.duration is not None and read.verb in ("list", "get") for read in since.reads(app.kind)
    )


def _none(written: list[Request], when: str, hint: str) -> None:
    written = [each for each in written if each.kind != "Lease"]  # a leader renews it, and does nothing by that
    if not written:
        return
    futile = sum(each.changed is False for each in written)
    listed = "\n".join(map(str, written[:6])) + ("\n…" if len(written) > 6 else "")
    raise Failure(
        when=when,
        expected="no write at all",
        got=f"{len(written)} write(s), {futile} of which changed nothing:\n{listed}",
        hint=hint or HINT,
    )
