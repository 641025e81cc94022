"""What the flight recorder costs: time added to a request, requests per second, and how late a watch event arrives.

The same requests go to the same API server once directly and once through the recorder, in turns. The requests are
bytes on a kept connection, so that no client library is measured; the load comes from a process of its own. For a patch
the recorder asks for the version before, which is how it knows whether anything changed: that is part of its price.
"""

import itertools
import json
import os
import selectors
import socket
import ssl
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import psutil

from benchmarks.rows import Row, at_least, at_most, figure, main, say
from converge import cluster as clusters
from converge.recorder import Recorder
from converge.recorder.recorder import THREAD
from converge.runtime import Client
from converge.testing.access.identity import drop_namespace, make_account, make_namespace

COMMAND = "python -m benchmarks.recorder"
ROUNDS = 5
REQUESTS = 200  # of each kind, in each round
EVENTS = 100  # in each round
LOAD_SECONDS = 3.0
LOAD_CONNECTIONS = 8


def run() -> list[Row]:
    cluster = clusters.ensure()
    admin = Client(kubeconfig=cluster.kubeconfig)
    namespace = make_namespace(admin)
    everything = {"group": "", "resources": ["configmaps"], "verbs": ["*"]}
    token = make_account(admin, namespace, (everything,))
    collection = f"/api/v1/namespaces/{namespace}/configmaps"
    with Recorder(cluster.server, cluster.ca_file) as recorder:
        ways = [Way("directly", cluster.server, cluster.ca_file, token), Way("recorded", recorder.url, None, token)]
        try:
            ways[0].connect().ask("POST", collection, {"metadata": {"name": "cm"}, "data": {"k": "0"}})
            return [
                *added(ways, collection),
                *throughput(ways, collection),
                *lateness(ways, collection),
                *busy(ways[1], collection),
            ]
        finally:
            drop_namespace(admin, namespace)
            admin.close()


@dataclass(frozen=True)
class Way:
    """A way to the API server."""

    name: str
    url: str
    ca_file: Path | None
    token: str

    def connect(self) -> "Line":
        url = urlsplit(self.url)
        plain = socket.create_connection((url.hostname or "", url.port or 0))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.ca_file is None:
            return Line(plain, self.token)
        context = ssl.create_default_context(cafile=str(self.ca_file))
        return Line(context.wrap_socket(plain, server_hostname=url.hostname), self.token)


class Line:
    """A kept connection."""

    def __init__(self, connection: socket.socket, token: str) -> None:
        self.connection = connection
        self.file = connection.makefile("rb")
        self.token = token

    def bytes_of(self, method: str, path: str, body: object = None) -> bytes:
        data = b"" if body is None else json.dumps(body).encode()
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        lines = [f"{method} {path} HTTP/1.1", "Host: benchmark", f"Authorization: Bearer {self.token}"]
        lines += [f"Content-Type: {kind}", f"Content-Length: {len(data)}", "", ""]
        return "\r\n".join(lines).encode() + data

    def ask(self, method: str, path: str, body: object = None) -> bytes:
        self.connection.sendall(self.bytes_of(method, path, body))
        return self.read()

    def read(self) -> bytes:
        length, status = 0, self.file.readline()
        while (line := self.file.readline()) != b"\r\n":
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        body = self.file.read(length)
        assert b" 20" in status, body
        return body


def added(ways: list[Way], collection: str) -> Iterator[Row]:
    """The median of a request on either way, and the difference."""
    number = itertools.count()
    kinds: dict[str, Callable[[Line], object]] = {
        "get": lambda line: line.ask("GET", f"{collection}/cm"),
        "patch": lambda line: line.ask("PATCH", f"{collection}/cm", {"data": {"k": str(next(number))}}),
    }
    samples: dict[tuple[str, str], list[float]] = {(kind, way.name): [] for kind in kinds for way in ways}
    lines = {way.name: way.connect() for way in ways}
    for turn in range(ROUNDS):
        for kind, ask in kinds.items():
            for way in ways if turn % 2 else reversed(ways):
                fresh = [timed(ask, lines[way.name]) for _ in range(REQUESTS)]
                samples[kind, way.name] += fresh
                say(f"   {turn + 1}/{ROUNDS} {kind} {way.name}: {statistics.median(fresh) * 1000:.2f} ms")
    for kind in kinds:
        direct, recorded = (statistics.median(samples[kind, way.name]) * 1000 for way in ways)
        yield figure(f"a {kind} directly, median", direct, "ms", COMMAND)
        yield at_most(1.5, f"added to a {kind} by the recorder, median", recorded - direct, "ms", COMMAND)


def timed(ask: Callable[[Line], object], line: Line) -> float:
    began = time.perf_counter()
    ask(line)
    return time.perf_counter() - began


def throughput(ways: list[Way], collection: str) -> Iterator[Row]:
    """Gets per second over several connections."""
    rates: dict[str, list[float]] = {way.name: [] for way in ways}
    for turn in range(ROUNDS):
        for way in ways if turn % 2 else reversed(ways):
            rates[way.name].append(load(way, f"{collection}/cm"))
            say(f"   {turn + 1}/{ROUNDS} load {way.name}: {rates[way.name][-1]:.0f}/s")
    what = f"gets per second over {LOAD_CONNECTIONS} connections"
    yield figure(f"{what}, directly, median", statistics.median(rates["directly"]), "/s", COMMAND)
    yield at_least(1000, f"{what}, recorded, median", statistics.median(rates["recorded"]), "/s", COMMAND)


def load(way: Way, path: str) -> float:
    """Gets per second that a process of its own gets answered."""
    arguments = [way.url, str(way.ca_file or ""), path, str(LOAD_CONNECTIONS), str(LOAD_SECONDS)]
    command = [sys.executable, "-m", "benchmarks.recorder", "load", *arguments]
    done = subprocess.run(command, env={**os.environ, "TOKEN": way.token}, capture_output=True, text=True, check=True)
    return float(done.stdout)


def play_load(url: str, ca_file: str, path: str, connections: int, seconds: float) -> None:
    """The process of ``load``: one thread that asks again on each connection as soon as it is answered.

    It shares the processors with what it measures, so it does as little as it can: the length of the first answer tells
    where each of the next ones ends.
    """
    way = Way("load", url, Path(ca_file) if ca_file else None, os.environ["TOKEN"])
    lines = [way.connect() for _ in range(connections)]
    request = lines[0].bytes_of("GET", path)
    for line in lines:
        line.ask("GET", path)
    lines[0].connection.sendall(request)
    size = len(answer := lines[0].connection.recv(65536))
    assert answer.startswith(b"HTTP/1.1 200 "), answer
    waiting = selectors.DefaultSelector()
    received = dict.fromkeys((line.connection for line in lines), 0)
    for connection in received:
        waiting.register(connection, selectors.EVENT_READ)
        connection.sendall(request)
    answered, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        for key, _ in waiting.select():
            connection = cast(socket.socket, key.fileobj)
            received[connection] += len(connection.recv(65536))
            if received[connection] == size:
                received[connection] = 0
                answered += 1
                connection.sendall(request)
            assert received[connection] < size, "an answer of another length"
    print(answered / seconds)


def lateness(ways: list[Way], collection: str) -> Iterator[Row]:
    """How much later than a direct watch a recorded one has the same event."""
    late: list[float] = []
    for turn in range(ROUNDS):
        with ExitStack() as stack:
            watches = [stack.enter_context(watching(way, collection)) for way in ways]
            writer = ways[0].connect()
            for number in range(EVENTS):
                version = json.loads(writer.ask("PATCH", f"{collection}/cm", {"data": {"n": f"{turn}.{number}"}}))
                direct, recorded = (watch.seen(version["metadata"]["resourceVersion"]) for watch in watches)
                late.append(recorded - direct)
        say(f"   {turn + 1}/{ROUNDS} events: {statistics.median(late[-EVENTS:]) * 1000:.2f} ms later")
    yield at_most(2, "a watch event later through the recorder, median", statistics.median(late) * 1000, "ms", COMMAND)
    slow = statistics.quantiles(late, n=20)[-1] * 1000
    yield figure("a watch event later through the recorder, 95 of 100", slow, "ms", COMMAND)


def busy(recorded: Way, collection: str) -> Iterator[Row]:
    """Processor time of the recorder's thread: what it costs on a machine that has other things to do as well."""
    line = recorded.connect()
    before = processor_time()
    for _ in range(5 * REQUESTS):
        line.ask("GET", f"{collection}/cm")
    each = (processor_time() - before) / (5 * REQUESTS)
    yield figure("processor time of the recorder for a get", each * 1000, "ms", COMMAND)


def processor_time() -> float:
    """Seconds that the recorder's thread has worked so far."""
    [recorder] = [thread for thread in threading.enumerate() if thread.name == THREAD]
    return sum(
        each.user_time + each.system_time for each in psutil.Process().threads() if each.id == recorder.native_id
    )


class Watching:
    """Notes when each version arrived."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self.times: dict[str, float] = {}
        self.news = threading.Condition()

    def read(self) -> None:
        while True:
            text = self.line.file.readline()
            now = time.perf_counter()
            if not text:
                return
            if text.startswith(b'{"type"'):
                version = json.loads(text)["object"]["metadata"]["resourceVersion"]
                with self.news:
                    self.times[version] = now
                    self.news.notify_all()

    def seen(self, version: str) -> float:
        with self.news:
            assert self.news.wait_for(lambda: version in self.times, 10), f"no event of version {version} in 10 s"
            return self.times[version]


@contextmanager
def watching(way: Way, collection: str) -> Iterator[Watching]:
    line = way.connect()
    line.connection.sendall(line.bytes_of("GET", f"{collection}?watch=true&fieldSelector=metadata.name%3Dcm"))
    while line.file.readline() != b"\r\n":
        pass
    watch = Watching(line)
    thread = threading.Thread(target=watch.read)
    thread.start()
    yield watch
    line.connection.shutdown(socket.SHUT_RDWR)
    thread.join()


if __name__ == "__main__":
    if sys.argv[1:2] == ["load"]:
        play_load(*sys.argv[2:5], int(sys.argv[5]), float(sys.argv[6]))
    else:
        main(run)
