"""Answers from the past: while a resource is frozen, the operator reads it as it was, as from a cache that lags.

Nothing is remembered here. The API server itself is asked for the state at an older version (``resourceVersionMatch=
Exact``), so selectors, pages and kinds are all as real as ever; events of open watches wait until the thaw.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from converge.recorder.bodies import parse, version_of
from converge.recorder.entries import RecordedEvent, RecordedRequest
from converge.recorder.faults.events import Hold
from converge.recorder.http.http1 import Response, get_bytes
from converge.recorder.http.media import accept_json
from converge.recorder.matching import EventMatch
from converge.recorder.refusals import status_body
from converge.recorder.routes import plural

if TYPE_CHECKING:
    from converge.recorder.exchange import Exchange

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

    def hits_event(self, event: RecordedEvent) -> bool:
        """Hold all its events, bookmarks too, since a bookmark would reveal a later version."""
        if self.removed or event.resource != self.resource:
            return False
        self.fired.append(event)
        return True

    def hits_request(self, request: RecordedRequest) -> bool:
        """Reads of the objects, and watches that don't go on from a version that the operator has."""
        if self.removed or request.resource != self.resource:
            return False
        if request.is_watch:
            words = _words(request.path)
            return words.get("resourceVersion", "0") == "0" or _wants_initial_events(words)
        return request.is_read and request.subresource in ("", "status") and (self.gets or request.verb != "get")

    async def before(self, exchange: Exchange) -> bool:
        exchange.past = exchange.past or self
        return False

    def thaw(self, *, collapse: bool = False) -> None:
        """Let the operator see the present again; the events that it missed arrive now."""
        self.release(collapse=collapse)

    async def answer(self, exchange: Exchange) -> Response | None:
        """The answer to a get or list from the past; None for a page whose token says which version it goes on with."""
        record, words = exchange.record, _words(exchange.record.path)
        if record.verb == "list" and "continue" in words:
            return None
        only = {"fieldSelector": f"metadata.name={record.name}"} if record.verb == "get" else {}
        listed = await self._list(exchange, {**words, **only})
        if record.verb == "get" and listed.status == 403:
            raise PermissionError(f"{record.resource} cannot be frozen for an operator that may get but not list them")
        if record.verb == "list" or listed.status != 200:
            return listed
        items = _items(listed.body)
        if items:
            return Response(200, _JSON, json.dumps(items[0]).encode())
        return Response(404, _JSON, status_body(record, 404))

    async def watch(self, exchange: Exchange) -> tuple[str, list[bytes]]:
        """The target that a watch shall ask for, and the lines that it shall begin with."""
        target, words = exchange.message.target, _words(exchange.message.target)
        listed = await self._list(exchange, words)
        if listed.status != 200:
            return target, []
        lines = [_line("ADDED", item) for item in _items(listed.body)]
        if _wants_initial_events(words):
            lines.append(_end_of_initial_events(listed.body))
        kept = {key: value for key, value in words.items() if key not in _VERSION_WORDS}
        later = urlencode({**kept, "watch": "true", "resourceVersion": self.version or ""})
        return f"{target.partition('?')[0]}?{later}", lines

    async def _list(self, exchange: Exchange, words: dict[str, str]) -> Response:
        upstream, collection = exchange.proxy.upstream, exchange.record.route.collection
        if self.version is None:
            now = await upstream.ask(get_bytes(exchange.message, upstream.host, f"{collection}?limit=1"), safe=True)
            self.version = version_of(parse(now.body)) or "0"
        kept = {key: value for key, value in words.items() if key not in _VERSION_WORDS}
        query = urlencode({**kept, "resourceVersion": self.version, "resourceVersionMatch": "Exact"})
        accept = _as_list(accept_json(exchange.message.header(b"accept").encode("latin-1")))
        target = f"{collection}?{query}"
        return await upstream.ask(get_bytes(exchange.message, upstream.host, target, accept), safe=True)


def _words(target: str) -> dict[str, str]:
    return dict(parse_qsl(target.partition("?")[2]))


def _items(body: bytes) -> list[dict[str, object]]:
    """The objects of a list, each with its kind, which the server leaves out of the items of a list.

    Of a table, one table for each row.
    """
    listed = json.loads(body)
    if listed["kind"] == "Table":
        return [{**listed, "rows": [row]} for row in listed.get("rows") or []]
    named = {"kind": listed["kind"].removesuffix("List"), "apiVersion": listed["apiVersion"]}
    return [{**named, **item} for item in listed.get("items") or []]


def _wants_initial_events(words: dict[str, str]) -> bool:
    return words.get("sendInitialEvents", "false").lower() not in ("false", "0")


def _as_list(accept: bytes) -> bytes:
    """What a list is asked for as, when one object or a watch was."""
    return accept.replace(b"as=PartialObjectMetadata;", b"as=PartialObjectMetadataList;") or b"application/json"


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
