"""A service outside the cluster: DNS-like records over HTTP, which can be slow, failing or down when told to be.

    PUT    /records/HOST   a JSON body          201 when it is new, 200 when it was there, 422 below .invalid
    GET    /records/HOST                        200 with the body, or 404
    DELETE /records/HOST                        204, or 404
    GET    /records                             200 with all of them

Checks start one with the fixture `outside`; a learner with `converge outside`.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LARGEST_BODY = 8 * 1024  # bytes; as Python objects a record takes up to fifty times that
MOST_RECORDS = 1000
SIGN_OF_LIFE = 0.5  # seconds between two of them


@dataclass(frozen=True)
class ReceivedRequest:
    """One request that the service got."""

    time: float
    method: str
    path: str
    status: int

    def __str__(self) -> str:
        return f"{self.method} {self.path} → {self.status or 'no answer'}"


class Outside:
    """The service. `records` is what it keeps, `requests` what it was asked."""

    def __init__(self, port: int = 0) -> None:
        self.records: dict[str, Any] = {}
        self.requests: list[ReceivedRequest] = []
        self._lock = threading.Lock()
        self._failing: list[tuple[int, str]] = []
        self._always: dict[tuple[str, str], int] = {}  # by host and method
        self._delays: dict[str, tuple[float, bool]] = {}
        self._healed = threading.Event()  # set when those that wait now are to wait no longer
        self.waiting = 0  # requests that have come and are not answered yet
        self._port = port
        self._server: ThreadingHTTPServer | None = None
        self.up()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def up(self) -> None:
        """Listen, always on the same port."""
        if self._server is None:
            self._server = _Server(("127.0.0.1", self._port), _handler(self))
            self._port = self._server.server_address[1]
            threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True, name="outside").start()

    def down(self) -> None:
        """Refuse connections until `up()`."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def fail(self, status: int = 500, times: int | None = None, host: str = "", method: str = "") -> None:
        """Answer the next `times` requests (of one `host`), or all until `heal()` (with one `method`), like this.

        Status 0 stands for no answer: the connection is closed.
        """
        with self._lock:
            if times is None:
                self._always[host, method] = status
            else:
                self._failing += [(status, host)] * times

    def slow(self, seconds: float, host: str = "", alive: bool = False) -> None:
        """Take that long for every answer (about one `host`); `alive`: give signs of life, so that nobody hangs up."""
        with self._lock:
            self._delays[host] = seconds, alive

    def heal(self) -> None:
        """Work again, at once and without errors; those that wait get their answer now."""
        with self._lock:
            self._failing.clear()
            self._always.clear()
            self._delays.clear()
            self._healed.set()
            self._healed = threading.Event()
        self.up()

    def answer(self, method: str, path: str, body: bytes, sign_of_life: Callable[[], object]) -> tuple[int, Any]:
        """What the service says to a request."""
        with self._lock:
            self.waiting += 1
            seconds, alive = self._delays.get(path.removeprefix("/records/")) or self._delays.get("", (0.0, False))
            healed = self._healed
        try:
            take_time(seconds, sign_of_life if alive else None, healed)
        finally:
            with self._lock:
                self.waiting -= 1
        with self._lock:
            status, answer = self._failure(method, path) or self._record(method, path, body)
            self.requests.append(ReceivedRequest(time.monotonic(), method, path, status))
        return status, answer

    def _failure(self, method: str, path: str) -> tuple[int, Any] | None:
        host = path.removeprefix("/records/")
        due = next((each for each in self._failing if each[1] in ("", host)), None)
        if due:
            self._failing.remove(due)
        always = (self._always.get(key) for key in ((host, method), (host, ""), ("", method), ("", "")))
        status = due[0] if due else next((each for each in always if each is not None), None)
        return None if status is None else (status, {"error": "the service is in trouble"})

    def _record(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        if path == "/records" and method == "GET":
            return 200, self.records
        host = path.removeprefix("/records/")
        if host == path or not host:
            return 404, {"error": "try /records/HOST"}
        if method == "PUT" and host.endswith(".invalid"):
            return 422, {"error": "names below .invalid are never registered"}
        if method == "PUT":
            try:
                value = json.loads(body or b"{}")
            except ValueError:
                return 400, {"error": "the body is not JSON"}
            new = host not in self.records
            if new and len(self.records) >= MOST_RECORDS:
                return 507, {"error": f"there is room for {MOST_RECORDS} records"}
            self.records[host] = value
            return (201 if new else 200), value
        if host not in self.records:
            return 404, {"error": f"there is no record {host}"}
        if method == "DELETE":
            del self.records[host]
            return 204, None
        return 200, self.records[host]


def take_time(seconds: float, sign_of_life: Callable[[], object] | None, enough: threading.Event) -> None:
    until = time.monotonic() + seconds
    while sign_of_life and time.monotonic() < until and not enough.is_set():
        sign_of_life()
        enough.wait(SIGN_OF_LIFE)
    enough.wait(max(0.0, until - time.monotonic()))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a client that went away is its own business


def _handler(service: Outside) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def respond(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            if not 0 <= length <= LARGEST_BODY:  # a negative one would read until the client hangs up
                self.close_connection = True
                self.send_error(413)
                return
            body = self.rfile.read(length)
            status, answer = service.answer(self.command, self.path, body, self.sign_of_life)
            if status == 0:
                self.close_connection = True
                return
            text = b"" if answer is None else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def sign_of_life(self) -> None:
            """An interim answer, which every client skips."""
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")

        do_GET = do_PUT = do_DELETE = respond  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler
