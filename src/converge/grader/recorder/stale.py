"""Answers from the past: while a resource is frozen, the operator reads it as it was, as from a cache that lags.

Nothing is remembered here. The API server itself is asked for the state at an older version (``resourceVersionMatch=
Exact``), so selectors, pages and kinds are all as real as ever; events of open watches wait until the thaw.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from converge.grader.recorder.event_faults import Hold
from converge.grader.recorder.faults import status_body
from converge.grader.recorder.matching import EventMatch
from converge.grader.recorder.records import WatchEvent
from converge.grader.recorder.routes import plural
from converge.grader.recorder.versions import parse, version_of
from converge.grader.recorder.wire import Answer, get_bytes

if TYPE_CHECKING:
    from converge.grader.recorder.exchange import Exchange
    from converge.grader.recorder.proxy import Proxy

_VERSION_WORDS = ("resourceVersion", "resourceVersionMatch", "sendInitialEvents", "watch")
_JSON = [(b"Content-Type", b"application/json")]


class Freeze(Hold):
    """One resource as it was at ``version``; None until the first request finds out what “now” is."""

    def __init__(self, kind: str, version: str | None, gets: bool = True) -> None:
        super().__init__(EventMatch(kind), 1, None, "frozen:")
        self.resource = plural(kind)
        self.version = version
        self.gets = gets
        self.name = f"{self.resource} frozen" + (f" at version {version}" if version else "")

    def strikes(self, event: WatchEvent) -> bool:
        """All of its events wait, bookmarks too: they tell of a later version."""
        if self.removed or event.resource != self.resource:
            return False
        self.fired.append(event)
        return True

    def thaw(self, *, collapse: bool = False) -> None:
        """Let the operator see the present again; the events that it missed arrive now."""
        self.release(collapse=collapse)


class Freezer:
    """Turns reads of frozen resources into reads of the past."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy

    async def answer(self, exchange: Exchange) -> Answer | None:
        """The answer to a get or list from the past, or None where the present is due."""
        record = exchange.record
        freeze = self._of(record.resource)
        if freeze is None or not record.is_read or record.subresource not in ("", "status"):
            return None
        if record.verb == "get" and not freeze.gets:
            return None
        exchange.struck(freeze.name)
        query = exchange.message.target.partition("?")[2]
        if record.verb == "list" and "continue=" in query:
            return None  # the token says by itself which version it goes on with
        extra = {"fieldSelector": f"metadata.name={record.name}"} if record.verb == "get" else {}
        listed = await self._list(exchange, freeze, query, extra)
        if record.verb == "get" and listed.status == 403:
            raise PermissionError(f"{record.resource} cannot be frozen for an operator that may get but not list them")
        if record.verb == "list" or listed.status != 200:
            return listed
        items = _items(listed.body)
        if items:
            return Answer(200, _JSON, json.dumps(items[0]).encode())
        return Answer(404, _JSON, status_body(record, 404))

    async def watch(self, exchange: Exchange) -> tuple[str, list[bytes]]:
        """The target that a watch shall ask for, and the lines that it shall begin with."""
        record, target = exchange.record, exchange.message.target
        freeze = self._of(record.resource)
        path, _, query = target.partition("?")
        words = dict(parse_qsl(query))
        if freeze is None or (words.get("resourceVersion", "0") != "0" and "sendInitialEvents" not in words):
            return target, []
        exchange.struck(freeze.name)
        listed = await self._list(exchange, freeze, query, {})
        if listed.status != 200:
            return target, []
        lines = [_line("ADDED", item) for item in _items(listed.body)]
        if "sendInitialEvents" in words:
            lines.append(_end_of_initial_events(listed.body))
        kept = {key: value for key, value in words.items() if key not in _VERSION_WORDS}
        return f"{path}?{urlencode({**kept, 'watch': 'true', 'resourceVersion': freeze.version or ''})}", lines

    def _of(self, resource: str) -> Freeze | None:
        for fault in self.proxy.event_faults:
            if isinstance(fault, Freeze) and fault.resource == resource and not fault.removed:
                return fault
        return None

    async def _list(self, exchange: Exchange, freeze: Freeze, query: str, extra: dict[str, str]) -> Answer:
        upstream, collection = self.proxy.upstream, exchange.record.route.collection
        if freeze.version is None:
            now = await upstream.ask(get_bytes(exchange.message, upstream.host, f"{collection}?limit=1"), safe=True)
            freeze.version = version_of(parse(now.body)) or "0"
        words = [(key, value) for key, value in parse_qsl(query) if key not in _VERSION_WORDS]
        words += [*extra.items(), ("resourceVersion", freeze.version), ("resourceVersionMatch", "Exact")]
        target = f"{collection}?{urlencode(words)}"
        return await upstream.ask(get_bytes(exchange.message, upstream.host, target), safe=True)


def _items(body: bytes) -> list[dict[str, object]]:
    """The objects of a list, each with its kind, which the server leaves out of the items of a list."""
    listed = json.loads(body)
    named = {"kind": listed["kind"].removesuffix("List"), "apiVersion": listed["apiVersion"]}
    return [{**named, **item} for item in listed.get("items") or []]


def _line(type: str, object: dict[str, object]) -> bytes:
    return json.dumps({"type": type, "object": object}).encode() + b"\n"


def _end_of_initial_events(body: bytes) -> bytes:
    listed = json.loads(body)
    metadata = {
        "resourceVersion": listed["metadata"]["resourceVersion"],
        "annotations": {"k8s.io/initial-events-end": "true"},
    }
    kind = listed["kind"].removesuffix("List")
    return _line("BOOKMARK", {"kind": kind, "apiVersion": listed["apiVersion"], "metadata": metadata})
