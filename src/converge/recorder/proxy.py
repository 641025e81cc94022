"""The way of a request: it arrives, meets its faults, reaches the API server and is answered."""

import asyncio
from collections.abc import Callable
from typing import Any

from converge.recorder.allowance import Allowance
from converge.recorder.bodies import metadata_of, parse, parse_json
from converge.recorder.entries import BODY_CAP, FaultRecord, RecordedRequest
from converge.recorder.exchange import Exchange, OperatorGoneError
from converge.recorder.faults.base import Fault
from converge.recorder.http.http1 import Message
from converge.recorder.http.incoming import Incoming
from converge.recorder.http.upstream import ServerLostError, Upstream
from converge.recorder.recording import Recording
from converge.recorder.refusals import status_body
from converge.recorder.routes import plural, read_route
from converge.recorder.stream import EventStream
from converge.recorder.versions import Versions


class Proxy:
    """Everything that the recorder's thread owns."""

    def __init__(self, upstream: Upstream, recording: Recording, token: str | None = None) -> None:
        self.upstream = upstream
        self.recording = recording
        self.token = token
        self.versions = Versions()
        self.clients: set[Incoming] = set()
        self.streams: set[EventStream] = set()
        # Replaced, never changed, by the checks' thread.
        self.faults: tuple[Fault[Any], ...] = ()
        self.failures: list[Exception] = []
        self.namespaces: frozenset[str] = frozenset()
        """Where the operator works; of other namespaces it sees nothing. All, when empty."""
        self.allowance: Allowance | None = None
        self._writes = 0
        self._blocking: Exchange | None = None
        self._unblocked = asyncio.Event()

    def accept(self) -> Incoming:
        return Incoming(self.handle, self.clients)

    async def handle(self, message: Message, client: Incoming) -> None:
        """Serve one request."""
        if not self.keeps(message.target, message.header(b"user-agent"), message.body):
            client.reset()
            return
        if self.token and not message.header(b"authorization"):
            message.headers.append((b"Authorization", b"Bearer " + self.token.encode()))
        exchange = Exchange(self, message, client, self._begin(message))
        record = exchange.record
        allowance = self.allowance
        if allowance and (refusal := allowance.refusal(record.route, message)):
            record.note = refusal
            exchange.answer(403, status_body(record, 403, message=refusal))
            return
        hitting = [fault for fault in self.faults if fault.hits_request(record)]
        for fault in hitting:
            exchange.record_fault(fault.name)
        try:
            for fault in hitting:
                if await fault.before(exchange):
                    return
            await self.wait_until_unblocked(exchange)
            if record.is_watch or record.route.streams or message.upgrade:
                await exchange.stream()
                return
            answer = await exchange.forward()
            if allowance and record.is_write:
                allowance.stored(message, answer)
            for fault in hitting:
                if await fault.after(exchange):
                    return
            exchange.pass_on(answer)
        except ServerLostError as lost:
            # What the operator would see of a server that is not there: a closed connection.
            record.note = "the operator went away before the answer" if client.gone else str(lost)
            client.reset()
        except OperatorGoneError:
            record.note = "the operator went away before it reached the server"
        except Exception as error:
            # Ours, not the operator's: stopping the recorder raises it.
            record.note = f"the recorder failed: {error!r}"
            self.failures.append(error)
            client.reset()
        finally:
            exchange.finish()
            self.unblock_others(exchange)

    def _begin(self, message: Message) -> RecordedRequest:
        options = (parse_json(message.body) or ()) if message.method == "DELETE" and message.body else None
        route = read_route(message.method, message.target, message.header(b"content-type"), options)
        if route.writes:
            self._writes += 1
        record = RecordedRequest(
            number=len(self.recording.requests) + 1,
            time=self.recording.now(),
            method=message.method,
            path=message.target,
            route=route,
            user_agent=message.header(b"user-agent"),
            write=self._writes if route.writes else None,
            request_size=len(message.body),
            sent_body=message.body[:BODY_CAP] if len(message.body) <= BODY_CAP else b"",
            name=route.name,
            among_namespaces=len(self.namespaces) > 1,
        )
        if route.verb == "create" and not route.name:
            record.name = str(metadata_of(parse(message.body)).get("name", ""))
        self.recording.requests.append(record)
        self.recording.notify()
        return record

    def keeps(self, *texts: bytes | str) -> bool:
        """Whether the recording has room for one more record: it has, unless the operator is graded and wastes it."""
        return self.allowance is None or self.allowance.keeps(*texts)

    def shows(self, namespace: str) -> bool:
        """Whether the operator may know of objects in this namespace; those in none are for all."""
        return not namespace or not self.namespaces or namespace in self.namespaces

    async def wait_until_unblocked(self, exchange: Exchange) -> None:
        """From the request at which an operator is killed until it is dead, nothing else of it gets through."""
        while self._blocking is not None and self._blocking is not exchange:
            await self._unblocked.wait()
        if exchange.client.gone:
            raise OperatorGoneError

    def block_others(self, exchange: Exchange) -> None:
        self._blocking = exchange
        self._unblocked.clear()

    def unblock_others(self, exchange: Exchange) -> None:
        if self._blocking is exchange:
            self._blocking = None
            self._unblocked.set()

    async def kill(self, kill: Callable[[], object]) -> None:
        """Call `kill`, then discard whatever the operator had already sent."""
        try:
            await asyncio.get_running_loop().run_in_executor(None, kill)
        finally:
            await self._reset_clients()

    async def _reset_clients(self) -> None:
        open_now = tuple(self.clients)
        for client in open_now:
            client.reset()
        await asyncio.gather(*(client.closed for client in open_now))

    def flush_streams(self) -> None:
        for stream in tuple(self.streams):
            stream.flush()

    async def on_open_watches(self, kind: str | None, what: str, act: Callable[[EventStream], None]) -> int:
        """Do something to each open watch of a resource, as a fault that hits now."""
        streams = [s for s in tuple(self.streams) if kind is None or s.request.resource == plural(kind)]
        for stream in streams:
            stream.request.fault = what
            recording = self.recording
            recording.faults.append(FaultRecord(recording.now(), what, stream.request.object, stream.request.number))
            act(stream)
        return len(streams)

    async def close(self) -> None:
        """Close every connection and wait until nothing is under way."""
        await self._reset_clients()
        self.upstream.close()
        under_way = asyncio.all_tasks() - {asyncio.current_task()}
        if under_way:
            await asyncio.wait(under_way, timeout=5)
