"""Formats other than plain JSON: what is asked for on a client's behalf, and what is read of bodies and streams."""

import http.client
from urllib.parse import urlsplit

import pytest
from recorder_stage import Operator, Outsider

from converge.recorder import Recorder
from converge.recorder.bodies import PROTOBUF_MAGIC, kind_of, metadata_of, parse, version_of
from converge.recorder.http.media import accept_json, readable
from converge.recorder.routes import read_route

PROTOBUF = "application/vnd.kubernetes.protobuf"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
_METADATA = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL = f"{PROTOBUF};{_METADATA},application/json;{_METADATA}"
OPENAPI = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"


@pytest.mark.parametrize(
    ("accept", "asked"),
    [
        ("application/json", "application/json"),
        (f"{PROTOBUF},application/json", "application/json"),
        (f"{PROTOBUF}, */*", "application/json,*/*"),
        ("application/json;q=0.9,application/cbor;q=1", "application/json;q=0.9,application/json"),
        (f"{PROTOBUF};stream=watch, application/*", "application/json;stream=watch,application/*"),
        (PARTIAL, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"),
        (TABLE, TABLE),
        (PROTOBUF, PROTOBUF),
        ("application/cbor", "application/cbor"),
        ("application/yaml", "application/yaml"),
        (OPENAPI, OPENAPI),
        ("", ""),
    ],
)  # fmt: skip
def test_json_is_asked_for_where_the_client_can_take_it(accept: str, asked: str) -> None:
    assert accept_json(accept.encode()).decode() == asked


def test_a_stream_is_read_only_if_it_is_json() -> None:
    types = ("application/json", "application/json;stream=watch", "", f"{PROTOBUF};stream=watch", "text/plain")
    assert [readable(type) for type in types] == [True, True, True, False, False]


def test_a_client_gets_json_for_protobuf(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    outsider.create("cm-0", k="1")
    status, seen = operator.ask("GET", f"{operator.configmaps}/cm-0", headers={"Accept": f"{PROTOBUF}, */*"})
    assert (status, seen["data"]) == (200, {"k": "1"})
    assert recorder.requests[0].note == ""


def strict(operator: Operator, path: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(urlsplit(operator.url).netloc, timeout=10)
    connection.request("GET", path, headers={**operator.identity.headers, "Accept": PROTOBUF})
    return connection.getresponse()


def test_of_a_protobuf_answer_the_outside_is_read(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    made = outsider.create("cm-0", k="1")["metadata"]
    body = strict(operator, f"{operator.configmaps}/cm-0").read()
    one = parse(body)
    assert (kind_of(one), version_of(one)) == ("ConfigMap", made["resourceVersion"])
    assert metadata_of(one) == {key: made[key] for key in ("name", "namespace", "uid", "resourceVersion")}
    listed = parse(strict(operator, operator.configmaps).read())
    assert (listed["kind"], int(version_of(listed)) >= int(made["resourceVersion"])) == ("ConfigMapList", True)
    strict(operator, f"{operator.configmaps}/cm-none").read()
    found, _, missing = recorder.requests
    assert str(found) == f"GET configmaps/cm-0 (answer not read: {PROTOBUF})"
    assert str(missing) == f"GET configmaps/cm-none → 404 NotFound (answer not read: {PROTOBUF})"
    # A protobuf body sent back tells which version it was made from.
    connection = http.client.HTTPConnection(urlsplit(operator.url).netloc, timeout=10)
    headers = {**operator.identity.headers, "Content-Type": PROTOBUF}
    for _ in range(2):
        connection.request("PUT", f"{operator.configmaps}/cm-0", body, headers)
        assert connection.getresponse().read()
    write = recorder.writes()[-1]
    assert (write.version_before, write.changed) == (made["resourceVersion"], False)


def test_a_protobuf_watch_is_passed_on_unread(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    watch = strict(operator, f"{operator.configmaps}?watch=true&fieldSelector=metadata.name%3Dcm-0")
    outsider.create("cm-0")
    length = int.from_bytes(watch.read(4))
    assert b"cm-0" in watch.read(length)
    assert recorder.watches()[0].note == f"passed on unread: {PROTOBUF};stream=watch"
    assert recorder.events == []


NONSENSE = (b"", b"k8s\x00", b"k8s\x00\xff\xff", b"k8s\x00\x0a\x05ab", b"\x80\x81", b"{", b"[" * 99_999)


@pytest.mark.parametrize("body", NONSENSE, ids=range(len(NONSENSE)))
def test_a_body_that_makes_no_sense_is_no_object(body: bytes) -> None:
    thing = parse(body)
    assert (kind_of(thing), metadata_of(thing), version_of(thing)) == ("", {}, "")


def test_a_number_without_an_end_is_given_up_at_once() -> None:
    """Python's numbers have no largest one: reading a body of 8 MB as one of them would take hours."""
    assert parse(PROTOBUF_MAGIC + b"\xff" * 8_000_000) is None


def test_tables_and_metadata_name_their_objects(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    made = outsider.create("cm-0")
    for accept in (TABLE, PARTIAL):
        _, seen = operator.ask("GET", f"{operator.configmaps}/cm-0", headers={"Accept": accept})
        assert seen["kind"] in ("Table", "PartialObjectMetadata")
        request = recorder.requests[-1]
        assert (request.name, request.kind, request.version_after) == ("cm-0", "", made["metadata"]["resourceVersion"])


@pytest.mark.parametrize("accept", [TABLE, PARTIAL])
def test_events_of_tables_and_metadata_have_names_and_can_be_frozen(
    recorder: Recorder, operator: Operator, outsider: Outsider, accept: str
) -> None:
    def watch() -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(urlsplit(operator.url).netloc, timeout=10)
        path = f"{operator.configmaps}?watch=true&fieldSelector=metadata.name!%3Dkube-root-ca.crt"
        connection.request("GET", path, headers={**operator.identity.headers, "Accept": accept})
        return connection.getresponse()

    outsider.create("cm-0")
    first = watch()
    first.readline()
    assert recorder.wait_for(lambda: [event.name for event in recorder.delivered("ConfigMap")] == ["cm-0"], deadline=5)
    with recorder.freeze("ConfigMap"):
        outsider.create("cm-1")
        _, seen = operator.ask("GET", f"{operator.configmaps}/cm-0", headers={"Accept": accept})
        assert seen["kind"] in ("Table", "PartialObjectMetadata")
        assert metadata_of(seen)["name"] == "cm-0"
        assert operator.ask("GET", f"{operator.configmaps}/cm-1", headers={"Accept": accept})[0] == 404
        second = watch()
        assert b'"cm-0"' in second.readline()
    assert b'"cm-1"' in second.readline()


@pytest.mark.parametrize(
    ("query", "verb"),
    [
        ("?watch=true", "watch"), ("?watch=True", "watch"), ("?watch=1", "watch"), ("?watch", "watch"),
        ("?watch=false", "list"), ("?watch=False", "list"), ("?watch=0", "list"), ("", "list"),
    ],
)  # fmt: skip
def test_a_watch_is_asked_for_in_many_spellings(query: str, verb: str) -> None:
    """The official Python client writes ``watch=True``."""
    assert read_route("GET", f"/api/v1/pods{query}").verb == verb


def test_logs_that_are_followed_stream() -> None:
    pod = "/api/v1/namespaces/a/pods/p"
    paths = (f"{pod}/log?follow=True", f"{pod}/log", f"{pod}/proxy/metrics", pod)
    assert [read_route("GET", path).streams for path in paths] == [True, False, True, False]
