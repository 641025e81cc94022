"""The informer against a real server, through a recorder that can cut, delay and lie."""

import itertools

import pytest
from runtime_world import Gate, config_map, write_kubeconfig

from converge.grader import eventually
from converge.recorder import events, reads, watches
from converge.runtime import Client, Informer


@pytest.fixture
def follow(client, namespace):
    """Start an informer of the ConfigMaps of this test; it is stopped at the end."""
    started = []

    def start(wait=True, **options):
        options.setdefault("label_selector", "app")  # not the certificates that every namespace has
        options.setdefault("namespace", namespace)
        informer = Informer(options.pop("client", client), "v1", "ConfigMap", options.pop("namespace"), **options)
        informer.changes = []
        informer.add_handler(lambda change: informer.changes.append((change.request.name, kind_of(change))))
        informer.start()
        started.append(informer)
        if wait:
            assert informer.wait_for_sync(20)
        return informer

    yield start
    for informer in started:
        informer.stop()
    assert not any(thread.is_alive() for informer in started for thread in informer._threads)


def kind_of(change):
    if change.old is None:
        return "added"
    return "deleted" if change.new is None else "changed"


def names(informer):
    return sorted(obj["metadata"]["name"] for obj in informer.list())


def test_it_lists_then_watches_and_tells_what_changed(follow, admin, recorder, namespace):
    admin.create(config_map("a", namespace))
    informer = follow()
    assert names(informer) == ["a"]
    admin.create(config_map("b", namespace))
    admin.patch("v1", "ConfigMap", "a", namespace, {"data": {"x": "1"}})
    admin.delete("v1", "ConfigMap", "b", namespace)
    expected = [("a", "added"), ("b", "added"), ("a", "changed"), ("b", "deleted")]
    assert eventually(lambda: informer.changes == expected, within=10), informer.changes
    assert informer.get("a", namespace)["data"] == {"x": "1"}
    assert informer.get("b", namespace) is None
    assert (len(recorder.reads("ConfigMap")), len(recorder.watches("ConfigMap"))) == (1, 1)


def test_it_has_synced_only_after_the_first_list(follow, admin, recorder, namespace):
    admin.create(config_map("a", namespace))
    recorder.slow(reads("ConfigMap"), seconds=0.5)
    informer = follow(wait=False)
    assert not informer.has_synced()
    assert not informer.wait_for_sync(0.05)
    assert informer.wait_for_sync(20)
    assert names(informer) == ["a"]


def test_a_list_of_many_pages_is_one_cache(follow, admin, recorder, namespace):
    for number in range(7):
        admin.create(config_map(f"a{number}", namespace))
    assert len(follow(page_size=2)) == 7
    assert len(recorder.reads("ConfigMap")) == 4


def test_a_cut_watch_goes_on_from_where_it_was(follow, admin, recorder, namespace):
    admin.create(config_map("a", namespace))
    informer = follow()
    admin.create(config_map("b", namespace))
    assert eventually(lambda: names(informer) == ["a", "b"], within=10)
    for name in ("c", "d"):
        recorder.end_watches("ConfigMap")
        admin.create(config_map(name, namespace))
        assert eventually(lambda name=name: name in names(informer), within=10)
    assert informer.lists == 1, "nothing was listed again"
    assert [name for name, kind in informer.changes] == ["a", "b", "c", "d"], "nobody heard of it twice"


def test_410_lists_again_and_sees_what_was_deleted_meanwhile(follow, admin, recorder, namespace):
    for name in ("a", "b", "c"):
        admin.create(config_map(name, namespace))
    informer = follow()
    fault = recorder.fail(watches("ConfigMap"), status=503, times=None)  # nobody looks
    recorder.end_watches("ConfigMap")
    admin.delete("v1", "ConfigMap", "a", namespace)
    admin.patch("v1", "ConfigMap", "b", namespace, {"data": {"x": "1"}})
    admin.create(config_map("d", namespace))
    del fault
    recorder.clear_faults()
    recorder.fail(watches("ConfigMap"), status=410, reason="Expired")
    assert eventually(lambda: names(informer) == ["b", "c", "d"], within=20)
    assert informer.get("b", namespace)["data"] == {"x": "1"}
    assert ("a", "deleted") in informer.changes
    assert informer.changes.count(("c", "added")) == 1
    assert ("c", "changed") not in informer.changes, "what did not change is not told again"
    assert informer.lists == 2


def test_410_in_the_middle_of_a_watch_lists_again(follow, admin, recorder, namespace):
    informer = follow()
    recorder.expire_watch(events("ConfigMap", name="b"))
    admin.create(config_map("a", namespace))
    admin.create(config_map("b", namespace))
    assert eventually(lambda: names(informer) == ["a", "b"], within=20)
    assert informer.lists == 2


def test_events_that_come_twice_are_told_once(follow, admin, recorder, namespace):
    recorder.duplicate(events("ConfigMap"), times=None)
    informer = follow()
    admin.create(config_map("a", namespace))
    admin.patch("v1", "ConfigMap", "a", namespace, {"data": {"x": "1"}})
    admin.create(config_map("b", namespace))
    expected = [("a", "added"), ("a", "changed"), ("b", "added")]
    assert eventually(lambda: informer.changes == expected, within=10), informer.changes


def test_an_answer_that_is_no_event_lists_again(follow, admin, recorder, token, tmp_path, namespace):
    """A proxy that puts its own page into the stream, say."""
    with Gate(recorder.url) as gate:
        informer = follow(client=Client(kubeconfig=write_kubeconfig(tmp_path / "gated", gate.url, {"token": token})))
        admin.create(config_map("a", namespace))
        assert eventually(lambda: names(informer) == ["a"], within=10), "the watch is open"
        gate.inject(b"7\r\n<html>\n\r\n")
        assert eventually(lambda: informer.lists == 2, within=20)
        admin.create(config_map("b", namespace))
        assert eventually(lambda: names(informer) == ["a", "b"], within=20)


def test_a_connection_that_died_without_a_word_is_noticed(follow, admin, recorder, namespace):
    informer = follow(silence=0.3)
    held = recorder.hold(events("ConfigMap"))
    admin.create(config_map("a", namespace))
    assert eventually(lambda: informer.watches >= 2, within=10)
    held.release()
    assert eventually(lambda: names(informer) == ["a"], within=10)
    assert informer.lists == 1


def test_a_server_that_refuses_is_asked_again_with_growing_pauses(follow, admin, recorder, namespace):
    admin.create(config_map("a", namespace))
    recorder.fail(reads("ConfigMap"), status=500, times=4)
    informer = follow()
    arrived = [request.time for request in recorder.reads("ConfigMap")]
    gaps = [later - earlier for earlier, later in itertools.pairwise(arrived)]
    assert len(arrived) == 5
    assert all(gap >= pause for gap, pause in zip(gaps, [0.05, 0.1, 0.2, 0.4], strict=True)), gaps
    assert names(informer) == ["a"]
    assert informer.last_error is None


def test_a_watch_that_ends_at_once_each_time_does_not_make_it_spin(follow, recorder):
    informer = follow(label_selector="no=such")
    before = recorder.mark()
    fault = recorder.fail(watches("ConfigMap"), status=503, times=None)
    recorder.end_watches("ConfigMap")
    assert eventually(lambda: len(recorder.since(before).watches("ConfigMap")) >= 3, within=10)
    assert informer.watches < 10
    assert fault


def test_a_reader_cannot_change_the_cache(follow, admin, namespace):
    admin.create(config_map("a", namespace, x="1"))
    informer = follow()
    for obj in (informer.get("a", namespace), *informer.list(), *informer.list(namespace)):
        with pytest.raises(TypeError, match="belongs to the cache"):
            obj["data"]["x"] = "2"
    assert informer.get("a", namespace)["data"] == {"x": "1"}


def test_managed_fields_are_left_out_unless_asked_for(follow, admin, namespace):
    admin.create(config_map("a", namespace))
    assert "managedFields" not in follow().get("a", namespace)["metadata"]
    assert "managedFields" in follow(keep_managed_fields=True).get("a", namespace)["metadata"]


def test_indexes_follow_every_change(follow, admin, namespace):
    owner = admin.create(config_map("owner", namespace))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    child = config_map("child", namespace, colour="red")
    child["metadata"]["ownerReferences"] = [reference]
    admin.create(child)
    informer = follow()
    informer.add_index("colour", lambda obj: [obj["data"]["colour"]] if "colour" in obj.get("data", {}) else [])

    def found(index, value):
        return [obj["metadata"]["name"] for obj in informer.index(index, value)]

    assert found("colour", "red") == ["child"]
    assert [obj["metadata"]["name"] for obj in informer.owned_by(owner)] == ["child"]
    assert len(informer.list(namespace)) == 2
    admin.patch(
        "v1", "ConfigMap", "child", namespace, {"data": {"colour": "blue"}, "metadata": {"ownerReferences": None}}
    )
    assert eventually(lambda: found("colour", "blue") == ["child"], within=10)
    assert found("colour", "red") == []
    assert informer.owned_by(owner) == []
    admin.delete("v1", "ConfigMap", "child", namespace)
    assert eventually(lambda: found("colour", "blue") == [], within=10)
    with pytest.raises(KeyError, match="no index 'size'; there are colour, namespace, owner"):
        informer.index("size", "1")


def test_selectors_narrow_what_is_followed(follow, admin, namespace):
    admin.create(config_map("a", namespace))
    by_label = follow(label_selector="app=b")
    by_field = follow(label_selector=None, field_selector="metadata.name=b")
    admin.create(config_map("b", namespace))
    assert eventually(lambda: names(by_label) == ["b"] and names(by_field) == ["b"], within=10)


def test_a_handler_that_comes_late_is_shown_what_is_there(follow, admin, namespace):
    admin.create(config_map("a", namespace))
    informer = follow()
    late = []
    informer.add_handler(lambda change: late.append(change.request.name))
    assert late == ["a"]


def test_a_handler_that_fails_stops_neither_the_others_nor_the_informer(follow, admin, namespace, caplog):
    informer = follow()

    def broken(change):
        raise RuntimeError("a bug")

    informer.add_handler(broken)
    seen = []
    informer.add_handler(lambda change: seen.append(change.request.name))
    for name in ("a", "b"):
        admin.create(config_map(name, namespace))
    assert eventually(lambda: seen == ["a", "b"], within=10)
    assert informer.handler_errors == 2
    assert f"a handler of ConfigMap failed at {namespace}/a" in caplog.text


def test_resync_shows_everything_again_and_asks_the_server_nothing(follow, admin, recorder, namespace):
    admin.create(config_map("a", namespace))
    informer = follow(resync=0.05)
    before = recorder.mark()
    assert eventually(lambda: informer.changes.count(("a", "changed")) >= 3, within=10)
    assert not recorder.since(before).reads("ConfigMap")


def test_what_was_just_written_can_be_read_before_the_watch_brings_it(follow, admin, recorder, namespace):
    informer = follow()
    held = recorder.hold(events("ConfigMap"))
    written = admin.create(config_map("a", namespace, x="1"))
    assert informer.get("a", namespace) is None
    informer.remember(written)
    assert informer.get("a", namespace)["data"] == {"x": "1"}
    assert names(informer) == ["a"]
    assert len(informer.index("namespace", namespace)) == 1
    assert informer.changes == [], "the watch calls the handlers"
    informer.remember(admin.patch("v1", "ConfigMap", "a", namespace, {"data": {"x": "2"}}))
    informer.remember(written)  # an older one changes nothing
    assert informer.get("a", namespace)["data"] == {"x": "2"}
    admin.delete("v1", "ConfigMap", "a", namespace)
    held.release()
    assert eventually(lambda: informer.changes[-1:] == [("a", "deleted")], within=10)
    assert informer.get("a", namespace) is None
    informer.remember(written)  # nor can one that the watch has passed by bring it back
    assert informer.get("a", namespace) is None


def test_stopping_is_quick_while_nothing_happens(follow):
    informer = follow()
    assert eventually(lambda: informer._watch, within=10)
    informer.stop()
    assert not informer._threads[0].is_alive()
