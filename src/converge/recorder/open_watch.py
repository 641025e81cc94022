"""An open watch, or another stream, between the two connections: bytes from the API server in, events out.

Which events pass, and when, is decided in ``stream``.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from converge.recorder.entries import FaultRecord, RecordedEvent, RecordedRequest
from converge.recorder.faults.base import Fault
from converge.recorder.http.http1 import LAST_CHUNK, Message, Response, chunk, response_bytes, stream_head, upgrade_head
from converge.recorder.http.incoming import Incoming
from converge.recorder.http.media import readable
from converge.recorder.http.upstream import ServerConnection
from converge.recorder.refusals import reason_of
from converge.recorder.stream import EventStream, read_event

if TYPE_CHECKING:
    from converge.recorder.proxy import Proxy


class OpenWatch:
    """A sink for the server's answer and an outlet for the events in it."""

    agreed = 200

    def __init__(
        self, record: RecordedRequest, message: Message, client: Incoming, proxy: Proxy, connection: ServerConnection
    ) -> None:
        self.record = record
        self.message = message
        self.client = client
        self.proxy = proxy
        self.connection = connection
        self.events = EventStream(record, self)
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._past: list[bytes] = []
        self._refusal: Response | None = None
        self._unread = False

    async def run(self, request: bytes, past: list[bytes]) -> None:
        """Until the server or the operator has had enough. ``past`` are lines that go before those of the server."""
        self._past = past
        self.client.on_pause = self._pause
        self.connection.send(request, self)
        await asyncio.wait({self._ended, self.client.closed}, return_when=asyncio.FIRST_COMPLETED)
        self.client.on_pause = None
        if self.connection.sink is self:
            self.connection.abort()
        self.events.ended = True

    # --- from the server

    def head(self, answer: Response) -> None:
        self.record.status = answer.status
        if answer.status != self.agreed:
            self._refusal = answer
            return
        self.begin(answer)
        self.proxy.recording.notify()

    def begin(self, answer: Response) -> None:
        """The server agreed: the stream begins."""
        self.client.write(stream_head(answer, chunked=self.message.chunked_answers))
        if not self.record.is_watch or not readable(answer.content_type):
            self.leave_unread(answer.content_type or "a stream of unknown type")
            return
        for line in self._past:
            event = read_event(self.record, line, self.now())
            if self.shows(event.namespace):
                self.deliver(event, line)

    def leave_unread(self, what: str) -> None:
        """Pass the stream on as it is, and say so in the recording."""
        self._unread = True
        self.record.note = f"passed on unread: {what}"

    def body(self, data: bytes) -> None:
        self.record.response_size += len(data)
        if self._refusal is not None:
            self._refusal.body += data
        elif self._unread:
            self.write(data)
        else:
            self.events.feed(data)

    def done(self) -> None:
        if self._refusal is not None:
            self.record.answer_body = self._refusal.body
            self.record.reason = reason_of(
                self._refusal.status, self._refusal.body, self.record.resource, self.record.name
            )
            self.client.write(response_bytes(self._refusal, keep_alive=self.message.keep_alive))
            self._end()
        else:
            self.events.server_ended()

    def lost(self) -> None:
        if not self.client.gone:
            self.record.note = "the API server went away"
            self.client.reset()
        self._end()

    # --- to the operator

    def now(self) -> float:
        return self.proxy.recording.now()

    def shows(self, namespace: str) -> bool:
        return self.proxy.shows(namespace)

    def faults_of(self, event: RecordedEvent) -> list[Fault[Any]]:
        hitting = [fault for fault in self.proxy.faults if fault.hits_event(event)]
        recording = self.proxy.recording
        for fault in hitting:
            recording.faults.append(FaultRecord(recording.now(), fault.name, event.object, self.record.number))
            recording.notify()
        return hitting

    def deliver(self, event: RecordedEvent, line: bytes) -> None:
        if not self.proxy.keeps():
            self.client.reset()
            return
        event.time = self.now()
        self.proxy.versions.saw_event(event)
        self.proxy.recording.events.append(event)
        self.write(line)
        self.proxy.recording.notify()

    def end(self) -> None:
        if self.message.chunked_answers:
            self.client.write(LAST_CHUNK)
        else:
            self.client.close()
        self._end()

    def write(self, data: bytes) -> None:
        self.client.write(chunk(data) if self.message.chunked_answers else data)

    def _end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)

    def _pause(self, pause: bool) -> None:
        transport = self.connection.transport
        if transport is not None and not transport.is_closing():
            transport.pause_reading() if pause else transport.resume_reading()


class Tunnel(OpenWatch):
    """A request that leaves HTTP, such as exec or port-forward: bytes both ways, none of them read."""

    agreed = 101

    def begin(self, answer: Response) -> None:
        assert self.connection.transport is not None
        self.leave_unread(self.message.upgrade)
        self.client.write(upgrade_head(answer))
        self.client.tunnel(self.connection.transport.write)

    def lost(self) -> None:
        """The server has closed the connection, which is how every tunnel ends."""
        if not self._unread:
            super().lost()
            return
        self.client.close()
        self._end()

    def write(self, data: bytes) -> None:
        self.client.write(data)
