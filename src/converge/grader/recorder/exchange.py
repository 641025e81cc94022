"""One request with all that is needed to answer it: the plain way, and the ways of the faults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from converge.grader.recorder.incoming import Incoming
from converge.grader.recorder.records import BODY_CAP, FaultRecord, Request
from converge.grader.recorder.versions import judge, outpaced, parse, pinned, version_of
from converge.grader.recorder.watching import Watch
from converge.grader.recorder.wire import Answer, Message, answer_bytes, get_bytes, request_bytes

if TYPE_CHECKING:
    from converge.grader.recorder.proxy import Proxy

# How often a patch is pinned to a newer version before it goes as it came.
_TRIES = 4


class OperatorGoneError(Exception):
    """The operator that sent this is no more."""


class Exchange:
    """One request with all that is needed to answer it. Faults see it as ``faults.Exchange``."""

    def __init__(self, proxy: Proxy, message: Message, client: Incoming, record: Request) -> None:
        self.proxy = proxy
        self.message = message
        self.client = client
        self.record = record
        self._reached_server = False

    # --- the plain way

    async def forward(self) -> Answer:
        """Let the API server answer, and judge what it did."""
        record, versions = self.record, self.proxy.versions
        frozen = await self.proxy.freezer.answer(self)
        if frozen is not None:
            self._seen(frozen)
            return frozen
        newest_before = versions.newest
        answer = await self._ask() if record.verb not in ("update", "patch", "apply") else await self._update()
        self._seen(answer)
        if record.is_write:
            record.changed = judge(record, parse(answer.body), newest_before)
        versions.saw_answer(answer.body)
        return answer

    async def _ask(self, body: bytes | None = None) -> Answer:
        await self.proxy.pass_gate(self)
        self._reached_server = True
        message = self.message if body is None else replace(self.message, body=body)
        data = request_bytes(message, self.proxy.upstream.host)
        return await self.proxy.upstream.ask(data, safe=not self.record.is_write, head_only=message.method == "HEAD")

    async def _update(self) -> Answer:
        """Let the server do an update such that the version before it is known."""
        record, message = self.record, self.message
        record.version_before = version_of(parse(message.body))
        if record.version_before or not record.is_write:
            return await self._ask()
        if known := self.proxy.versions.last(record):
            answer = await self._pinned(known)
            # Whatever was wrong with it, it may be the pin: the object can be gone, or another of that name.
            if answer is not None and answer.status < 300:
                return answer
        for query in ("?resourceVersion=0", *[""] * _TRIES):
            answer = await self._pinned(await self._version(query))
            if answer is None:
                break
            if not outpaced(answer.status, parse(answer.body)):
                return answer
        return await self._ask()

    async def _pinned(self, version: str) -> Answer | None:
        """Let the server do the patch on just this version; None where it cannot be told so."""
        self.record.version_before = version
        message = self.message
        kind = message.header(b"content-type")
        patch = pinned(message.body, kind, version) if version and self.record.verb != "update" else None
        return None if patch is None else await self._ask(patch)

    async def _version(self, query: str) -> str:
        target = f"{self.record.route.collection}/{self.record.name}{query}"
        upstream = self.proxy.upstream
        answer = await upstream.ask(get_bytes(self.message, upstream.host, target), safe=True)
        return version_of(parse(answer.body)) if answer.status == 200 else ""

    def _seen(self, answer: Answer) -> None:
        record = self.record
        record.status = answer.status
        record.response_size = len(answer.body)
        if record.verb != "list" and len(answer.body) <= BODY_CAP:
            record.answer_body = answer.body
        if answer.status >= 400 or not (record.is_write or record.verb == "get"):
            return
        seen = parse(answer.body)
        record.version_after = version_of(seen)
        if isinstance(seen, dict) and seen.get("kind") != "Status":
            record.kind = str(seen.get("kind", ""))
            record.name = str((seen.get("metadata") or {}).get("name", record.name))
            self.proxy.versions.saw_object(record)

    def pass_on(self, answer: Answer) -> None:
        """Give the answer to the operator."""
        if self.client.gone:
            self.record.note = "the operator went away before the answer"
        self.finish()
        head_only = self.message.method == "HEAD"
        self.client.write(answer_bytes(answer, keep_alive=self.message.keep_alive, head_only=head_only))

    def finish(self) -> None:
        if self.record.duration is None:
            self.record.duration = self.proxy.recording.now() - self.record.time
            self.proxy.recording.told()

    async def stream(self) -> None:
        """Pass a watch through, event by event, until one of the two sides ends it."""
        proxy = self.proxy
        target, past = await proxy.freezer.watch(self)
        watch = Watch(self.record, self.message, self.client, proxy, await proxy.upstream.connect())
        proxy.streams.add(watch.events)
        try:
            await watch.run(request_bytes(self.message, proxy.upstream.host, target), past)
        finally:
            proxy.streams.discard(watch.events)

    # --- what faults do

    def struck(self, name: str) -> None:
        self.record.fault = name
        recording = self.proxy.recording
        recording.faults.append(FaultRecord(recording.now(), name, self.record.object, self.record.number))

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        extra = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
        answer = Answer(status, [(b"Content-Type", b"application/json"), *extra], body)
        self._seen(answer)
        if self.record.is_write:
            self.record.changed = False
        self.pass_on(answer)

    def reset(self, why: str) -> None:
        self._unanswered(why)
        self.client.reset()

    async def gave_up(self, why: str) -> None:
        self._unanswered(why)
        await self.client.closed

    async def kill(self, kill: Callable[[], object], why: str) -> None:
        self._unanswered(why)
        self.last_one()
        await self.proxy.kill(kill)

    def last_one(self) -> None:
        """Let nothing of the operator reach the server beside and after this, until it is answered."""
        self.proxy.close_gate(self)

    def _unanswered(self, why: str) -> None:
        self.record.note = why
        self.record.status = None
        if self.record.is_write and not self._reached_server:
            self.record.changed = False
        self.proxy.recording.told()
