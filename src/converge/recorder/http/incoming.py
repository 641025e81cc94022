"""A connection of the operator: requests in, one after another also when they come pipelined; answers out."""

import asyncio
import socket
import struct
from collections import deque
from collections.abc import Awaitable, Callable
from typing import cast

import httptools

from converge.recorder.http.http1 import Message

# How many pipelined requests may wait before no more is read.
_MOST_WAITING = 64
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)

Handler = Callable[[Message, "Incoming"], Awaitable[None]]


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
        self._waiting: deque[Message] = deque()
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
        if not self.closed.done():
            self.closed.set_result(None)

    def data_received(self, data: bytes) -> None:
        if self._tunnel is not None:
            self._tunnel(data)
            return
        if self._left_http:
            self._early += data
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
        except httptools.HttpParserError:
            self.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            self.close()

    def pause_writing(self) -> None:
        if self.on_pause is not None:
            self.on_pause(True)

    def resume_writing(self) -> None:
        if self.on_pause is not None:
            self.on_pause(False)

    # --- what the parser calls

    def on_message_begin(self) -> None:
        self._message = Message()
        self._body = []

    def on_url(self, url: bytes) -> None:
        self._message.target += url.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._message.headers.append((name, value))

    def on_headers_complete(self) -> None:
        message = self._message
        message.method = self._parser.get_method().decode()
        message.keep_alive = self._parser.should_keep_alive()
        message.chunked_answers = self._parser.get_http_version() != "1.0"
        protocol = message.header(b"upgrade")
        # An offer to go on with HTTP/2 may be ignored, and is.
        if self._parser.should_upgrade() and protocol.lower() != "h2c":
            message.upgrade, message.keep_alive = protocol, False
        if message.header(b"expect").lower() == "100-continue" and self._worker is None:
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, data: bytes) -> None:
        self._body.append(data)

    def on_message_complete(self) -> None:
        self._message.body = b"".join(self._body)
        self._waiting.append(self._message)
        if self._worker is None:
            self._worker = asyncio.get_running_loop().create_task(self._work())
        elif len(self._waiting) > _MOST_WAITING and self._transport is not None:
            self._transport.pause_reading()

    async def _work(self) -> None:
        try:
            while self._waiting and not self.gone:
                message = self._waiting.popleft()
                await self._handler(message, self)
                if not message.keep_alive:
                    self.close()
                    return
                if len(self._waiting) == _MOST_WAITING and self._transport is not None:
                    self._transport.resume_reading()
        finally:
            self._worker = None
