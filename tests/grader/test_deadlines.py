"""A busy machine gets more time, an idle one no less than was asked for."""

import os

import pytest

from converge.grader.session.plugin import alarm
from converge.testing.verdicts.failure import Failure
from converge.testing.waits import deadlines
from converge.testing.waits.deadlines import LARGEST_SCALE, scaled, shortened
from converge.testing.waits.waiting import eventually


@pytest.fixture
def crowd(monkeypatch: pytest.MonkeyPatch):
    def set_load(per_processor: float) -> None:
        monkeypatch.setattr(os, "getloadavg", lambda: (per_processor * 4, 0.0, 0.0))
        monkeypatch.setattr(os, "cpu_count", lambda: 4)

    return set_load


def test_an_idle_machine_waits_as_long_as_was_said(crowd) -> None:
    crowd(0.1)
    assert scaled(8) == 8


def test_twice_as_many_processes_as_processors_take_twice_as_long(crowd) -> None:
    crowd(2)
    assert scaled(8) == 16


def test_there_is_an_end_to_it(crowd) -> None:
    crowd(1000)
    assert scaled(8) == 8 * LARGEST_SCALE


def test_what_is_sure_not_to_come_gets_less_time(crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    crowd(0.1)
    monkeypatch.setattr(deadlines, "deadline_factor", 0.5)
    assert (shortened(8), scaled(8)) == (4, 8)
    monkeypatch.setattr(deadlines, "deadline_factor", 0.001)
    with pytest.raises(Failure) as caught:
        eventually(lambda: False, within=60, when="nothing was done")
    assert caught.value.expected.startswith("within 0 s")


def test_a_machine_that_becomes_busy_gives_more_time(crowd) -> None:
    crowd(1)
    asked = 0

    def probe() -> bool:
        nonlocal asked
        asked += 1
        crowd(1 if asked == 1 else 4)
        return False

    with pytest.raises(Failure) as caught:
        eventually(probe, within=0.05, when="nothing was done", expected="an answer")
    assert caught.value.expected == f"within {0.05 * 4:.0f} s: an answer"
    assert asked > 5


def test_a_check_gets_more_time_when_the_machine_becomes_busy(crowd) -> None:
    def expire(number: int, frame: object) -> None:
        raise TimeoutError

    crowd(1)
    with alarm(0.05, expire):
        crowd(5)
        assert not eventually(lambda: False, within=0.02)  # a tenth of a second
    with pytest.raises(TimeoutError), alarm(0.05, expire):
        eventually(lambda: False, within=60)
