"""What is written down of a request, and how a check asks for it."""

import json
import threading
from pathlib import Path

import pytest
from recorder_stage import MERGE, Identity, Operator, Outsider

from converge.recorder import Recorder, Recording, requests, writes
from converge.recorder.entries import LONGEST_REASON
from converge.recorder.refusals import reason_of
from converge.recorder.routes import plural, read_route

APPLY = {"Content-Type": "application/apply-patch+yaml"}


def test_each_request_has_a_line_that_a_learner_understands(
    recorder: Recorder, operator: Operator, outsider: Outsider
) -> None:
    operator.create("cm-line", k="1")
    operator.create("cm-line", k="1")
    operator.patch("cm-line", k="2")
    operator.patch("cm-line", k="2")
    operator.get("cm-line")
    operator.get("cm-none")
    operator.ask("GET", operator.configmaps)
    operator.ask("DELETE", f"{operator.configmaps}/cm-line")
    operator.ask("GET", "/version")
    assert [str(request) for request in recorder.requests] == [
        "CREATE configmaps/cm-line",
        "CREATE configmaps/cm-line → 409 AlreadyExists",
        "PATCH configmaps/cm-line",
        "PATCH configmaps/cm-line (changed nothing)",
        "GET configmaps/cm-line",
        "GET configmaps/cm-none → 404 NotFound",
        "LIST configmaps",
        "DELETE configmaps/cm-line",
        "GET /version",
    ]
    assert [request.write for request in recorder.requests] == [1, 2, 3, 4, None, None, None, 5, None]
    assert [request.kind for request in recorder.requests[:6]] == ["ConfigMap", "", *["ConfigMap"] * 3, ""]


def test_a_refusal_keeps_the_servers_own_words(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    elsewhere = operator.configmaps.replace(operator.identity.namespace, "default")
    operator.create("Cm_Bad")
    operator.create("cm-old")
    _, seen = operator.get("cm-old")
    outsider.patch("cm-old", k="1")
    operator.ask("PUT", f"{operator.configmaps}/cm-old", seen)
    operator.ask("GET", elsewhere)
    operator.ask("GET", f"{elsewhere}?watch=true")
    operator.patch("cm-old", **{"k" * 254: "1", "b!": "x" * 500})
    operator.get("cm-old")
    invalid, _, _, conflict, forbidden, forbidden_watch, long, fine = recorder.requests
    assert invalid.reason.startswith('Invalid: metadata.name: Invalid value: "Cm_Bad": a lowercase RFC 1123')
    assert str(invalid).startswith(f"CREATE configmaps/Cm_Bad → 422 {invalid.reason[:250]}")
    assert conflict.reason.startswith("Conflict: the object has been modified; ")
    for request in (forbidden, forbidden_watch):
        assert request.reason.startswith("Forbidden: ")
        assert "cannot" in request.reason
    assert len(long.reason) > LONGEST_REASON
    assert str(long) == f"PATCH configmaps/cm-old → 422 {long.reason[: LONGEST_REASON - 1]}…"
    assert fine.reason == ""


@pytest.mark.parametrize(
    ("status", "answer", "reason"),
    [
        (200, {"reason": "Odd"}, ""),
        (404, {"reason": "NotFound", "message": 'pods "web" not found'}, "NotFound"),
        (404, {"reason": "NotFound", "message": 'namespaces "web" not found'}, 'NotFound: namespaces "web" not found'),
        (409, {"reason": "AlreadyExists", "message": 'pods "web" already exists'}, "AlreadyExists"),
        (422, {"reason": "Invalid", "message": 'Pod "web" is invalid: [a: x,\n b: y]'}, "Invalid: [a: x, b: y]"),
        (403, {"reason": "Forbidden", "message": 'pods "web" is forbidden: no quota'}, "Forbidden: no quota"),
        (404, "404 page not found", "Not Found"),
        (500, [], "Internal Server Error"),
        (522, None, "refused"),
    ],
)
def test_a_reason_leaves_out_what_the_line_says_anyway(status: int, answer: object, reason: str) -> None:
    assert reason_of(status, json.dumps(answer).encode(), "pods", "web") == reason


def test_a_write_knows_whether_it_changed_the_object(
    recorder: Recorder, operator: Operator, outsider: Outsider
) -> None:
    outsider.create("cm-change", k="0")
    path = f"{operator.configmaps}/cm-change"
    whole = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm-change"}}

    operator.patch("cm-change", k="1")
    operator.patch("cm-change", k="1")
    outsider.patch("cm-change", k="by another")
    operator.patch("cm-change", k="by another")  # the version moved, but not by this
    _, seen = operator.get("cm-change")
    operator.ask("PUT", path, seen)
    operator.ask("PUT", path, {**seen, "data": {"k": "2"}})
    operator.ask("PUT", path, seen)  # an old version: refused
    operator.ask("PUT", path, {**whole, "data": {"k": "2"}})  # no version: unconditional
    operator.ask("PUT", path, {**whole, "data": {"k": "3"}})
    operator.ask("PATCH", f"{path}?fieldManager=op&force=true", {**whole, "data": {"k": "4"}}, APPLY)
    operator.ask("PATCH", f"{path}?fieldManager=op&force=true", {**whole, "data": {"k": "4"}}, APPLY)
    operator.ask("PATCH", f"{path}?dryRun=All", {"data": {"k": "5"}}, {"Content-Type": "application/merge-patch+json"})
    operator.ask("DELETE", path)

    assert [(request.verb, request.changed) for request in recorder.writes(name="cm-change")] == [
        ("patch", True),
        ("patch", False),
        ("patch", False),
        ("update", False),
        ("update", True),
        ("update", False),
        ("update", False),
        ("update", True),
        ("apply", True),
        ("apply", False),
        ("delete", True),
    ]
    assert recorder.writes(changed=False)[0].version_before == recorder.writes(changed=False)[0].version_after != ""


def test_to_take_the_last_finalizer_off_is_to_delete(
    recorder: Recorder, operator: Operator, outsider: Outsider
) -> None:
    operator.create("cm-held")
    path = f"{operator.configmaps}/cm-held"
    operator.ask("PATCH", path, {"metadata": {"finalizers": ["a.example/x"]}}, MERGE)
    outsider.delete("cm-held")
    operator.ask("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)
    assert operator.get("cm-held")[0] == 404
    assert [(each.verb, each.changed) for each in recorder.writes()] == [
        ("create", True),
        ("patch", True),
        ("patch", True),
    ]


@pytest.mark.parametrize("kind", ["merge-patch+json", "json-patch+json", "apply-patch+yaml"])
def test_a_change_by_another_in_the_last_moment_is_not_taken_for_the_operators(
    recorder: Recorder, identity: Identity, outsider: Outsider, kind: str
) -> None:
    """Between the recorder's look at the version and the write there is a moment. A second recorder makes it long."""
    whole = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm-race"}, "data": {"k": "1"}}
    patches = {"merge-patch+json": {"data": {"k": "1"}}, "apply-patch+yaml": whole}
    patch = patches.get(kind, [{"op": "replace", "path": "/data/k", "value": "1"}])
    header = {"Content-Type": f"application/{kind}"}
    with Recorder(recorder.url) as first:
        operator = Operator(first.url, identity)
        path = f"{operator.configmaps}/cm-race?fieldManager=me"
        if kind.startswith("apply"):
            operator.ask("PATCH", path, whole, header)
        else:
            outsider.create("cm-race", k="1")
        mark = recorder.mark()
        recorder.slow(writes(), seconds=0.3, times=1)
        operator.send("PATCH", path, patch, header)
        assert recorder.wait_for(lambda: recorder.since(mark).writes(), deadline=5)
        changed = outsider.patch("cm-race", other="1")
        status, answer = operator.receive()
        assert status == 200
        assert answer["metadata"]["resourceVersion"] == changed["metadata"]["resourceVersion"]
        assert first.writes()[-1].changed is False
        assert [request.status for request in recorder.since(mark).writes()] == [409, 200]


def test_an_apply_that_meets_another_owner_is_refused_as_ever(
    recorder: Recorder, operator: Operator, outsider: Outsider
) -> None:
    whole = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm-owned"}, "data": {"k": "1"}}
    path = f"{operator.configmaps}/cm-owned?fieldManager="
    operator.ask("PATCH", f"{path}first", whole, APPLY)
    status, answer = operator.ask("PATCH", f"{path}second", {**whole, "data": {"k": "2"}}, APPLY)
    assert (status, answer["details"]["causes"][0]["reason"]) == (409, "FieldManagerConflict")
    assert [request.changed for request in recorder.writes()] == [True, False]


def test_a_patch_of_what_passed_by_before_is_one_question_to_the_server(
    recorder: Recorder, identity: Identity, outsider: Outsider
) -> None:
    with Recorder(recorder.url) as first:
        operator = Operator(first.url, identity)
        operator.create("cm-known", k="1")
        status, answer = operator.patch("cm-known", k="1")
        assert status == 200
        assert [each.method for each in recorder.requests] == ["POST", "PATCH"]
        write = first.writes()[-1]
        assert (write.version_before, write.changed) == (answer["metadata"]["resourceVersion"], False)


@pytest.mark.parametrize("changed", [True, False])
def test_what_passed_by_may_be_old(recorder: Recorder, operator: Operator, outsider: Outsider, changed: bool) -> None:
    operator.create("cm-old", k="1")
    other = outsider.patch("cm-old", other="1")
    status, answer = operator.patch("cm-old", k="2" if changed else "1")
    assert (status, answer["data"]["other"]) == (200, "1")
    write = recorder.writes()[-1]
    assert (write.version_before, write.changed) == (other["metadata"]["resourceVersion"], changed)


def test_what_passed_by_may_be_gone(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    operator.create("cm-gone", k="1")
    outsider.delete("cm-gone")
    status, answer = operator.patch("cm-gone", k="2")
    assert (status, answer["reason"]) == (404, "NotFound")
    assert recorder.writes()[-1].changed is False
    whole = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm-gone"}, "data": {"k": "3"}}
    status, _ = operator.ask("PATCH", f"{operator.configmaps}/cm-gone?fieldManager=me", whole, APPLY)
    assert (status, recorder.writes()[-1].changed) == (201, True), "an apply makes what is not there"


def test_a_generated_name_is_known_after_the_answer(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    _, created = operator.ask("POST", operator.configmaps, {"metadata": {"generateName": "cm-gen-"}})
    assert recorder.writes()[0].name == created["metadata"]["name"]


def test_bodies_are_kept_up_to_a_cap(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    operator.create("cm-small", k="v")
    operator.create("cm-large", k="x" * 300_000)
    small, large = recorder.writes()
    assert small.sent["data"] == small.answer["data"] == {"k": "v"}
    assert (large.sent, large.answer, large.status) == (None, None, 201)
    assert large.request_size > 300_000
    assert large.response_size > 300_000


def test_a_check_asks_by_kind_name_mark_and_change(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    operator.create("cm-a", k="1")
    mark = recorder.mark()
    operator.create("cm-b", k="1")
    operator.patch("cm-a", k="1")
    operator.get("cm-a")
    later = recorder.since(mark)
    assert [request.name for request in recorder.writes("ConfigMap")] == ["cm-a", "cm-b", "cm-a"]
    assert [request.name for request in later.writes("configmaps", changed=True)] == ["cm-b"]
    assert [request.verb for request in later.writes(name="cm-a")] == ["patch"]
    assert len(later.reads("ConfigMap", name="cm-a", verb="get")) == 1
    assert later.writes(besides=("ConfigMap",)) == []
    assert later.writes("Deployment") == []
    with pytest.raises(TypeError):
        recorder.writes("ConfigMap", nam="typo")


def test_quiet_is_no_request_for_a_while_open_watches_aside(
    recorder: Recorder, operator: Operator, outsider: Outsider
) -> None:
    watch = operator.watch()
    busy = threading.Event()

    def chatter() -> None:
        while not busy.wait(0.02):
            operator.get("cm-none")

    talking = threading.Thread(target=chatter)
    talking.start()
    assert not recorder.wait_quiet(0.3, deadline=0.6)
    assert recorder.wait_quiet(0.3, deadline=0.6, ignoring=requests("ConfigMap"))
    busy.set()
    talking.join()
    last = recorder.requests[-1]
    assert recorder.wait_quiet(0.3, deadline=5)
    assert recorder.mark() - (last.ended or 0) >= 0.3
    watch.connection.close()


def test_an_unanswered_request_is_not_quiet(recorder: Recorder, operator: Operator) -> None:
    recorder.hang(requests("ConfigMap"))
    operator.send("GET", operator.configmaps)
    assert recorder.wait_for(lambda: recorder.requests, deadline=5)
    assert not recorder.wait_quiet(0.2, deadline=0.5)
    operator.connection.close()
    assert recorder.wait_quiet(0.2, deadline=5)


def test_wait_for_is_woken_by_a_record_and_ends_at_its_deadline(recorder: Recorder, operator: Operator) -> None:
    assert recorder.wait_for(lambda: recorder.requests, deadline=0.1) == []
    later = threading.Timer(0.1, lambda: operator.get("cm-none"))
    later.start()
    before = recorder.mark()
    found = recorder.wait_for(lambda: [r for r in recorder.requests if r.status == 404], deadline=5)
    assert len(found) == 1
    assert recorder.mark() - before < 4
    later.join()


def test_a_recording_survives_its_file(
    recorder: Recorder, operator: Operator, outsider: Outsider, tmp_path: Path
) -> None:
    operator.create("cm-file", k="é")
    watch = operator.watch()
    watch.next()
    recorder.note("half time", object="configmaps/cm-file")
    recorder.stop()
    loaded = Recording.load(recorder.recording.save(tmp_path / "run" / "recording.json"))
    assert loaded.requests == recorder.requests
    assert loaded.events == recorder.events != []
    assert loaded.notes == recorder.recording.notes
    assert loaded.length == recorder.recording.length
    assert operator.identity.token not in (tmp_path / "run" / "recording.json").read_text()

    (tmp_path / "other.json").write_text('{"format": "something else"}')
    with pytest.raises(ValueError, match="not a recording"):
        Recording.load(tmp_path / "other.json")


@pytest.mark.parametrize(
    ("line", "verb", "thing"),
    [
        ("GET /api/v1/pods", "list", ("", "pods", "", "", "")),
        ("GET /api/v1/namespaces", "list", ("", "namespaces", "", "", "")),
        ("GET /api/v1/namespaces/a", "get", ("", "namespaces", "", "a", "a")),
        ("PUT /api/v1/namespaces/a/finalize", "update", ("", "namespaces", "finalize", "a", "a")),
        ("GET /api/v1/namespaces/a/pods?watch=1", "watch", ("", "pods", "", "a", "")),
        ("GET /api/v1/watch/namespaces/a/pods", "watch", ("", "pods", "", "a", "")),
        ("GET /apis/apps/v1/namespaces/a/deployments/web", "get", ("apps", "deployments", "", "a", "web")),
        ("PATCH /apis/apps/v1/namespaces/a/deployments/b/status", "patch", ("apps", "deployments", "status", "a", "b")),
        ("DELETE /apis/apps/v1/namespaces/a/deployments", "deletecollection", ("apps", "deployments", "", "a", "")),
        ("POST /apis/authorization.k8s.io/v1/x", "create", ("authorization.k8s.io", "x", "", "", "")),
        ("GET /apis/apps/v1", "get", ("", "", "", "", "")),
        ("GET /openapi/v3", "get", ("", "", "", "", "")),
    ],
)  # fmt: skip
def test_a_url_is_read_in_the_words_of_kubernetes(line: str, verb: str, thing: tuple[str, ...]) -> None:
    route = read_route(*line.split())
    assert route.verb == verb
    assert (route.group, route.resource, route.subresource, route.namespace, route.name) == thing
    assert route.writes == (verb in ("update", "patch", "deletecollection"))


@pytest.mark.parametrize(
    ("options", "query", "writes"),
    [
        (None, "", True),
        (None, "?dryRun=All", False),
        ({"kind": "DeleteOptions"}, "?dryRun=All", True),
        ({"dryRun": []}, "?dryRun=All", True),
        ((), "?dryRun=All", True),  # a body that we can't read
        ({"dryRun": ["All"]}, "", False),
    ],
)
def test_a_deletion_with_a_body_is_a_try_only_if_the_body_says_so(options: object, query: str, writes: bool) -> None:
    assert read_route("DELETE", f"/api/v1/namespaces/a/configmaps/b{query}", "", options).writes == writes


def test_a_deletion_that_only_looks_like_a_try_is_a_write(
    recorder: Recorder, operator: Operator, outsider: Outsider
) -> None:
    outsider.create("cm-tried")
    options = {"kind": "DeleteOptions", "apiVersion": "v1"}
    operator.ask("DELETE", f"{operator.configmaps}/cm-tried?dryRun=All", options)
    assert operator.get("cm-tried")[0] == 404
    assert [each.verb for each in recorder.writes(name="cm-tried")] == ["delete"]


def test_a_target_that_names_a_server_is_read_as_well(
    recorder: Recorder, operator: Operator, outsider: Outsider
) -> None:
    outsider.create("cm-named")
    for server in ("http://registry.example", "HTTPS://registry.example:443", "ftp://a@b"):
        assert operator.ask("DELETE", f"{server}{operator.configmaps}/cm-named")[0] in (200, 404)
    assert [(each.verb, each.name) for each in recorder.writes()] == [("delete", "cm-named")] * 3
    assert operator.ask("GET", "http://registry.example?x")[0] in (200, 403)
    assert recorder.requests[-1].path == "/?x"


def test_a_kind_and_its_plural_mean_the_same() -> None:
    kinds = ("Deployment", "Ingress", "NetworkPolicy", "Endpoints", "deployments", "WebApp")
    assert [plural(kind) for kind in kinds] == [
        "deployments", "ingresses", "networkpolicies", "endpoints", "deployments", "webapps",
    ]  # fmt: skip
