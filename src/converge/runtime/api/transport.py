"""Requests and their answers on kept connections: HTTP/1.1 and nothing more than the API server needs.

urllib3 opens the connections, with TLS and all that a kubeconfig can ask for, and it talks to proxies. For the rest its
generality was most of an operator's processor time: this module takes a quarter of it.
"""

from __future__ import annotations

import select
import socket
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

import httptools

#: TLS hands over 16 KB at a time, whatever is asked for.
_CHUNK = 16 * 1024


class NotConnectedError(OSError):
    """No connection could be made, so the request was not sent."""


class Answer:
    """An answer, as far as it has arrived. Header names are in lower case."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.begun = self.complete = False
        self._body: list[bytes] = []

    @property
    def data(self) -> bytes:
        return b"".join(self._body)

    def take(self) -> bytes:
        """What has arrived of the body since the last call."""
        arrived, self._body = self._body, []
        return b"".join(arrived)

    # What the parser calls.

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self.begun = True

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        self.complete = True


class Stream:
    """An answer without an end, read while it arrives. It has the methods of urllib3's that a watch needs."""

    def __init__(self, connection: Any, answer: Answer, parser: Any) -> None:
        self.status = answer.status
        self.headers = answer.headers
        self._connection = connection
        self._sock: socket.socket = connection.sock
        self._answer = answer
        self._parser = parser

    def stream(self, _: int | None = None) -> Iterator[bytes]:
        """The body, piece by piece: whatever has arrived."""
        while True:
            if piece := self._answer.take():
                yield piece
            if self._answer.complete:
                return
            _receive(self._sock, self._parser)

    def shutdown(self) -> None:
        """Wake the thread that reads; for it, this is the end."""
        self._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._connection.close()


class Transport:
    """Connections to one server, lent to one request at a time. Safe to use from many threads."""

    def __init__(self, pool: Any, size: int) -> None:
        """`pool` is urllib3's for the server; `size` idle connections are kept."""
        self._pool = pool
        self._size = size
        self._idle: deque[Any] = deque()
        self._lock = threading.Lock()
        self._host = f"[{pool.host}]" if ":" in pool.host else pool.host

    def request(
        self, method: str, target: str, headers: dict[str, str], body: bytes | None, connect: float, read: float
    ) -> Answer:
        """Send a request and read its answer; `connect` and `read` are timeouts in seconds.

        Raises `NotConnectedError`, `TimeoutError` when no answer comes in time, and another `OSError` when the
        connection breaks.
        """
        connection = self._lend(connect)
        try:
            sock: socket.socket = connection.sock
            sock.settimeout(read)
            sock.sendall(self._head(method, target, headers, body) + (body or b""))
            answer, reusable = _read_answer(sock)
        except BaseException:
            connection.close()
            raise
        if reusable:
            self._take_back(connection)
        else:
            connection.close()
        return answer

    def stream(self, target: str, headers: dict[str, str], connect: float, read: float | None) -> Stream | Answer:
        """Send a GET and return when its answer has begun; an error is returned whole. The rest is as in `request`."""
        connection = self._lend(connect)
        answer = Answer()
        parser = httptools.HttpResponseParser(answer)
        try:
            sock: socket.socket = connection.sock
            sock.settimeout(read)
            sock.sendall(self._head("GET", target, headers, None))
            while not answer.begun:
                _receive(sock, parser)
            answer.status = parser.get_status_code()
            if answer.status < 400:
                return Stream(connection, answer, parser)
            while not answer.complete:
                _receive(sock, parser)
        except BaseException:
            connection.close()
            raise
        connection.close()
        return answer

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            idle, self._idle = self._idle, deque()
        for connection in idle:
            connection.close()

    def _head(self, method: str, target: str, headers: dict[str, str], body: bytes | None) -> bytes:
        lines = [f"{method} {target} HTTP/1.1", f"Host: {self._host}:{self._pool.port}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def _lend(self, timeout: float) -> Any:
        """An idle connection that the server hasn't closed meanwhile, or a new one."""
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self._connect(timeout)
            if not _readable(connection.sock):  # what a server says unasked is goodbye
                return connection
            connection.close()

    def _connect(self, timeout: float) -> Any:
        connection = self._pool._new_conn()  # the one way to have urllib3 open a connection as it was configured
        connection.timeout = timeout
        try:
            connection.connect()
        except Exception as error:
            connection.close()
            raise NotConnectedError(str(error.__cause__ or error)) from error
        return connection

    def _take_back(self, connection: Any) -> None:
        with self._lock:
            if len(self._idle) < self._size:
                self._idle.append(connection)
                return
        connection.close()


def _read_answer(sock: socket.socket) -> tuple[Answer, bool]:
    """The answer, and whether the connection can be used again."""
    answer = Answer()
    parser = httptools.HttpResponseParser(answer)
    while not answer.complete:
        _receive(sock, parser)
    answer.status = parser.get_status_code()
    kept = parser.get_http_version() == "1.1" and answer.headers.get("connection", "").lower() != "close"
    return answer, kept


def _receive(sock: socket.socket, parser: Any) -> None:
    """Wait for the next bytes of an answer, and show them to its parser."""
    received = sock.recv(_CHUNK)
    if not received:
        raise ConnectionResetError("the server closed the connection without an answer")
    try:
        parser.feed_data(received)
    except httptools.HttpParserError as error:
        raise ConnectionError(f"the answer is not HTTP: {error}") from error


def _readable(sock: socket.socket) -> bool:
    waiting = select.poll()
    waiting.register(sock, select.POLLIN)
    return bool(waiting.poll(0))
