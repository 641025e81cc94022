"""A frozen resource is read as it was: by get, by list and by watch, from the server's own history."""

from recorder_stage import Operator, Outsider

from converge.recorder import Recorder


def listed(operator: Operator, query: str = "") -> list[str]:
    _, answer = operator.ask("GET", f"{operator.configmaps}{query}")
    return [item["metadata"]["name"] for item in answer["items"] if item["metadata"]["name"].startswith("cm")]


def test_gets_and_lists_answer_from_the_past_until_the_thaw(
    recorder: Recorder, operator: Operator, outsider: Outsider
) -> None:
    outsider.create("cm-old", k="1")
    assert operator.get("cm-old")[1]["data"] == {"k": "1"}
    freeze = recorder.freeze("ConfigMap")
    outsider.patch("cm-old", k="2")
    outsider.create("cm-new")

    status, seen = operator.get("cm-old")
    assert (status, seen["kind"], seen["apiVersion"], seen["data"]) == (200, "ConfigMap", "v1", {"k": "1"})
    status, seen = operator.get("cm-new")
    assert (status, seen["reason"], seen["code"]) == (404, "NotFound", 404)
    assert listed(operator) == ["cm-old"]
    assert listed(operator, "?fieldSelector=metadata.name%3Dcm-new") == []
    assert listed(operator, "?resourceVersion=0&limit=1") == ["cm-old"]
    assert recorder.reads()[-1].fault == freeze.name
    # Other resources are read as they are, and writes reach the present.
    assert (
        operator.ask("GET", f"/api/v1/namespaces/{operator.identity.namespace}/secrets/none")[1]["reason"] == "NotFound"
    )
    assert operator.create("cm-new")[0] == 409
    assert operator.create("cm-mine")[0] == 201
    assert operator.get("cm-mine")[0] == 404

    freeze.thaw()
    assert operator.get("cm-old")[1]["data"] == {"k": "2"}
    assert listed(operator) == ["cm-mine", "cm-new", "cm-old"]


def test_a_stale_object_is_refused_when_it_is_written_back(
    recorder: Recorder, operator: Operator, outsider: Outsider
) -> None:
    outsider.create("cm-old", k="1")
    operator.get("cm-old")
    recorder.freeze("ConfigMap")
    outsider.patch("cm-old", k="2")
    _, stale = operator.get("cm-old")
    status, answer = operator.ask("PUT", f"{operator.configmaps}/cm-old", stale)
    assert (status, answer["reason"]) == (409, "Conflict")


def test_events_of_an_open_watch_wait_for_the_thaw(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    watch = operator.watch()
    outsider.create("cm-0")
    assert watch.names(1) == ["cm-0"]
    freeze = recorder.freeze("ConfigMap")
    outsider.create("cm-1")
    assert recorder.wait_for(lambda: freeze.fired, deadline=5)
    assert recorder.delivered(name="cm-1") == []
    freeze.thaw()
    assert watch.names(1) == ["cm-1"]


def test_a_new_watch_begins_with_the_past(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    outsider.create("cm-0")
    operator.get("cm-0")
    freeze = recorder.freeze("ConfigMap")
    outsider.create("cm-1")
    plain = operator.watch()
    initial = operator.watch("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
    assert plain.names(1) == ["cm-0"]
    assert initial.names(1) == ["cm-0"]
    end = initial.next() or {}
    assert end["type"] == "BOOKMARK"
    assert end["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    freeze.thaw()
    assert plain.names(1) == ["cm-1"]
    assert initial.names(1) == ["cm-1"]


def test_the_past_can_be_named(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    version = outsider.create("cm-old", k="1")["metadata"]["resourceVersion"]
    outsider.patch("cm-old", k="2")
    with recorder.freeze("ConfigMap", at=version):
        assert operator.get("cm-old")[1]["data"] == {"k": "1"}
    assert operator.get("cm-old")[1]["data"] == {"k": "2"}


def test_frozen_before_anything_was_seen_means_from_the_first_read_on(
    recorder: Recorder, operator: Operator, outsider: Outsider
) -> None:
    outsider.create("cm-old", k="1")
    recorder.freeze("ConfigMap")
    assert operator.get("cm-old")[1]["data"] == {"k": "1"}
    outsider.patch("cm-old", k="2")
    assert operator.get("cm-old")[1]["data"] == {"k": "1"}


def test_without_gets_only_lists_and_watches_are_old(
    recorder: Recorder, operator: Operator, outsider: Outsider
) -> None:
    outsider.create("cm-old", k="1")
    operator.get("cm-old")
    freeze = recorder.freeze("ConfigMap", gets=False)
    outsider.patch("cm-old", k="2")
    outsider.create("cm-new")
    assert operator.get("cm-old")[1]["data"] == {"k": "2"}
    assert operator.get("cm-new")[0] == 200
    assert listed(operator) == ["cm-old"]
    freeze.thaw()
    assert listed(operator) == ["cm-new", "cm-old"]
