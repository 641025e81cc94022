"""How often an operator looks around by the clock is read off its pauses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from converge.audit.clock import longest_pause


def asked(*moments: float) -> list[Any]:
    return [SimpleNamespace(time=each, resource="configmaps", is_watch=False) for each in moments]


def test_the_longest_pause_counts_also_before_the_first_request_and_after_the_last():
    assert longest_pause(asked(10, 30, 50), [], 0, 60) == 20
    assert longest_pause(asked(10), [], 0, 50) == 40


def test_one_that_asks_for_nothing_has_no_clock():
    assert longest_pause([], [], 0, 60) == 0


def test_an_answer_to_an_event_says_nothing_about_a_clock():
    assert longest_pause(asked(10.5), [10.0], 0, 60) == 0
    assert longest_pause(asked(10.5, 40), [10.0], 0, 60) == 40
