"""One request with all that is needed to answer it: the plain way, and the ways of the faults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from converge.recorder.bodies import kind_of, metadata_of, of_namespaces, parse, version_of
from converge.recorder.entries import BODY_CAP, FaultRecord, RecordedRequest
from converge.recorder.http.http1 import Message, Response, get_bytes, request_bytes, response_bytes
from converge.recorder.http.incoming import Incoming
from converge.recorder.http.media import is_binary
from converge.recorder.open_watch import OpenWatch, Tunnel
from converge.recorder.refusals import reason_of
from converge.recorder.versions import changed_anything, is_version_conflict, patch_of_version

if TYPE_CHECKING:
    from converge.recorder.faults.freeze import Freeze
    from converge.recorder.proxy import Proxy

# How often a patch is tried on a newer version before it is forwarded unmodified.
_TRIES = 4


class OperatorGoneError(Exception):
    """The operator that sent this is gone."""


class Exchange:
    """One request with all that is needed to answer it."""

    def __init__(self, proxy: Proxy, message: Message, client: Incoming, record: RecordedRequest) -> None:
        self.proxy = proxy
        self.message = message
        self.client = client
        self.record = record
        self.past: Freeze | None = None
        """Set by a freeze: reads show the past."""
        self._reached_server = False

    # --- the plain way

    async def forward(self) -> Response:
        """Let the API server answer, and find out whether that changed anything."""
        record, versions = self.record, self.proxy.versions
        if self.past is not None and (old := await self.past.answer(self)) is not None:
            self._hide(old)
            self._seen(old)
            return old
        newest_before = versions.newest
        answer = await self._ask() if record.verb not in ("update", "patch", "apply") else await self._update()
        self._hide(answer)
        self._seen(answer)
        if record.is_write:
            record.changed = changed_anything(record, parse(answer.body), newest_before)
        versions.saw_answer(answer.body)
        return answer

    async def _ask(self, body: bytes | None = None) -> Response:
        await self.proxy.wait_until_unblocked(self)
        self._reached_server = True
        message = self.message if body is None else replace(self.message, body=body)
        data = request_bytes(message, self.proxy.upstream.host)
        return await self.proxy.upstream.ask(data, safe=not self.record.is_write, head_only=message.method == "HEAD")

    async def _update(self) -> Response:
        """Let the server do an update such that the version before it is known."""
        record, message = self.record, self.message
        record.version_before = version_of(parse(message.body))
        if record.version_before or not record.is_write:
            return await self._ask()
        if known := self.proxy.versions.last(record):
            answer = await self._patch_at(known)
            # Whatever was wrong, it may be the version: the object can be gone, or be another of that name.
            if answer is not None and answer.status < 300:
                return answer
        for query in ("?resourceVersion=0", *[""] * _TRIES):
            answer = await self._patch_at(await self._version(query))
            if answer is None:
                break
            if not is_version_conflict(answer.status, parse(answer.body)):
                return answer
        return await self._ask()

    async def _patch_at(self, version: str) -> Response | None:
        """Let the server do the patch on just this version; None for a body that can't say so."""
        self.record.version_before = version
        message = self.message
        kind = message.header(b"content-type")
        patch = patch_of_version(message.body, kind, version) if version and self.record.verb != "update" else None
        return None if patch is None else await self._ask(patch)

    async def _version(self, query: str) -> str:
        target = f"{self.record.route.collection}/{self.record.name}{query}"
        upstream = self.proxy.upstream
        answer = await upstream.ask(get_bytes(self.message, upstream.host, target), safe=True)
        return version_of(parse(answer.body)) if answer.status == 200 else ""

    def _hide(self, answer: Response) -> None:
        """Take the objects of other namespaces out of a list of all."""
        if self.proxy.namespaces and self.record.verb == "list" and not self.record.namespace:
            answer.body = of_namespaces(answer.body, self.proxy.shows)

    def _seen(self, answer: Response) -> None:
        record = self.record
        record.status = answer.status
        record.response_size = len(answer.body)
        record.reason = reason_of(answer.status, answer.body, record.resource, record.name)
        if is_binary(answer.content_type):
            record.note = f"answer not read: {answer.content_type}"
        if record.verb != "list" and len(answer.body) <= BODY_CAP and self.proxy.keeps(answer.body):
            record.answer_body = answer.body
        if answer.status >= 400 or not (record.is_write or record.verb == "get"):
            return
        seen = parse(answer.body)
        record.version_after = version_of(seen)
        if isinstance(seen, dict) and seen.get("kind") != "Status":
            record.kind = kind_of(seen)
            record.name = str(metadata_of(seen).get("name", record.name))
            self.proxy.versions.saw_object(record)

    def pass_on(self, answer: Response) -> None:
        """Give the answer to the operator."""
        if self.client.gone:
            self.record.note = "the operator went away before the answer"
        self.finish()
        head_only = self.message.method == "HEAD"
        self.client.write(response_bytes(answer, keep_alive=self.message.keep_alive, head_only=head_only))

    def finish(self) -> None:
        if self.record.duration is None:
            self.record.duration = self.proxy.recording.now() - self.record.time
            self.proxy.recording.notify()

    async def stream(self) -> None:
        """Pass a watch through, event by event, or bytes unread, until one of the two sides ends it."""
        proxy = self.proxy
        target, past = (self.message.target, []) if self.past is None else await self.past.watch(self)
        kind = Tunnel if self.message.upgrade else OpenWatch
        watch = kind(self.record, self.message, self.client, proxy, await proxy.upstream.connect())
        proxy.streams.add(watch.events)
        try:
            await watch.run(request_bytes(self.message, proxy.upstream.host, target), past)
        finally:
            proxy.streams.discard(watch.events)

    # --- what faults do

    def record_fault(self, name: str) -> None:
        """Write down that a fault hit this request."""
        self.record.fault = name
        recording = self.proxy.recording
        recording.faults.append(FaultRecord(recording.now(), name, self.record.object, self.record.number))

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        """Answer in the place of the API server."""
        extra = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
        answer = Response(status, [(b"Content-Type", b"application/json"), *extra], body)
        self._seen(answer)
        self.record.reason = self.record.reason.partition(":")[0]  # the rest isn't the server's; the fault says more
        if self.record.is_write:
            self.record.changed = False
        self.pass_on(answer)

    def reset(self, why: str) -> None:
        """Tear the operator's connection down with a TCP reset."""
        self._unanswered(why)
        self.client.reset()

    async def leave_unanswered(self, why: str) -> None:
        """Leave the request unanswered until the operator closes the connection."""
        self._unanswered(why)
        await self.client.closed

    async def kill(self, kill: Callable[[], object], why: str) -> None:
        """Let nothing more of the operator reach the server, call ``kill``, close all of its connections."""
        self._unanswered(why)
        self.block_others()
        await self.proxy.kill(kill)

    def block_others(self) -> None:
        """Let nothing of the operator reach the server beside and after this, until it is answered."""
        self.proxy.block_others(self)

    def _unanswered(self, why: str) -> None:
        self.record.note = why
        self.record.status, self.record.reason = None, ""
        if self.record.is_write and not self._reached_server:
            self.record.changed = False
        self.proxy.recording.notify()
