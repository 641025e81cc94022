"""A connection takes no more of our memory than a request needs, whatever its client sends or leaves unread."""

import asyncio
import contextlib
import http.client
import http.server
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from converge.recorder import Recorder
from converge.recorder.http.http1 import Message, Response, response_bytes
from converge.recorder.http.incoming import LARGEST_BODY, Incoming

Handler = Callable[[Message, Incoming], Awaitable[None]]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
LIMIT = 20  # seconds


@contextlib.asynccontextmanager
async def connected(handler: Handler) -> AsyncIterator[Streams]:
    clients: set[Incoming] = set()
    server = await asyncio.get_running_loop().create_server(lambda: Incoming(handler, clients), "127.0.0.1", 0)
    here, port = server.sockets[0].getsockname()
    reader, writer = await asyncio.open_connection(here, port)
    try:
        yield reader, writer
    finally:
        for client in tuple(clients):
            client.reset()
        writer.close()
        server.close()


def play(scene: Callable[[], Awaitable[None]]) -> None:
    async def timed() -> None:
        await asyncio.wait_for(scene(), LIMIT)

    with ThreadPoolExecutor(1) as thread:  # of its own: the browser tests keep a loop running in the main one
        thread.submit(asyncio.run, timed()).result()


async def echo(message: Message, client: Incoming) -> None:
    client.write(response_bytes(Response(200, [], b"%d" % len(message.body)), keep_alive=True))


def test_the_largest_body_arrives() -> None:
    async def scene() -> None:
        async with connected(echo) as (reader, writer):
            writer.write(b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % LARGEST_BODY + b"x" * LARGEST_BODY)
            assert (await reader.readuntil(b"%d" % LARGEST_BODY)).startswith(b"HTTP/1.1 200 ")

    play(scene)


BEGINNINGS = {
    "a length that is a lie": (b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", b"x" * 65536),
    "chunks without end": (
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"10000\r\n" + b"x" * 65536 + b"\r\n",
    ),
    "headers without end": (b"POST / HTTP/1.1\r\n", b"a: b\r\n" * 1000),
    "a path without end": (b"GET /", b"x" * 65536),
}


@pytest.mark.parametrize("how", BEGINNINGS)
def test_a_request_without_end_is_refused_in_the_servers_words(how: str) -> None:
    begin, more = BEGINNINGS[how]

    async def scene() -> None:
        async with connected(echo) as (reader, writer):
            writer.write(begin)
            with contextlib.suppress(ConnectionError):
                for _ in range(3000):
                    writer.write(more)
                    await writer.drain()
                raise AssertionError("all of it was taken")
            with contextlib.suppress(ConnectionError):  # what was sent after the answer may have reset the connection
                answer = await reader.read(65536)
                assert not answer or answer.startswith(b"HTTP/1.1 413 ")

    play(scene)


def test_a_client_that_reads_no_answers_is_not_given_more_and_more() -> None:
    """Each answer has a megabyte, and the client asks for 150 of them."""
    given = 0

    async def megabyte(message: Message, client: Incoming) -> None:
        nonlocal given
        given += 1
        client.write(response_bytes(Response(200, [], bytes(1 << 20)), keep_alive=True))

    async def scene() -> None:
        async with connected(megabyte) as (reader, writer):
            writer.write(b"GET / HTTP/1.1\r\n\r\n" * 150)
            before = -1
            while given != before:  # until nothing more is answered
                before = given
                await asyncio.sleep(0.3)
            assert given < 50
            for _ in range(150):  # and all of them are there for one who reads
                await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(1 << 20)
            assert given == 150

    play(scene)


class Unwilling(http.server.BaseHTTPRequestHandler):
    """A server that refuses everything."""

    protocol_version = "HTTP/1.1"

    def do_PATCH(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *what: object) -> None: ...


@pytest.fixture
def unwilling() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Unwilling) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def ask(recorder: Recorder, times: int, path: str, body: bytes) -> None:
    connection = http.client.HTTPConnection(urlsplit(recorder.url).netloc, timeout=10)
    for _ in range(times):
        connection.request("PATCH", path, body)
        connection.getresponse().read()


@pytest.mark.parametrize(("path", "body"), [("/x", b"x" * 50_000), (f"/{'x' * 50_000}", b""), ("/x", b"")])
def test_what_a_graded_operator_asks_in_vain_is_not_remembered_without_end(
    unwilling: str, path: str, body: bytes
) -> None:
    with Recorder(unwilling, None) as recorder:
        recorder.allow(writes=10_000, size=1 << 30, kept=1 << 20)
        with pytest.raises((OSError, http.client.HTTPException)):
            ask(recorder, 1000, path, body)
        assert recorder.requests
        assert sum(len(each.path) + len(each.sent_body) for each in recorder.requests) < 1 << 20


def test_others_may_ask_as_often_as_they_like(unwilling: str) -> None:
    with Recorder(unwilling, None) as recorder:
        ask(recorder, 30, "/x", b"x" * 50_000)
        assert len(recorder.requests) == 30
