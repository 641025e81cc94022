"""The way of a request: arrive, meet its faults, reach the API server, be judged, be answered."""

import asyncio
from collections.abc import Callable

from converge.grader.recorder.event_faults import EventFault
from converge.grader.recorder.exchange import Exchange, OperatorGoneError
from converge.grader.recorder.faults import Fault
from converge.grader.recorder.incoming import Incoming
from converge.grader.recorder.recording import Recording
from converge.grader.recorder.records import BODY_CAP, FaultRecord, Request
from converge.grader.recorder.routes import plural, read_route
from converge.grader.recorder.stale import Freezer
from converge.grader.recorder.stream import EventStream
from converge.grader.recorder.upstream import ServerLostError, Upstream
from converge.grader.recorder.versions import Versions
from converge.grader.recorder.wire import Message


class Proxy:
    """Everything that the recorder's thread owns."""

    def __init__(self, upstream: Upstream, recording: Recording, token: str | None = None) -> None:
        self.upstream = upstream
        self.recording = recording
        self.token = token
        self.versions = Versions()
        self.freezer = Freezer(self)
        self.clients: set[Incoming] = set()
        self.streams: set[EventStream] = set()
        # Replaced, never changed, by the checks' thread.
        self.faults: tuple[Fault, ...] = ()
        self.event_faults: tuple[EventFault, ...] = ()
        self.failures: list[Exception] = []
        self._writes = 0
        self._last: Exchange | None = None
        self._gate = asyncio.Event()

    def accept(self) -> Incoming:
        return Incoming(self.handle, self.clients)

    async def handle(self, message: Message, client: Incoming) -> None:
        """Serve one request."""
        if self.token and not message.header(b"authorization"):
            message.headers.append((b"Authorization", b"Bearer " + self.token.encode()))
        exchange = Exchange(self, message, client, self._begin(message))
        record = exchange.record
        firing = [fault for fault in self.faults if fault.strikes(record)]
        for fault in firing:
            exchange.struck(fault.name)
        try:
            for fault in firing:
                if await fault.before(exchange):
                    return
            await self.pass_gate(exchange)
            if record.is_watch or "follow=true" in message.target:
                await exchange.stream()
                return
            answer = await exchange.forward()
            for fault in firing:
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
            # Ours, not the operator's: whoever stops the recorder is told.
            record.note = f"the recorder failed: {error!r}"
            self.failures.append(error)
            client.reset()
        finally:
            exchange.finish()
            self.open_gate(exchange)

    def _begin(self, message: Message) -> Request:
        route = read_route(message.method, message.target, message.header(b"content-type"))
        if route.writes:
            self._writes += 1
        record = Request(
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
        )
        if route.verb == "create" and isinstance(record.sent, dict) and not route.name:
            record.name = str((record.sent.get("metadata") or {}).get("name", ""))
        self.recording.requests.append(record)
        self.recording.told()
        return record

    async def pass_gate(self, exchange: Exchange) -> None:
        """From the request at which an operator is killed until it is dead, nothing else of it gets through."""
        while self._last is not None and self._last is not exchange:
            await self._gate.wait()
        if exchange.client.gone:
            raise OperatorGoneError

    def close_gate(self, exchange: Exchange) -> None:
        self._last = exchange
        self._gate.clear()

    def open_gate(self, exchange: Exchange) -> None:
        if self._last is exchange:
            self._last = None
            self._gate.set()

    async def kill(self, kill: Callable[[], object]) -> None:
        """Kill, and see to it that nothing that the operator had sent is still taken for a request."""
        try:
            await asyncio.get_running_loop().run_in_executor(None, kill)
        finally:
            await self._reset_clients()

    async def _reset_clients(self) -> None:
        doomed = tuple(self.clients)
        for client in doomed:
            client.reset()
        await asyncio.gather(*(client.closed for client in doomed))

    def flush_streams(self) -> None:
        for stream in tuple(self.streams):
            stream.flush()

    async def on_open_watches(self, kind: str | None, what: str, act: Callable[[EventStream], None]) -> int:
        """Do something to each open watch of a resource, as a fault that strikes now."""
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
