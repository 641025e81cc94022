"""Faults that a test writes itself: they work like the built-in ones, and half of one is refused when it's set."""

import pytest
from recorder_stage import Operator, Outsider

from converge.recorder import EventFault, Fault, Recorder, RequestFault, events, reads, writes
from converge.recorder.exchange import Exchange
from converge.recorder.stream import EventStream, PassingEvent


class Teapot(RequestFault):
    async def before(self, exchange: Exchange) -> bool:
        exchange.answer(418, b"{}")
        return True


class Third(EventFault):
    def on_event(self, passing: PassingEvent, stream: EventStream) -> bool:
        passing.copies = 3
        return False


def test_a_fault_of_ones_own_needs_no_other_place(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    watch = operator.watch()
    recorder.set_fault(Third(events("ConfigMap"), 1, 1, "three times"))
    teapot = recorder.set_fault(Teapot(reads(), 2, 1, "a teapot for"))
    outsider.create("cm-0")
    outsider.create("cm-1")
    assert watch.names(4) == ["cm-0", "cm-0", "cm-0", "cm-1"]
    assert [operator.get("cm-0")[0] for _ in range(3)] == [200, 418, 200]
    assert [each.name for each in recorder.faults] == ["three times event 1 of configmaps", "a teapot for read 2"]
    assert [each.status for each in teapot.fired] == [418]


class NoRequestAction(RequestFault):
    pass


class NoEventAction(EventFault):
    pass


class WrongPart(EventFault):
    async def before(self, exchange: Exchange) -> bool:
        return True

    def on_event(self, passing: PassingEvent, stream: EventStream) -> bool:
        return True


class OnlyAName(Fault):  # type: ignore[type-arg]
    pass


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            NoRequestAction(writes(), 1, 1, "x"),
            "NoRequestAction doesn't say what it does: define before or after",
        ),
        (NoEventAction(events(), 1, 1, "x"), "NoEventAction doesn't say what it does: define on_event"),
        (WrongPart(events(), 1, 1, "x"), "WrongPart defines before, but hits_request never says yes: define it"),
        (OnlyAName(events(), 1, 1, "x"), "OnlyAName hits nothing: subclass RequestFault or EventFault"),
    ],
)
def test_a_fault_that_leaves_a_part_out_is_refused(recorder: Recorder, fault: Fault, message: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(TypeError, match=message):
        recorder.set_fault(fault)
    recorder.clear_faults()


def test_a_fault_counts_from_one(recorder: Recorder) -> None:
    with pytest.raises(ValueError, match="nth counts from 1"):
        recorder.reset(writes(), nth=0)
