"""Watches stream through, and their events can be dropped, doubled, held, delayed, turned round or cut off."""

import subprocess
import sys

from recorder_stage import Operator, Outsider

from converge.recorder import Recorder, events

READER = """
import sys, urllib.request
url, authorization = sys.argv[1:]
urllib.request.urlopen(urllib.request.Request(url, headers={"Authorization": authorization})).read()
"""


def test_events_are_passed_on_and_written_down(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    watch = operator.watch()
    outsider.create("cm-1", k="1")
    outsider.patch("cm-1", k="2")
    outsider.delete("cm-1")
    assert [(watch.next() or {})["type"] for _ in range(3)] == ["ADDED", "MODIFIED", "DELETED"]
    assert recorder.wait_for(lambda: len(recorder.delivered("ConfigMap", name="cm-1")) == 3, deadline=5)
    seen = recorder.delivered("ConfigMap", name="cm-1")
    assert [str(event) for event in seen] == [
        f"event {type} configmaps/cm-1" for type in ("ADDED", "MODIFIED", "DELETED")
    ]
    assert all(event.resource_version and event.namespace == operator.identity.namespace for event in seen)
    assert {event.watch for event in seen} == {recorder.watches("ConfigMap")[0].number}
    assert recorder.watches()[0].duration is None
    watch.connection.close()
    assert recorder.wait_for(lambda: recorder.watches()[0].duration, deadline=5)


def test_a_dropped_event_is_never_heard_of(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    watch = operator.watch()
    fault = recorder.drop(events("ConfigMap", type="ADDED"), nth=2)
    for number in range(3):
        outsider.create(f"cm-{number}")
    assert watch.names(2) == ["cm-0", "cm-2"]
    assert [event.name for event in fault.fired] == ["cm-1"]
    assert [record.name for record in recorder.faults] == ["dropped ADDED event 2 of configmaps"]


def test_an_event_can_come_twice(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    watch = operator.watch()
    recorder.duplicate(events(name="cm-0"))
    outsider.create("cm-0")
    outsider.create("cm-1")
    assert watch.names(3) == ["cm-0", "cm-0", "cm-1"]
    first, second = recorder.delivered(name="cm-0")
    assert first.time < second.time


def test_events_can_come_last_first(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    watch = operator.watch()
    recorder.reorder(events("ConfigMap", type="ADDED"), nth=2, window=3)
    for number in range(5):
        outsider.create(f"cm-{number}")
    assert watch.names(5) == ["cm-0", "cm-3", "cm-2", "cm-1", "cm-4"]


def test_held_events_keep_what_is_behind_them_and_come_in_order(
    recorder: Recorder, operator: Operator, outsider: Outsider
) -> None:
    watch = operator.watch()
    hold = recorder.hold(events(name="cm-1"))
    for number in range(3):
        outsider.create(f"cm-{number}")
    assert watch.names(1) == ["cm-0"]
    assert recorder.wait_for(lambda: hold.fired, deadline=5)
    assert recorder.delivered(name="cm-2") == []
    hold.release()
    assert watch.names(2) == ["cm-1", "cm-2"]


def test_held_events_can_collapse_to_the_last_of_each_object(
    recorder: Recorder, operator: Operator, outsider: Outsider
) -> None:
    watch = operator.watch()
    hold = recorder.hold(events("ConfigMap"))
    outsider.create("cm-0", k="1")
    outsider.create("cm-1", k="1")
    outsider.patch("cm-0", k="2")
    outsider.patch("cm-0", k="3")
    assert recorder.wait_for(lambda: len(hold.fired) == 4, deadline=5)
    hold.release(collapse=True)
    found = [watch.next() or {} for _ in range(2)]
    assert [(event["type"], event["object"]["data"]["k"]) for event in found] == [("ADDED", "1"), ("MODIFIED", "3")]


def test_delayed_events_come_later_and_in_order(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    watch = operator.watch()
    recorder.delay(events(name="cm-0"), seconds=0.3)
    outsider.create("cm-0")
    outsider.create("cm-1")
    assert watch.names(2) == ["cm-0", "cm-1"]
    late, behind = (recorder.delivered(name=name)[0] for name in ("cm-0", "cm-1"))
    assert late.time - late.arrived >= 0.3
    assert behind.time >= late.time


def test_a_watch_ends_in_place_of_an_event_which_the_next_watch_has(
    recorder: Recorder, operator: Operator, outsider: Outsider
) -> None:
    watch = operator.watch()
    recorder.end_watch(events(name="cm-1"))
    version = outsider.create("cm-0")["metadata"]["resourceVersion"]
    outsider.create("cm-1")
    assert watch.names(2) == ["cm-0"]
    assert operator.watch(f"&resourceVersion={version}").names(1) == ["cm-1"]


def test_a_watch_can_say_410_within_its_stream(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    watch = operator.watch()
    recorder.expire_watch(events(name="cm-1"))
    outsider.create("cm-0")
    outsider.create("cm-1")
    assert watch.names(1) == ["cm-0"]
    error = watch.next() or {}
    assert (error["type"], error["object"]["code"], error["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert watch.next() is None


def test_open_watches_can_be_ended_now(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    first, second = operator.watch(), operator.watch()
    assert recorder.wait_for(lambda: len(recorder.watches()) == 2, deadline=5)
    assert recorder.end_watches("Deployment") == 0
    assert recorder.end_watches("ConfigMap") == 2
    assert [first.next(), second.next()] == [None, None]
    third = operator.watch()
    assert recorder.expire_watches() == 1
    assert (third.next() or {})["type"] == "ERROR"
    assert third.next() is None
    # The connection is as good as new after a watch that ended.
    third.connection.request("GET", operator.configmaps, headers=operator.identity.headers)
    assert third.connection.getresponse().status == 200


def test_a_server_that_ends_a_watch_is_followed(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    watch = operator.watch("&timeoutSeconds=1")
    hold = recorder.hold(events("ConfigMap"))
    outsider.create("cm-0")
    assert recorder.wait_for(lambda: hold.fired, deadline=5)
    request = recorder.watches()[0]
    assert not recorder.wait_for(lambda: request.duration, deadline=1.5), "ended while an event was held"
    hold.release()
    assert watch.names(2) == ["cm-0"]
    assert recorder.wait_for(lambda: request.duration, deadline=5)


def test_an_operator_killed_within_a_watch_leaves_nothing_open(
    recorder: Recorder, operator: Operator, outsider: Outsider
) -> None:
    """Neither here nor at the server, whose place a second recorder takes."""
    with Recorder(recorder.url) as first:
        url, authorization = f"{first.url}{operator.configmaps}?watch=true", operator.identity.headers["Authorization"]
        process = subprocess.Popen([sys.executable, "-c", READER, url, authorization])
        assert recorder.wait_for(lambda: [watch for watch in recorder.watches() if watch.status == 200], deadline=10)
        process.kill()
        process.wait()
        for side in (first, recorder):
            assert side.wait_for(lambda side=side: side.watches()[0].duration, deadline=5)  # type: ignore[misc]


def test_a_bookmark_reaches_the_watches_that_asked_for_one(recorder: Recorder, operator: Operator) -> None:
    asked = operator.watch("&allowWatchBookmarks=true")
    assert recorder.wait_for(lambda: recorder.watches("ConfigMap"), deadline=5)
    assert recorder.bookmark("ConfigMap", "4711") == 1
    event = asked.next() or {}
    while event["object"]["metadata"]["resourceVersion"] != "4711":  # the server sends bookmarks of its own
        assert event["type"] == "BOOKMARK"
        event = asked.next() or {}
    assert (event["type"], event["object"]["kind"]) == ("BOOKMARK", "ConfigMap")
    assert recorder.delivered("ConfigMap") == [], "a bookmark isn't an event about an object"


def test_a_watch_that_asked_for_none_gets_no_bookmark(
    recorder: Recorder, operator: Operator, outsider: Outsider
) -> None:
    watch = operator.watch()
    assert recorder.wait_for(lambda: recorder.watches("ConfigMap"), deadline=5)
    recorder.bookmark("ConfigMap", "4711")
    outsider.create("cm-after")
    assert watch.names(1) == ["cm-after"]
