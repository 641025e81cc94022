"""HTTP as clients really speak it, and servers and clients that go away."""

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from recorder_stage import Identity, Operator, Outsider

from converge.cluster import Cluster
from converge.recorder import Recorder, reads


def raw(operator: Operator) -> socket.socket:
    url = urlsplit(operator.url)
    return socket.create_connection((url.hostname or "", url.port or 0), timeout=10)


def head(operator: Operator, method: str, path: str, *more: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: x", f"Authorization: {operator.identity.headers['Authorization']}"]
    return "\r\n".join([*lines, "Content-Type: application/json", *more, "", ""]).encode()


def test_one_connection_serves_many_requests(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    operator.create("cm-0")
    socket_used = operator.connection.sock
    for _ in range(5):
        assert operator.get("cm-0")[0] == 200
    assert operator.connection.sock is socket_used


def test_pipelined_requests_are_answered_in_order(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    outsider.create("cm-0")
    recorder.slow(reads(name="cm-0"), seconds=0.1)
    paths = [f"{operator.configmaps}/{name}" for name in ("cm-0", "cm-none", "cm-0")]
    with raw(operator) as connection:
        connection.sendall(b"".join(head(operator, "GET", path) for path in paths))
        statuses = []
        for _ in paths:
            response = http.client.HTTPResponse(connection)
            # The next answer may be in the same packet: read no further than this one.
            response.fp = Unbuffered(connection)  # type: ignore[assignment]
            response.begin()
            statuses.append(response.status)
            response.read()
    assert statuses == [200, 404, 200]


class Unbuffered:
    """A file over a socket that takes no byte more than it is asked for."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection

    def readline(self, limit: int = -1) -> bytes:
        line = b""
        while not line.endswith(b"\n"):
            line += self.connection.recv(1)
        return line

    def read(self, size: int = -1) -> bytes:
        return self.connection.recv(size, socket.MSG_WAITALL)

    def flush(self) -> None: ...

    def close(self) -> None: ...


def test_a_chunked_body_of_a_megabyte_arrives_whole(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    text = json.dumps({"metadata": {"name": "cm-big"}, "data": {"k": "x" * 1_000_000}}).encode()
    pieces = (text[start : start + 7000] for start in range(0, len(text), 7000))
    chunked = {**operator.identity.headers, "Transfer-Encoding": "chunked"}
    operator.connection.request("POST", operator.configmaps, pieces, chunked, encode_chunked=True)
    assert operator.receive()[0] == 201
    assert len(outsider.get("cm-big")["data"]["k"]) == 1_000_000
    assert len(operator.get("cm-big")[1]["data"]["k"]) == 1_000_000


def test_a_client_that_waits_for_leave_to_send_gets_it(
    recorder: Recorder, operator: Operator, outsider: Outsider
) -> None:
    body = b'{"metadata": {"name": "cm-expect"}}'
    with raw(operator) as connection:
        length = f"Content-Length: {len(body)}"
        connection.sendall(head(operator, "POST", operator.configmaps, length, "Expect: 100-continue"))
        assert connection.recv(100).startswith(b"HTTP/1.1 100 ")
        connection.sendall(body)
        assert connection.recv(100).startswith(b"HTTP/1.1 201 ")


def test_an_old_client_is_answered_and_let_go(recorder: Recorder, operator: Operator) -> None:
    with raw(operator) as connection:
        request = head(operator, "GET", f"{operator.configmaps}?watch=true&timeoutSeconds=1&resourceVersion=0")
        connection.sendall(request.replace(b"HTTP/1.1", b"HTTP/1.0"))
        answer = b""
        while data := connection.recv(65536):
            answer += data
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"chunked" not in answer


def test_a_head_request_has_no_body(recorder: Recorder, operator: Operator) -> None:
    assert operator.ask("HEAD", "/version")[1] == b""
    assert operator.ask("GET", "/version")[0] == 200


def test_compressed_answers_are_never_asked_for(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    outsider.create("cm-big", k="x" * 200_000)
    status, answer = operator.ask("GET", f"{operator.configmaps}/cm-big", headers={"Accept-Encoding": "gzip"})
    assert (status, len(answer["data"]["k"])) == (200, 200_000)


def test_nonsense_is_refused_and_harms_nobody(recorder: Recorder, operator: Operator) -> None:
    with raw(operator) as connection:
        connection.sendall(b"what is this?\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 400")
    assert operator.get("cm-none")[0] == 404


def test_many_connections_at_once(recorder: Recorder, identity: Identity, outsider: Outsider) -> None:
    def play(number: int) -> int:
        operator = Operator(recorder.url, identity)
        status, _ = operator.create(f"cm-{number}")
        operator.connection.close()
        return status

    with ThreadPoolExecutor(40) as pool:
        assert set(pool.map(play, range(80))) == {201}
    assert sorted(request.write or 0 for request in recorder.writes()) == list(range(1, 81))
    assert len(outsider.names()) == 80


def test_a_write_whose_sender_hangs_up_is_done_and_recorded(
    recorder: Recorder, operator: Operator, outsider: Outsider
) -> None:
    operator.send("POST", operator.configmaps, {"metadata": {"name": "cm-gone"}})
    operator.connection.close()
    assert recorder.wait_for(lambda: [request for request in recorder.writes() if request.status], deadline=5)
    assert outsider.names() == ["cm-gone"]


def test_half_a_request_is_none(recorder: Recorder, operator: Operator) -> None:
    with raw(operator) as connection:
        connection.sendall(head(operator, "POST", operator.configmaps, "Content-Length: 100") + b"{")
    assert operator.get("cm-none")[0] == 404
    assert recorder.writes() == []


def test_a_server_with_another_certificate_is_not_talked_to(
    cluster: Cluster, identity: Identity, tmp_path: Path
) -> None:
    import certifi

    with Recorder(cluster.server, certifi.where()) as recorder:
        operator = Operator(recorder.url, identity)
        with pytest.raises((ConnectionError, http.client.RemoteDisconnected)):
            operator.get("cm-none")
        assert "certificate" in recorder.requests[0].note


class Relay:
    """A TCP relay before the API server that can go down and come back, as a server that is restarted does."""

    def __init__(self, server: str) -> None:
        self.target = (urlsplit(server).hostname, urlsplit(server).port)
        self.pairs: list[socket.socket] = []
        self.listener: socket.socket | None = None
        self.port = 0
        self.up()

    def up(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()

    def down(self) -> None:
        for connection in (self.listener, *self.pairs):
            if connection is not None:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
                connection.close()
        self.pairs.clear()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            far = socket.create_connection(self.target)
            self.pairs += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            pass


@pytest.fixture
def relay(cluster: Cluster) -> Iterator[Relay]:
    relay = Relay(cluster.server)
    yield relay
    relay.down()


def test_a_server_that_goes_down_and_comes_back(
    relay: Relay, cluster: Cluster, identity: Identity, outsider: Outsider
) -> None:
    with Recorder(f"https://127.0.0.1:{relay.port}", cluster.ca_file) as recorder:
        operator = Operator(recorder.url, identity)
        outsider.create("cm-0")
        assert operator.get("cm-0")[0] == 200
        watch = operator.watch()
        assert watch.names(1) == ["cm-0"]

        relay.down()
        with pytest.raises((ConnectionError, http.client.IncompleteRead)):
            watch.next()
        operator.connection.close()
        with pytest.raises((ConnectionError, http.client.RemoteDisconnected)):
            operator.get("cm-0")
        assert "cannot be reached" in str(recorder.reads()[-1])

        relay.up()
        operator.connection.close()
        assert operator.get("cm-0")[0] == 200
        assert operator.patch("cm-0", k="1")[0] == 200
        assert operator.watch().names(1) == ["cm-0"]


def test_a_server_that_hangs_up_on_everybody_is_not_asked_for_ever(identity: Identity) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    calls = []

    def hang_up() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            calls.append(1)
            connection.close()

    answering = threading.Thread(target=hang_up)
    answering.start()
    with Recorder(f"http://127.0.0.1:{listener.getsockname()[1]}") as recorder:
        with pytest.raises((ConnectionError, http.client.RemoteDisconnected)):
            Operator(recorder.url, identity).get("cm-0")
        assert "closed the connection" in recorder.requests[0].note
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    answering.join()
    assert len(calls) == 1


def test_a_server_that_never_answers_does_not_hold_up_the_end(identity: Identity) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        recorder = Recorder(f"http://127.0.0.1:{listener.getsockname()[1]}").start()
        operator = Operator(recorder.url, identity)
        operator.send("GET", operator.configmaps)
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(1)
            began = time.monotonic()
            recorder.stop()
            assert time.monotonic() - began < 2
        assert [request.note for request in recorder.requests] == ["the operator went away before the answer"]


def test_an_offer_of_http_2_is_ignored(recorder: Recorder, operator: Operator) -> None:
    """Java's client offers it with its first request."""
    offer = (
        "Connection: Upgrade, HTTP2-Settings",
        "Upgrade: h2c",
        "HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA",
    )
    with raw(operator) as connection:
        for more in (offer, ()):
            connection.sendall(head(operator, "GET", f"{operator.configmaps}/cm-none", *more))
            response = http.client.HTTPResponse(connection)
            response.fp = Unbuffered(connection)  # type: ignore[assignment]
            response.begin()
            assert response.status == 404
            response.read()


@pytest.mark.parametrize("agrees", [True, False])
def test_what_leaves_http_is_passed_on_unread(identity: Identity, agrees: bool) -> None:
    """exec, attach and port-forward: a server that echoes, or refuses."""

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            asked = b""
            while b"\r\n\r\n" not in asked:
                asked += connection.recv(65536)
            assert b"Upgrade: SPDY/3.1" in asked
            if not agrees:
                connection.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
                return
            connection.sendall(
                b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\nhello "
            )
            while data := connection.recv(65536):
                connection.sendall(data.upper())

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve)
        server.start()
        with Recorder(f"http://127.0.0.1:{listener.getsockname()[1]}") as recorder:
            operator = Operator(recorder.url, identity)
            with raw(operator) as connection:
                path = f"/api/v1/namespaces/{identity.namespace}/pods/p/exec?command=true"
                connection.sendall(head(operator, "POST", path, "Connection: Upgrade", "Upgrade: SPDY/3.1") + b"early ")
                answer = b""
                while not answer.endswith(b"EARLY " if agrees else b"no"):
                    answer += connection.recv(65536)
                if agrees:
                    connection.sendall(b"late")
                    while not answer.endswith(b"LATE"):
                        answer += connection.recv(65536)
            request = recorder.requests[0]
            assert recorder.wait_for(lambda: request.duration, deadline=5)
        server.join()
    assert answer.startswith(b"HTTP/1.1 101" if agrees else b"HTTP/1.1 403")
    assert str(request).endswith("(passed on unread: SPDY/3.1)" if agrees else "→ 403 Forbidden")


LAST_WORDS = b"x" * 1_000_000  # more than what is on its way at once


def test_a_tunnel_that_the_server_ends_is_no_fault_of_its(identity: Identity) -> None:
    """It closes when a WebSocket has said goodbye or a command has ended: its last words arrive, then the end."""

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            asked = b""
            while b"\r\n\r\n" not in asked:
                asked += connection.recv(65536)
            agreed = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
            connection.sendall(agreed + LAST_WORDS)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve)
        server.start()
        with Recorder(f"http://127.0.0.1:{listener.getsockname()[1]}") as recorder:
            operator = Operator(recorder.url, identity)
            with raw(operator) as connection:
                path = f"/api/v1/namespaces/{identity.namespace}/configmaps?watch=true"
                connection.sendall(head(operator, "GET", path, "Connection: Upgrade", "Upgrade: websocket"))
                answer = b""
                while data := connection.recv(65536):  # a reset would raise
                    answer += data
            request = recorder.requests[0]
            assert recorder.wait_for(lambda: request.duration, deadline=5)
        server.join()
    assert answer.endswith(LAST_WORDS)
    assert request.note == "passed on unread: websocket"
