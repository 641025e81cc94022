"""One open watch: lines from the API server in, events to the operator out, in order, with the faults in between."""

import asyncio
import json
from dataclasses import dataclass, replace
from typing import Any, Protocol

from converge.recorder.bodies import kind_of, metadata_of
from converge.recorder.entries import RecordedEvent, RecordedRequest
from converge.recorder.faults.base import Fault
from converge.recorder.faults.events import Hold

EXPIRED = (
    b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
    b'"message":"too old resource version","reason":"Expired","code":410}}\n'
)
BROKEN = (
    b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
    b'"message":"Internal error occurred: etcdserver: no leader","reason":"InternalError","code":500}}\n'
)


class Outlet(Protocol):
    """Where a watch's events go, and who writes down that they went."""

    def faults_of(self, event: RecordedEvent) -> list[Fault[Any]]:
        """The faults that hit an event which just came in."""

    def now(self) -> float: ...

    def shows(self, namespace: str) -> bool:
        """Whether the operator may know of objects in this namespace."""

    def deliver(self, event: RecordedEvent, line: bytes) -> None:
        """Hand the event to the operator and record it."""

    def end(self) -> None:
        """End the watch as a server does that has had enough."""


@dataclass
class PassingEvent:
    """An event between the server and the operator; faults change when it passes, and how often."""

    event: RecordedEvent
    line: bytes
    copies: int = 1
    not_before: float = 0.0
    held_by: Hold | None = None

    def may_pass(self, now: float) -> bool:
        return self.not_before <= now and (self.held_by is None or not self.held_by.holds)


class EventStream:
    """The events of one watch request."""

    def __init__(self, request: RecordedRequest, outlet: Outlet) -> None:
        self.request = request
        self.outlet = outlet
        self.ended = False
        self._server_ended = False
        self._partial = b""
        self._queue: list[PassingEvent] = []

    def feed(self, data: bytes) -> None:
        """Take bytes as they came from the server; each whole line is an event."""
        lines = (self._partial + data).split(b"\n")
        self._partial = lines.pop()
        for line in lines:
            if line.strip() and not self.ended:
                event = read_event(self.request, line, self.outlet.now())
                if self.outlet.shows(event.namespace):
                    self._arrive(event, line + b"\n")
        self.flush()

    def flush(self) -> None:
        """Pass on what may pass, from the front, until one must wait."""
        self._collapse()
        now = self.outlet.now()
        while self._queue and not self.ended and self._queue[0].may_pass(now):
            waiting = self._queue.pop(0)
            self.outlet.deliver(waiting.event, waiting.line)
        if self._queue and self._queue[0].not_before > now:
            asyncio.get_running_loop().call_later(self._queue[0].not_before - now, self.flush)
        if self._server_ended and not self._queue:
            self.finish()

    def server_ended(self) -> None:
        """The server ended the watch; the operator's ends when all that waits has passed."""
        self._server_ended = True
        self.flush()

    def expire(self) -> None:
        """Say within the stream that the version is too old, and end."""
        self._error(EXPIRED)

    def fail(self) -> None:
        """Say within the stream that the server has failed, and end."""
        self._error(BROKEN)

    def bookmark(self, kind: str, version: str) -> None:
        """Send a newer version without a change, if the watch asked for bookmarks."""
        if not self.ended and "allowWatchBookmarks=true" in self.request.path:
            body = {"type": "BOOKMARK", "object": {"kind": kind, "metadata": {"resourceVersion": version}}}
            line = json.dumps(body).encode() + b"\n"
            self.outlet.deliver(read_event(self.request, line, self.outlet.now()), line)

    def finish(self) -> None:
        """End; what waits is not passed on."""
        if not self.ended:
            self.ended = True
            self._queue.clear()
            self.outlet.end()

    def now(self) -> float:
        return self.outlet.now()

    def held_by(self, fault: Hold) -> list[PassingEvent]:
        """The events that a fault holds back, in order."""
        return [waiting for waiting in self._queue if waiting.held_by is fault]

    def _error(self, line: bytes) -> None:
        if not self.ended:
            event = RecordedEvent(self.outlet.now(), self.request.number, "ERROR", self.request.resource, "", "", "")
            self.outlet.deliver(event, line)
            self.finish()

    def _arrive(self, event: RecordedEvent, line: bytes) -> None:
        passing = PassingEvent(event, line)
        for fault in self.outlet.faults_of(event):
            event.fault = fault.name
            if fault.on_event(passing, self):
                return
        copies = [replace(passing, event=replace(passing.event)) for _ in range(passing.copies - 1)]
        self._queue += [passing, *copies]

    def _collapse(self) -> None:
        """Keep only the last released event of each object."""
        last: dict[tuple[str, str], PassingEvent] = {}
        collapsing = [w for w in self._queue if w.held_by and not w.held_by.holds and w.held_by.collapse]
        for waiting in collapsing:
            last[waiting.event.namespace, waiting.event.name] = waiting
        for waiting in collapsing:
            if last[waiting.event.namespace, waiting.event.name] is not waiting:
                self._queue.remove(waiting)


def read_event(request: RecordedRequest, line: bytes, now: float) -> RecordedEvent:
    """What a line of a watch says."""
    try:
        event = json.loads(line)
        metadata = metadata_of(event["object"])
        request.kind = request.kind or kind_of(event["object"])
    except (ValueError, KeyError, TypeError):
        return RecordedEvent(now, request.number, "ERROR", request.resource, "", "", "", arrived=now)
    return RecordedEvent(
        time=now,
        watch=request.number,
        type=event.get("type", ""),
        resource=request.resource,
        namespace=metadata.get("namespace", ""),
        name=metadata.get("name", ""),
        resource_version=metadata.get("resourceVersion", ""),
        arrived=now,
        among_namespaces=request.among_namespaces,
    )
