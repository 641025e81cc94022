"""One open watch: lines from the API server in, events to the operator out, in order, with the faults in between."""

import asyncio
import json
from dataclasses import dataclass, replace
from typing import Protocol

from converge.grader.recorder.event_faults import Delay, Drop, Duplicate, EndWatch, EventFault, Hold, Reorder
from converge.grader.recorder.records import Request, WatchEvent

EXPIRED = (
    b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
    b'"message":"too old resource version","reason":"Expired","code":410}}\n'
)


class Outlet(Protocol):
    """Where a watch's events go, and who writes down that they went."""

    def faults_of(self, event: WatchEvent) -> list[EventFault]:
        """The faults that strike an event which just came in."""

    def now(self) -> float: ...

    def deliver(self, event: WatchEvent, line: bytes) -> None:
        """Hand the event to the operator and record it."""

    def end(self) -> None:
        """End the watch as a server does that has had enough."""


@dataclass
class _Waiting:
    event: WatchEvent
    line: bytes
    not_before: float = 0.0
    held_by: Hold | None = None

    def may_pass(self, now: float) -> bool:
        return self.not_before <= now and (self.held_by is None or not self.held_by.holds)


class EventStream:
    """The events of one watch request."""

    def __init__(self, request: Request, outlet: Outlet) -> None:
        self.request = request
        self.outlet = outlet
        self.ended = False
        self._no_more = False
        self._rest = b""
        self._queue: list[_Waiting] = []

    def feed(self, data: bytes) -> None:
        """Take bytes as they came from the server; each whole line is an event."""
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            if line.strip() and not self.ended:
                self._arrive(read_event(self.request, line, self.outlet.now()), line + b"\n")
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
        if self._no_more and not self._queue:
            self.finish()

    def no_more(self) -> None:
        """The server ended the watch; the operator's ends when all that waits has passed."""
        self._no_more = True
        self.flush()

    def expire(self) -> None:
        """Say within the stream that the version is too old, and end."""
        if not self.ended:
            event = WatchEvent(self.outlet.now(), self.request.number, "ERROR", self.request.resource, "", "", "")
            self.outlet.deliver(event, EXPIRED)
            self.finish()

    def bookmark(self, kind: str, version: str) -> None:
        """Tell of a newer version and of no change, if the watch has asked for such."""
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

    def _arrive(self, event: WatchEvent, line: bytes) -> None:
        waiting = _Waiting(event, line)
        copies = 1
        for fault in self.outlet.faults_of(event):
            event.fault = fault.name
            match fault:
                case Drop():
                    return
                case EndWatch():
                    self.flush()
                    self.expire() if fault.expired else self.finish()
                    return
                case Duplicate():
                    copies = 2
                case Delay():
                    waiting.not_before = self.outlet.now() + fault.seconds
                case Hold():
                    waiting.held_by = fault
        self._queue += [waiting, *(replace(waiting, event=replace(event)) for _ in range(copies - 1))]
        if isinstance(waiting.held_by, Reorder):
            self._reverse(waiting.held_by)

    def _reverse(self, fault: Reorder) -> None:
        places = [place for place, waiting in enumerate(self._queue) if waiting.held_by is fault]
        if len(places) == fault.window:
            turned = [self._queue[place] for place in reversed(places)]
            for place, waiting in zip(places, turned, strict=True):
                waiting.held_by = None
                self._queue[place] = waiting

    def _collapse(self) -> None:
        """Of the events that a released hold had of one object, only the last one is left."""
        last: dict[tuple[str, str], _Waiting] = {}
        collapsing = [w for w in self._queue if w.held_by and not w.held_by.holds and w.held_by.collapse]
        for waiting in collapsing:
            last[waiting.event.namespace, waiting.event.name] = waiting
        for waiting in collapsing:
            if last[waiting.event.namespace, waiting.event.name] is not waiting:
                self._queue.remove(waiting)


def read_event(request: Request, line: bytes, now: float) -> WatchEvent:
    """What a line of a watch says."""
    try:
        event = json.loads(line)
        metadata = event["object"].get("metadata", {})
        request.kind = request.kind or event["object"].get("kind", "")
    except (ValueError, KeyError, AttributeError):
        return WatchEvent(now, request.number, "ERROR", request.resource, "", "", "", arrived=now)
    return WatchEvent(
        time=now,
        watch=request.number,
        type=event.get("type", ""),
        resource=request.resource,
        namespace=metadata.get("namespace", ""),
        name=metadata.get("name", ""),
        resource_version=metadata.get("resourceVersion", ""),
        arrived=now,
    )
