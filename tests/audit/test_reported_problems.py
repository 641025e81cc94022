"""What counts as an answer: the operator tells the user that it doesn't carry out an edit."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from converge.audit.attacks.base import failed_phase, reports_problem


def condition(type: str, status: str, message: str = "why", reason: str = "Because") -> dict[str, str]:
    return {"type": type, "status": status, "message": message, "reason": reason}


class App:
    """An object with conditions and Warnings."""

    kind = "Shop"

    def __init__(self, uid: str, conditions: list[dict[str, str]], *warnings: str) -> None:
        self.uid = uid
        self.status: dict[str, Any] = {"conditions": conditions}
        events = [{"type": "Warning", "reason": each, "involvedObject": {"uid": uid}} for each in warnings]
        self.namespace = SimpleNamespace(list=lambda kind: events)


def asked(app: App, *well: App, clean: list[dict[str, str]]) -> bool:
    target: Any = SimpleNamespace(learned=SimpleNamespace(clean={"Shop": {"status": {"conditions": clean}}}))
    fakes: Any = (app, *well)
    return reports_problem(target, *fakes)


WELL = [condition("Available", "True"), condition("Degraded", "False", "all is as expected")]


@pytest.mark.parametrize(
    ("conditions", "warnings", "complaint"),
    [
        (WELL, (), False),
        ([condition("Available", "False")], (), True),
        ([condition("Available", "False", message="")], (), False),
        ([condition("Degraded", "True")], (), True),
        ([condition("Resized", "True")], (), False),
        (WELL, ("Refused",), True),
        (WELL, ("SlowStart",), False),
    ],
)
def test_only_what_no_healthy_object_says_is_a_complaint(conditions, warnings, complaint):
    fresh = App("fresh", WELL, "SlowStart")
    assert asked(App("edited", conditions, *warnings), fresh, clean=WELL) is complaint


def test_another_reason_is_a_complaint():
    """One that can't reach its Pods says so of every object, and of this one that it won't scale down."""
    usual = [condition("ReconcileSuccess", "False", "no answer from the Pod", reason="FailedCommand")]
    refused = [condition("ReconcileSuccess", "False", "scaling down isn't supported", reason="UnsupportedOperation")]
    assert asked(App("edited", refused), App("fresh", usual), clean=usual)


def test_what_an_edited_object_should_say_is_no_complaint():
    """Its spec asks for something that a new object with that spec also reports."""
    scaled_to_zero = [condition("Available", "False", "there are no replicas")]
    assert not asked(App("edited", scaled_to_zero), App("fresh", scaled_to_zero), clean=WELL)


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ({"phase": "Failed"}, "Failed"),
        ({"state": "ErrImageInvalid"}, "ErrImageInvalid"),
        ({"phase": "Running"}, ""),
        ({"phase": "Pending", "state": "Degraded"}, ""),  # as that of a healthy one
        ({"phase": {"name": "Failed"}}, ""),
        ({}, ""),
    ],
)
def test_a_phase_of_trouble_is_a_complaint(status, word):
    assert failed_phase(status, {"phase": "Running", "state": "Degraded"}) == word


def test_a_failed_phase_is_a_complaint():
    app = App("edited", WELL)
    assert not asked(app, clean=WELL)
    app.status["phase"] = "Failed"
    assert asked(app, clean=WELL)
