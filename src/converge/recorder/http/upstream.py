"""Connections to the API server: TLS verified, kept alive, used by one request at a time."""

import asyncio
import ssl
import time
from pathlib import Path
from typing import Protocol, cast
from urllib.parse import urlsplit

import httptools

from converge.recorder.http.http1 import Response

# The API server closes idle connections after a minute and a half; one that it might close now is not used.
_IDLE_LIMIT = 30.0
_MOST_IDLE = 64


class ServerLostError(Exception):
    """The API server could not be reached, or went away before it had answered."""


class Sink(Protocol):
    """Takes one answer, piece by piece."""

    def head(self, answer: Response) -> None: ...
    def body(self, data: bytes) -> None: ...
    def done(self) -> None: ...
    def lost(self) -> None: ...


class WholeAnswer:
    """A sink that waits for all of it."""

    def __init__(self) -> None:
        self.future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._answer = Response()
        self._parts: list[bytes] = []

    def head(self, answer: Response) -> None:
        self._answer = answer

    def body(self, data: bytes) -> None:
        self._parts.append(data)

    def done(self) -> None:
        self._answer.body = b"".join(self._parts)
        if not self.future.done():
            self.future.set_result(self._answer)

    def lost(self) -> None:
        if not self.future.done():
            self.future.set_exception(ServerLostError("the API server closed the connection"))


class ServerConnection(asyncio.Protocol):
    """One connection; ``send`` may be called again when the answer before is done."""

    def __init__(self, pool: "Upstream") -> None:
        self.pool = pool
        self.transport: asyncio.Transport | None = None
        self.sink: Sink | None = None
        self.idle_since = 0.0
        self.reused = False
        self._parser = httptools.HttpResponseParser(self)
        self._headers: list[tuple[bytes, bytes]] = []
        self._head_only = False
        self._left_http = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def send(self, data: bytes, sink: Sink, *, head_only: bool = False) -> None:
        assert self.transport is not None
        self.sink, self._head_only = sink, head_only
        self.transport.write(data)

    def abort(self) -> None:
        """Close at once; the sink hears nothing more."""
        self.sink = None
        if self.transport is not None:
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._left_http:
            self.on_body(data)
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._left_http = True
            self.on_body(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            if self.transport is not None:
                self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.pool.forget(self)
        sink, self.sink = self.sink, None
        if sink is not None:
            sink.lost()

    # --- what the parser calls

    def on_message_begin(self) -> None:
        self._headers = []

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        if self.sink is not None:
            self.sink.head(Response(self._parser.get_status_code(), self._headers))
        if self._head_only:
            # The parser would wait for the body that the headers promise.
            sink, self.sink = self.sink, None
            if sink is not None:
                sink.done()
            self.abort()

    def on_body(self, data: bytes) -> None:
        if self.sink is not None:
            self.sink.body(data)

    def on_message_complete(self) -> None:
        sink, self.sink = self.sink, None
        if sink is None:
            return
        # After an interim answer (100) the real one follows; after 101 whatever the two sides agreed on.
        if self._parser.get_status_code() in (100, 101):
            self.sink = sink
            return
        if self._parser.should_keep_alive():
            self.pool.release(self)
        elif self.transport is not None:
            self.transport.close()
        sink.done()


class Upstream:
    """A pool of connections to one API server."""

    def __init__(self, server: str, ca_file: Path | None) -> None:
        url = urlsplit(server)
        secure = url.scheme == "https"
        self._address = url.hostname or "127.0.0.1"
        self._port = url.port or (443 if secure else 80)
        self._tls = ssl.create_default_context(cafile=str(ca_file) if ca_file else None) if secure else None
        self._idle: list[ServerConnection] = []
        self._open: set[ServerConnection] = set()
        self._closed = False
        self.host = url.netloc.encode()

    async def ask(self, data: bytes, *, safe: bool, head_only: bool = False) -> Response:
        """Send a request, wait for the whole answer. A ``safe`` one is sent again if a kept connection was dead."""
        while True:
            connection = await self.connect()
            sink = WholeAnswer()
            connection.send(data, sink, head_only=head_only)
            try:
                return await sink.future
            except ServerLostError:
                if not (safe and connection.reused):
                    raise

    async def connect(self) -> ServerConnection:
        """A connection that is free to use."""
        if self._closed:
            raise ServerLostError("the recorder was closed")
        while self._idle:
            connection = self._idle.pop()
            if time.monotonic() - connection.idle_since < _IDLE_LIMIT:
                connection.reused = True
                return connection
            connection.abort()
        try:
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: ServerConnection(self), self._address, self._port, ssl=self._tls
            )
        except OSError as error:
            raise ServerLostError(f"the API server cannot be reached: {error}") from error
        self._open.add(connection)
        return connection

    def release(self, connection: ServerConnection) -> None:
        """Keep a connection for the next request."""
        if len(self._idle) < _MOST_IDLE:
            connection.idle_since = time.monotonic()
            self._idle.append(connection)
        else:
            connection.abort()

    def forget(self, connection: ServerConnection) -> None:
        """A connection was lost."""
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)

    def close(self) -> None:
        """Close all; a request that still waits for its answer fails."""
        self._closed = True
        for connection in tuple(self._open):
            if connection.transport is not None:
                connection.transport.abort()
