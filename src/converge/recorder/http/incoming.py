"""A connection of the operator: requests in, one after another also when they come pipelined; answers out.

Nothing that a client sends, or doesn't read, takes more than some megabytes: a graded submission is such a client.
"""

import asyncio
import re
import socket
import struct
from collections import deque
from collections.abc import Awaitable, Callable
from typing import cast

import httptools

from converge.recorder.http.http1 import Message

# How many pipelined requests may wait, and how many bytes of them, before no more is read.
_MOST_WAITING = 64
_MOST_BYTES_WAITING = 1024 * 1024
LARGEST_HEAD = 1024 * 1024  # bytes of a request's line and headers: as many as the API server takes
_HEADER_COSTS = 64  # bytes that each header takes beside its own
LARGEST_BODY = 4 * 1024 * 1024  # bytes; the API server takes 3 MiB, and says so of one that is larger
_BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_TOO_LARGE_STATUS = (
    b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
    b'"message":"Request entity too large: limit is 3145728","reason":"RequestEntityTooLarge","code":413}\n'
)
_TOO_LARGE = (
    b"HTTP/1.1 413 Request Entity Too Large\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
    b"Connection: close\r\n\r\n%b" % (len(_TOO_LARGE_STATUS), _TOO_LARGE_STATUS)
)
_SERVER_IN_TARGET = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)

Handler = Callable[[Message, "Incoming"], Awaitable[None]]


class _TooLargeError(Exception):
    """A request is larger than any that the API server takes."""


class Incoming(asyncio.Protocol):
    """Collects whole requests and hands them, one at a time, to ``handler``."""

    def __init__(self, handler: Handler, clients: set["Incoming"]) -> None:
        self.closed = asyncio.get_running_loop().create_future()
        self.on_pause: Callable[[bool], None] | None = None
        """Told whether the operator reads slower than we write, while a stream is open."""
        self._handler = handler
        self._clients = clients
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._message = Message()
        self._body: list[bytes] = []
        self._head_size = self._body_size = 0
        self._waiting: deque[Message] = deque()
        self._paused = False
        self._reads_answers = asyncio.Event()
        self._reads_answers.set()
        self._worker: asyncio.Task[None] | None = None
        self._left_http = False
        self._early = b""
        self._tunnel: Callable[[bytes], None] | None = None

    # --- for the handler

    @property
    def gone(self) -> bool:
        return self.closed.done()

    def write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def tunnel(self, send: Callable[[bytes], None]) -> None:
        """Hand all that comes from now on to ``send``, unread."""
        self._tunnel = send
        send(self._early)

    def close(self) -> None:
        """Close when all that was written is sent."""
        if self._transport is not None:
            self._transport.close()

    def reset(self) -> None:
        """Close with a TCP reset: the operator sees “connection reset by peer”."""
        if self._transport is not None:
            sock = self._transport.get_extra_info("socket")
            if sock is not None:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            self._transport.abort()

    # --- what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._clients.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._clients.discard(self)
        self._waiting.clear()
        self._reads_answers.set()
        if not self.closed.done():
            self.closed.set_result(None)

    def data_received(self, data: bytes) -> None:
        if self._tunnel is not None:
            self._tunnel(data)
            return
        if self._left_http:
            self._early += data
            if len(self._early) > LARGEST_BODY:
                self.reset()
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            rest = data[upgrade.args[0] :]
            if self._message.upgrade:
                self._left_http, self._early = True, rest
            else:
                self._parser = httptools.HttpRequestParser(self)
                self.data_received(rest)
        except httptools.HttpParserError as error:
            self.write(_TOO_LARGE if isinstance(error.__context__, _TooLargeError) else _BAD_REQUEST)
            self.close()

    def pause_writing(self) -> None:
        self._reads_answers.clear()
        if self.on_pause is not None:
            self.on_pause(True)

    def resume_writing(self) -> None:
        self._reads_answers.set()
        if self.on_pause is not None:
            self.on_pause(False)

    # --- what the parser calls

    def on_message_begin(self) -> None:
        self._message = Message()
        self._body = []
        self._head_size = self._body_size = 0

    def on_url(self, url: bytes) -> None:
        self._count_head(len(url))
        self._message.target += url.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count_head(len(name) + len(value) + _HEADER_COSTS)
        self._message.headers.append((name, value))

    def on_headers_complete(self) -> None:
        message = self._message
        message.method = self._parser.get_method().decode()
        # A target may name the server as well, as for a proxy: the API server takes it, and so it has to be read.
        if server := _SERVER_IN_TARGET.match(message.target):
            message.target = message.target[server.end() :]
            if not message.target.startswith("/"):
                message.target = f"/{message.target}"
        message.keep_alive = self._parser.should_keep_alive()
        message.chunked_answers = self._parser.get_http_version() != "1.0"
        protocol = message.header(b"upgrade")
        # An offer to go on with HTTP/2 may be ignored, and is.
        if self._parser.should_upgrade() and protocol.lower() != "h2c":
            message.upgrade, message.keep_alive = protocol, False
        if message.header(b"expect").lower() == "100-continue" and self._worker is None:
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, data: bytes) -> None:
        self._body_size += len(data)
        if self._body_size > LARGEST_BODY:
            self._body = []
            raise _TooLargeError
        self._body.append(data)

    def on_message_complete(self) -> None:
        self._message.body = b"".join(self._body)
        self._waiting.append(self._message)
        if self._worker is None:
            self._worker = asyncio.get_running_loop().create_task(self._work())
        elif self._too_many_wait():
            self._pause_reading()

    def _pause_reading(self) -> None:
        if self._transport is not None and not self._paused and not self._transport.is_closing():
            self._paused = True
            self._transport.pause_reading()

    def _resume_reading(self) -> None:
        if self._transport is not None and self._paused and not self._transport.is_closing():
            self._paused = False
            self._transport.resume_reading()

    def _count_head(self, size: int) -> None:
        self._head_size += size
        if self._head_size > LARGEST_HEAD:
            raise _TooLargeError

    def _too_many_wait(self) -> bool:
        waiting = self._waiting
        return len(waiting) > _MOST_WAITING or sum(len(each.body) for each in waiting) > _MOST_BYTES_WAITING

    async def _work(self) -> None:
        try:
            while self._waiting and not self.gone:
                message = self._waiting.popleft()
                await self._handler(message, self)
                if not message.keep_alive:
                    self.close()
                    return
                if not self._too_many_wait():
                    self._resume_reading()
                await self._reads_answers.wait()  # one who reads none gets no more
        finally:
            self._worker = None
