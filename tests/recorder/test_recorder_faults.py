"""Faults of requests: exact, repeatable, named."""

import http.client
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from recorder_stage import Identity, Operator, Outsider

from converge.cluster import Cluster
from converge.recorder import Recorder, RecorderError, reads, requests, watches, writes
from converge.runtime import NotFound

REASONS = {409: "Conflict", 422: "Invalid", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable"}


@pytest.mark.parametrize("status", REASONS)
def test_the_nth_matching_request_is_refused(
    recorder: Recorder, operator: Operator, outsider: Outsider, status: int
) -> None:
    outsider.create("cm-web", k="0")
    outsider.create("cm-other", k="0")
    fault = recorder.fail(writes("ConfigMap", name="cm-web"), nth=2, status=status)
    assert operator.patch("cm-other", k="1")[0] == 200
    assert operator.patch("cm-web", k="1")[0] == 200
    refused, answer = operator.patch("cm-web", k="2")
    assert (refused, answer["reason"], answer["code"]) == (status, REASONS[status], status)
    assert outsider.get("cm-web")["data"] == {"k": "1"}
    assert operator.patch("cm-web", k="3")[0] == 200

    hit = recorder.requests[2]
    assert fault.fired == [hit]
    assert hit.changed is False
    name = f"{status} on write 2 of configmaps/cm-web"
    assert str(hit) == f"PATCH configmaps/cm-web → {status} {REASONS[status]} (fault: {name})"
    assert [(fault.name, fault.request) for fault in recorder.faults] == [(name, 3)]


def test_a_refused_create_says_that_the_object_exists(recorder: Recorder, operator: Operator) -> None:
    recorder.fail(writes(), status=409)
    assert operator.create("cm-new")[1]["reason"] == "AlreadyExists"


def test_a_404_without_a_reason_is_that_of_a_kind_that_is_not_served(
    recorder: Recorder, operator: Operator, outsider: Outsider
) -> None:
    with pytest.raises(NotFound) as real:
        outsider.admin.connection.request("GET", "/apis/nobody.example/v1/things", asked="list things")
    recorder.fail(reads(), status=404, reason="")
    operator.send("GET", operator.configmaps)
    response = operator.connection.getresponse()
    assert (response.status, response.read().decode().strip()) == (real.value.status, real.value.answer)


def test_retry_after_is_told_in_the_header_and_in_the_body(recorder: Recorder, operator: Operator) -> None:
    recorder.fail(reads(), status=429, retry_after=7)
    operator.send("GET", operator.configmaps)
    response = operator.connection.getresponse()
    assert response.getheader("Retry-After") == "7"
    assert b'"retryAfterSeconds": 7' in response.read()


def test_a_fault_can_last(recorder: Recorder, operator: Operator) -> None:
    three = recorder.fail(reads(verb="get"), status=500, nth=2, times=3)
    seen = [operator.get("cm-none")[0] for _ in range(6)]
    assert seen == [404, 500, 500, 500, 404, 404]
    assert three.name == "500 on get 2–4"
    with recorder.fail(reads(), status=503, times=None):
        assert [operator.get("cm-none")[0] for _ in range(3)] == [503, 503, 503]
    assert operator.get("cm-none")[0] == 404
    recorder.fail(reads(), status=503, times=None)
    recorder.clear_faults()
    assert operator.get("cm-none")[0] == 404


def test_the_first_of_two_faults_wins_and_both_count(recorder: Recorder, operator: Operator) -> None:
    recorder.fail(reads(), status=500)
    recorder.fail(requests("ConfigMap"), status=503, nth=2)
    assert [operator.get("cm-none")[0] for _ in range(3)] == [500, 503, 404]


def test_a_watch_can_be_answered_with_410(recorder: Recorder, operator: Operator) -> None:
    recorder.fail(watches("ConfigMap"), status=410)
    watch = operator.watch()
    assert watch.response.status == 410
    assert b'"reason": "Expired"' in watch.response.read()


def test_a_hanging_request_ends_when_the_operator_gives_up(
    recorder: Recorder, operator: Operator, outsider: Outsider
) -> None:
    recorder.hang(writes())
    operator.connection.timeout = 0.3
    with pytest.raises(TimeoutError):
        operator.create("cm-hang")
    operator.connection.close()
    request = recorder.requests[0]
    assert recorder.wait_for(lambda: request.duration, deadline=5)
    assert str(request) == "CREATE configmaps/cm-hang (never answered; fault: no answer to write 1)"
    assert request.changed is False
    assert outsider.names() == []


def test_a_reset_is_a_reset(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    recorder.reset(writes())
    with pytest.raises(ConnectionResetError):
        operator.create("cm-reset")
    assert outsider.names() == []
    operator.connection.close()
    assert operator.create("cm-reset")[0] == 201


@pytest.mark.parametrize("hang", [False, True])
def test_a_write_can_be_done_and_its_answer_lost(
    recorder: Recorder, operator: Operator, outsider: Outsider, hang: bool
) -> None:
    recorder.lose_answer(writes(), hang=hang)
    operator.connection.timeout = 0.5
    with pytest.raises(TimeoutError if hang else ConnectionResetError):
        operator.create("cm-lost")
    assert outsider.names() == ["cm-lost"]
    request = recorder.requests[0]
    assert (request.status, request.changed) == (None, True)
    operator.connection.close()
    assert operator.create("cm-lost")[0] == 409


def test_another_writer_gets_in_before_a_write(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    outsider.create("cm-web", k="0")
    seen = []
    fault = recorder.meanwhile(writes(), lambda: seen.append(outsider.get("cm-web")["data"]["k"]), nth=2)
    assert [operator.patch("cm-web", k=value)[0] for value in "123"] == [200, 200, 200]
    assert seen == ["1"]  # after the first write, and before the server saw the second
    assert outsider.get("cm-web")["data"] == {"k": "3"}
    assert fault.name == "another writer got in before write 2"


def test_latency_is_added_and_the_request_goes_on(recorder: Recorder, operator: Operator) -> None:
    recorder.slow(reads(), seconds=0.2)
    recorder.fail(reads(), status=500, nth=2)
    for expected in (404, 500):
        began = time.monotonic()
        assert operator.get("cm-none")[0] == expected
        assert time.monotonic() - began >= 0.2


# A real process that writes cm-0, cm-1 … as fast as it can over two connections.
WRITER = """
import http.client, itertools, json, sys, threading
netloc, token, path = sys.argv[1:]
numbers = itertools.count()
def work():
    connection = http.client.HTTPConnection(netloc)
    for number in numbers:
        body = json.dumps({"metadata": {"name": f"cm-{number}"}})
        connection.request("POST", path, body, {"Authorization": "Bearer " + token, "Content-Type": "application/json"})
        connection.getresponse().read()
for _ in range(2):
    threading.Thread(target=work).start()
"""


@pytest.mark.parametrize(("when", "stored"), [("before", 2), ("after", 3)])
def test_an_operator_is_killed_at_an_exact_write(
    recorder: Recorder, operator: Operator, outsider: Outsider, when: str, stored: int
) -> None:
    arguments = [recorder.url.removeprefix("http://"), operator.identity.token, operator.configmaps]
    process = subprocess.Popen([sys.executable, "-c", WRITER, *arguments], stderr=subprocess.DEVNULL)
    killed = threading.Event()

    def kill() -> None:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        killed.set()

    set_fault = recorder.kill_before if when == "before" else recorder.kill_after
    fault = set_fault(writes(), nth=3, kill=kill)
    assert killed.wait(10)
    hit = fault.fired[0]
    assert recorder.wait_for(lambda: hit.duration, deadline=5)
    assert hit.write == 3
    assert hit.changed is (when == "after")
    assert fault.name == f"operator killed {when} write 3"
    # Write 2 may be under way on the other connection still; nothing after the third gets through.
    assert recorder.wait_for(lambda: all(request.duration for request in recorder.writes()), deadline=5)
    through = [request for request in recorder.writes() if request.changed]
    assert len(through) == stored
    assert max(request.write or 0 for request in through) <= 3
    assert len(outsider.names()) == stored
    # The one that is started next is served.
    assert operator.create("cm-next")[0] == 201


def test_a_kill_that_fails_is_an_error_of_the_grader(cluster: Cluster, identity: Identity) -> None:
    def kill() -> None:
        raise ProcessLookupError("it was dead already")

    recorder = Recorder(cluster.server, cluster.ca_file).start()
    recorder.kill_before(writes(), kill=kill)
    with pytest.raises(ConnectionError):
        Operator(recorder.url, identity).create("cm-x")
    with pytest.raises(RecorderError) as failure:
        recorder.stop()
    assert isinstance(failure.value.__cause__, ProcessLookupError)


def test_a_client_without_a_token_is_a_stranger_to_the_server(recorder: Recorder, operator: Operator) -> None:
    connection = http.client.HTTPConnection(recorder.url.removeprefix("http://"))
    connection.request("GET", operator.configmaps)
    assert connection.getresponse().status in (401, 403)
    stranger = Operator(recorder.url, Identity(operator.identity.namespace, "not a token"))
    assert stranger.get("cm-none")[0] == 401
