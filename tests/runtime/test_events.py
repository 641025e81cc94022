"""Events, as a real server keeps them: each remark once, about one object, and never at the price of a reconcile."""

import logging

import pytest

from converge.recorder import writes
from converge.runtime import EventRecorder


@pytest.fixture
def about(admin, namespace):
    return admin.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": namespace}})


def remarks(admin, about):
    found = admin.list("v1", "Event", about["metadata"]["namespace"])
    return [each for each in found if each["involvedObject"]["uid"] == about["metadata"]["uid"]]


def test_an_event_says_what_happened_to_which_object(client, admin, about):
    EventRecorder(client, "the-operator").event(about, "NameTaken", "someone was here", type="Warning")
    (event,) = remarks(admin, about)
    assert (event["type"], event["reason"], event["message"]) == ("Warning", "NameTaken", "someone was here")
    assert event["involvedObject"]["kind"] == "ConfigMap"
    assert event["source"]["component"] == "the-operator"


def test_what_was_said_is_not_sent_again(client, admin, about, recorder):
    events = EventRecorder(client, "the-operator")
    for _ in range(3):
        events.event(about, "Ready", "all is well")
    assert len(recorder.writes("Event")) == 1
    events.event(about, "Ready", "all is very well")
    assert len(remarks(admin, about)) == 2


def test_an_operator_that_was_restarted_does_not_say_it_twice(client, admin, about):
    for _ in range(2):
        EventRecorder(client, "the-operator").event(about, "Ready", "all is well")
    assert len(remarks(admin, about)) == 1


def test_an_event_that_cannot_be_written_is_logged_and_tried_again(client, admin, about, recorder, caplog):
    events = EventRecorder(client, "the-operator")
    with recorder.fail(writes("Event"), status=403), caplog.at_level(logging.WARNING):
        events.event(about, "Ready", "all is well")
    assert "could not be written" in caplog.text
    events.event(about, "Ready", "all is well")
    assert len(remarks(admin, about)) == 1
