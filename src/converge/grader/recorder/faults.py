"""Faults of requests: what the recorder can be told to do with the n-th request that matches.

Faults of watch events are in ``event_faults``; how both count is in ``strikes``.
"""

import asyncio
import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Protocol

from converge.grader.recorder.matching import RequestMatch
from converge.grader.recorder.records import Request
from converge.grader.recorder.strikes import Strikes

_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class Exchange(Protocol):
    """One request on its way, as a fault sees it."""

    record: Request

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        """Answer in the place of the API server."""

    def reset(self, why: str) -> None:
        """Tear the operator's connection down with a TCP reset."""

    async def gave_up(self, why: str) -> None:
        """Leave the request unanswered until the operator closes the connection."""

    def last_one(self) -> None:
        """Let nothing of the operator reach the server beside and after this, until it is answered."""

    async def kill(self, kill: Callable[[], object], why: str) -> None:
        """Let nothing more of the operator reach the server, call ``kill``, close all of its connections."""


class Fault(Strikes[Request]):
    """One instruction for requests."""

    async def before(self, exchange: Exchange) -> bool:
        """Act before the request reaches the server; True if it must not reach it."""
        return False

    async def after(self, exchange: Exchange) -> bool:
        """Act after the server answered; True if the operator must not see the answer."""
        return False


class Refuse(Fault):
    """Answer with a status; the server never sees the request."""

    def __init__(
        self, match: RequestMatch, nth: int, times: int | None, status: int, retry_after: int | None, reason: str | None
    ) -> None:
        super().__init__(match, nth, times, f"{status} on")
        self.status, self.retry_after, self.reason = status, retry_after, reason

    async def before(self, exchange: Exchange) -> bool:
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        body = status_body(exchange.record, self.status, self.reason, self.retry_after)
        exchange.answer(self.status, body, headers)
        return True


class Hang(Fault):
    """Never answer; the server never sees the request."""

    async def before(self, exchange: Exchange) -> bool:
        await exchange.gave_up("never answered")
        return True


class Reset(Fault):
    """Reset the connection; the server never sees the request."""

    async def before(self, exchange: Exchange) -> bool:
        exchange.reset("connection reset before it reached the server")
        return True


class LoseAnswer(Fault):
    """Let the server do it, then lose the answer."""

    def __init__(self, match: RequestMatch, nth: int, times: int | None, *, hang: bool) -> None:
        super().__init__(match, nth, times, "answer lost after")
        self.hang = hang

    async def after(self, exchange: Exchange) -> bool:
        if self.hang:
            await exchange.gave_up("done by the server, answer lost")
        else:
            exchange.reset("done by the server, answer lost")
        return True


class KillBefore(Fault):
    """Kill the operator when its request has arrived and the server has not seen it."""

    def __init__(self, match: RequestMatch, nth: int, kill: Callable[[], object]) -> None:
        super().__init__(match, nth, 1, "operator killed before")
        self.kill = kill

    async def before(self, exchange: Exchange) -> bool:
        await exchange.kill(self.kill, "operator killed, never reached the server")
        return True


class KillAfter(Fault):
    """Kill the operator when the server has done what it asked and before it can know."""

    def __init__(self, match: RequestMatch, nth: int, kill: Callable[[], object]) -> None:
        super().__init__(match, nth, 1, "operator killed after")
        self.kill = kill

    async def before(self, exchange: Exchange) -> bool:
        exchange.last_one()
        return False

    async def after(self, exchange: Exchange) -> bool:
        await exchange.kill(self.kill, "done by the server, operator killed")
        return True


class Slow(Fault):
    """Hold the request back for a while, then treat it as any other."""

    def __init__(self, match: RequestMatch, nth: int, times: int | None, seconds: float) -> None:
        super().__init__(match, nth, times, f"{seconds:g} s longer for")
        self.seconds = seconds

    async def before(self, exchange: Exchange) -> bool:
        await asyncio.sleep(self.seconds)
        return False


class Meanwhile(Fault):
    """Let somebody else act while the request is on its way, then let it arrive."""

    def __init__(self, match: RequestMatch, nth: int, times: int | None, act: Callable[[], object]) -> None:
        super().__init__(match, nth, times, "somebody else was faster than")
        self.act = act

    async def before(self, exchange: Exchange) -> bool:
        await asyncio.to_thread(self.act)
        return False


def status_body(request: Request, status: int, reason: str | None = None, retry_after: int | None = None) -> bytes:
    """The ``Status`` object that the API server would send with this status."""
    if reason is None:
        created_twice = status == 409 and request.verb == "create"
        reason = "AlreadyExists" if created_twice else _REASONS.get(status, HTTPStatus(status).phrase.replace(" ", ""))
    details: dict[str, object] = {"name": request.name, "group": request.group, "kind": request.resource}
    if retry_after is not None:
        details["retryAfterSeconds"] = retry_after
    thing = f"{request.resource}.{request.group}" if request.group else request.resource
    return json.dumps(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": _MESSAGES.get(reason, HTTPStatus(status).phrase).format(thing=thing, name=request.name),
            "reason": reason,
            "details": {key: value for key, value in details.items() if value != ""},
            "code": status,
        }
    ).encode()


_MESSAGES = {
    "AlreadyExists": '{thing} "{name}" already exists',
    "Conflict": 'Operation cannot be fulfilled on {thing} "{name}": the object has been modified; '
    "please apply your changes to the latest version and try again",
    "NotFound": '{thing} "{name}" not found',
    "Expired": "too old resource version",
    "Invalid": '{thing} "{name}" is invalid',
    "InternalError": "Internal error occurred: etcdserver: request timed out",
    "ServiceUnavailable": "the server is currently unable to handle the request",
    "TooManyRequests": "the server has received too many requests and has asked us to try again later",
}
