"""What every cluster of the course does with watches: order, resumption and bookmarks."""

from contract import CONFIG_MAP, config_map

from converge.runtime import Client


def test_changes_come_in_order(client: Client, namespace: str) -> None:
    start = client.list(*CONFIG_MAP, namespace).resource_version
    client.create(config_map(namespace, "seen"))
    client.patch(*CONFIG_MAP, "seen", namespace, {"data": {"key": "value"}})
    client.delete(*CONFIG_MAP, "seen", namespace)
    with client.watch(
        *CONFIG_MAP, namespace, resource_version=start, field_selector="metadata.name=seen", timeout=20
    ) as watch:
        events = [next(watch) for _ in range(3)]
    assert [event.type for event in events] == ["ADDED", "MODIFIED", "DELETED"]
    versions = [int(event.object["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(set(versions))


def test_a_watch_goes_on_where_another_stopped(client: Client, namespace: str) -> None:
    first = client.create(config_map(namespace, "first", labels={"in": "watch"}))
    client.create(config_map(namespace, "second", labels={"in": "watch"}))
    after_first = first["metadata"]["resourceVersion"]
    with client.watch(
        *CONFIG_MAP, namespace, resource_version=after_first, label_selector="in=watch", timeout=20
    ) as watch:
        assert next(watch).object["metadata"]["name"] == "second"


def test_a_label_that_no_longer_matches_is_a_deletion(client: Client, namespace: str) -> None:
    made = client.create(config_map(namespace, "moved", labels={"colour": "red"}))
    version = made["metadata"]["resourceVersion"]
    with client.watch(
        *CONFIG_MAP, namespace, resource_version=version, label_selector="colour=red", timeout=20
    ) as watch:
        client.patch(*CONFIG_MAP, "moved", namespace, {"metadata": {"labels": {"colour": "blue"}}})
        assert next(watch).type == "DELETED"


def test_a_bookmark_marks_the_end_of_what_exists(client: Client, namespace: str) -> None:
    client.create(config_map(namespace, "there", labels={"in": "watch"}))
    with client.watch(*CONFIG_MAP, namespace, label_selector="in=watch", bookmarks=True, timeout=20) as watch:
        added, bookmark = next(watch), next(watch)
    assert (added.type, added.object["metadata"]["name"]) == ("ADDED", "there")
    assert bookmark.type == "BOOKMARK"
    assert bookmark.object["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_a_quiet_watch_gets_a_bookmark_with_a_newer_version(client: Client, namespace: str) -> None:
    start = client.list(*CONFIG_MAP, namespace, label_selector="in=nothing").resource_version
    client.create(config_map(namespace, "elsewhere"))
    # The server sends a bookmark each minute, and one two seconds before it ends a watch; a busy server may miss the
    # latter, so a watch that ended without one is opened again.
    query = {"resource_version": start, "label_selector": "in=nothing", "bookmarks": True}
    for seconds in (4, 6, 8, 10):
        with client.watch(*CONFIG_MAP, namespace, **query, timeout=seconds) as watch:
            event = next(watch, None)
        if event is not None:
            break
    assert event is not None, "no watch got a bookmark"
    assert event.type == "BOOKMARK"
    assert int(event.object["metadata"]["resourceVersion"]) > int(start)
