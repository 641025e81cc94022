"""What the network and a busy server can do to a request."""

import threading
import time

import pytest
from runtime_world import Gate, config_map, write_kubeconfig

from converge.grader import eventually
from converge.recorder import reads, requests, writes
from converge.runtime import (
    Client,
    Timeout,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)


def test_a_read_whose_connection_breaks_is_sent_again(client, recorder, admin, namespace):
    admin.create(config_map("a", namespace, x="1"))
    recorder.reset(reads("ConfigMap"), times=2)
    assert client.get("v1", "ConfigMap", "a", namespace)["data"] == {"x": "1"}


def test_a_read_is_not_sent_again_for_ever(client, recorder, namespace):
    recorder.reset(reads("ConfigMap"), times=None)
    with pytest.raises(Unavailable, match=r"get ConfigMap .*/a: no answer from http://127.0.0.1"):
        client.get("v1", "ConfigMap", "a", namespace)
    assert len(recorder.reads("ConfigMap")) == 3


def test_a_write_whose_answer_is_lost_is_not_sent_again(client, recorder, admin, namespace):
    recorder.lose_answer(writes("ConfigMap"))
    with pytest.raises(Unavailable):
        client.create(config_map("a", namespace))
    assert len(recorder.writes("ConfigMap")) == 1
    assert admin.get("v1", "ConfigMap", "a", namespace), "the server had done it: only reading again can tell"


def test_an_apply_whose_answer_is_lost_is_sent_again(client, recorder, namespace):
    recorder.lose_answer(writes("ConfigMap"))
    assert client.apply(config_map("a", namespace, x="1"), field_manager="t")["data"] == {"x": "1"}
    assert len(recorder.writes("ConfigMap")) == 2


def test_a_server_that_does_not_answer_is_a_timeout(kubeconfig, recorder, namespace):
    client = Client(kubeconfig=kubeconfig, timeout=0.3)
    recorder.hang(reads("ConfigMap"))
    with pytest.raises(Timeout, match=r"get ConfigMap .*/a: no answer from .* in time"):
        client.get("v1", "ConfigMap", "a", namespace)


def test_a_slow_server_is_waited_for(client, recorder, admin, namespace):
    admin.create(config_map("a", namespace))
    recorder.slow(reads("ConfigMap"), seconds=0.5)
    assert client.get("v1", "ConfigMap", "a", namespace)


def test_a_busy_server_is_asked_again_when_it_said(client, recorder, admin, namespace):
    recorder.fail(writes("ConfigMap"), status=429, retry_after=1)
    started = time.monotonic()
    client.create(config_map("a", namespace))
    assert time.monotonic() - started >= 1
    assert [request.status for request in recorder.writes("ConfigMap")] == [429, 201]


def test_a_busy_server_that_says_no_time_is_an_error(client, recorder, namespace):
    recorder.fail(writes("ConfigMap"), status=429)
    with pytest.raises(TooManyRequests):
        client.create(config_map("a", namespace))


def test_a_server_that_asks_for_too_much_patience_is_an_error(client, recorder, namespace):
    recorder.fail(writes("ConfigMap"), status=429, retry_after=3600)
    with pytest.raises(TooManyRequests) as error:
        client.create(config_map("a", namespace))
    assert error.value.retry_after == 3600


def test_a_client_without_patience_is_told_at_once(kubeconfig, recorder, namespace):
    recorder.fail(writes("ConfigMap"), status=503, retry_after=5)
    with pytest.raises(Unavailable):
        Client(kubeconfig=kubeconfig, patience=0).create(config_map("a", namespace))
    assert len(recorder.writes("ConfigMap")) == 1


def test_closing_a_client_ends_its_patience(client, recorder, namespace):
    recorder.fail(writes("ConfigMap"), status=429, retry_after=30)
    threading.Timer(0.2, client.close).start()
    started = time.monotonic()
    with pytest.raises(TooManyRequests):
        client.create(config_map("a", namespace))
    assert time.monotonic() - started < 10


def test_other_server_errors_are_not_waited_for(client, recorder, namespace):
    recorder.fail(requests("ConfigMap"), status=500)
    with pytest.raises(Unavailable, match="500"):
        client.get("v1", "ConfigMap", "a", namespace)


def test_an_expired_token_is_read_again_from_its_file(client, recorder, tmp_path, token, namespace):
    client.list("v1", "ConfigMap", namespace)
    (tmp_path / "token").write_text("expired")
    stale = Client(kubeconfig=tmp_path / "kubeconfig")
    with pytest.raises(Unauthorized):
        stale.list("v1", "ConfigMap", namespace)
    (tmp_path / "token").write_text(token)
    assert eventually(lambda: not _refused(stale, namespace), within=10)


def _refused(client, namespace):
    try:
        client.list("v1", "ConfigMap", namespace)
    except Unauthorized:
        return True
    return False


def test_connections_are_kept_and_one_that_the_server_closed_is_not_used(cluster, admin, token, tmp_path, namespace):
    admin.create(config_map("a", namespace))
    with Gate(cluster.server) as gate:
        path = write_kubeconfig(
            tmp_path / "gated", gate.url, {"token": token}, **{"certificate-authority": str(cluster.ca_file)}
        )
        client = Client(kubeconfig=path)
        for _ in range(5):
            client.get("v1", "ConfigMap", "a", namespace)
        assert gate.accepted == 1
        gate.cut()
        client.patch("v1", "ConfigMap", "a", namespace, {"data": {"x": "1"}})
        assert gate.accepted == 2
