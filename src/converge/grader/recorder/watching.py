"""An open watch between the two connections: takes bytes from the API server, gives events to the operator.

Which events pass, and when, is decided in ``stream``.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from converge.grader.recorder.event_faults import EventFault
from converge.grader.recorder.incoming import Incoming
from converge.grader.recorder.records import FaultRecord, Request, WatchEvent
from converge.grader.recorder.stream import EventStream, read_event
from converge.grader.recorder.upstream import Connection
from converge.grader.recorder.wire import LAST_CHUNK, Answer, Message, answer_bytes, chunk, stream_head

if TYPE_CHECKING:
    from converge.grader.recorder.proxy import Proxy


class Watch:
    """A sink for the server's answer and an outlet for the events in it."""

    def __init__(
        self, record: Request, message: Message, client: Incoming, proxy: Proxy, connection: Connection
    ) -> None:
        self.record = record
        self.message = message
        self.client = client
        self.proxy = proxy
        self.connection = connection
        self.events = EventStream(record, self)
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._past: list[bytes] = []
        self._refusal: Answer | None = None

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

    def head(self, answer: Answer) -> None:
        self.record.status = answer.status
        if answer.status != 200:
            self._refusal = answer
            return
        self.client.write(stream_head(answer, chunked=self.message.chunked_answers))
        for line in self._past:
            self.deliver(read_event(self.record, line, self.now()), line)
        self.proxy.recording.told()

    def body(self, data: bytes) -> None:
        self.record.response_size += len(data)
        if self._refusal is not None:
            self._refusal.body += data
        elif self.record.is_watch:
            self.events.feed(data)
        else:
            self._write(data)

    def done(self) -> None:
        if self._refusal is not None:
            self.record.answer_body = self._refusal.body
            self.client.write(answer_bytes(self._refusal, keep_alive=self.message.keep_alive))
            self._end()
        else:
            self.events.no_more()

    def lost(self) -> None:
        if not self.client.gone:
            self.record.note = "the API server went away"
            self.client.reset()
        self._end()

    # --- to the operator

    def now(self) -> float:
        return self.proxy.recording.now()

    def faults_of(self, event: WatchEvent) -> list[EventFault]:
        struck = [fault for fault in self.proxy.event_faults if fault.strikes(event)]
        recording = self.proxy.recording
        for fault in struck:
            recording.faults.append(FaultRecord(recording.now(), fault.name, event.object, self.record.number))
            recording.told()
        return struck

    def deliver(self, event: WatchEvent, line: bytes) -> None:
        event.time = self.now()
        self.proxy.versions.saw_event(event)
        self.proxy.recording.events.append(event)
        self._write(line)
        self.proxy.recording.told()

    def end(self) -> None:
        if self.message.chunked_answers:
            self.client.write(LAST_CHUNK)
        else:
            self.client.close()
        self._end()

    def _write(self, data: bytes) -> None:
        self.client.write(chunk(data) if self.message.chunked_answers else data)

    def _end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)

    def _pause(self, pause: bool) -> None:
        transport = self.connection.transport
        if transport is not None and not transport.is_closing():
            transport.pause_reading() if pause else transport.resume_reading()
