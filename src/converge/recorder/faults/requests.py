"""Faults of requests: what the recorder does, on request, with the n-th request that matches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from converge.recorder.faults.base import RequestFault
from converge.recorder.matching import RequestMatch
from converge.recorder.refusals import status_body

if TYPE_CHECKING:
    from converge.recorder.exchange import Exchange


class Refuse(RequestFault):
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


class Hang(RequestFault):
    """Never answer; the server never sees the request."""

    async def before(self, exchange: Exchange) -> bool:
        await exchange.leave_unanswered("never answered")
        return True


class Reset(RequestFault):
    """Reset the connection; the server never sees the request."""

    async def before(self, exchange: Exchange) -> bool:
        exchange.reset("connection reset before it reached the server")
        return True


class LoseAnswer(RequestFault):
    """Let the server do it, then lose the answer."""

    def __init__(self, match: RequestMatch, nth: int, times: int | None, *, hang: bool) -> None:
        super().__init__(match, nth, times, "answer lost after")
        self.hang = hang

    async def after(self, exchange: Exchange) -> bool:
        if self.hang:
            await exchange.leave_unanswered("done by the server, answer lost")
        else:
            exchange.reset("done by the server, answer lost")
        return True


class KillBefore(RequestFault):
    """Kill the operator when its request has arrived and the server has not seen it."""

    def __init__(self, match: RequestMatch, nth: int, kill: Callable[[], object]) -> None:
        super().__init__(match, nth, 1, "operator killed before")
        self.kill = kill

    async def before(self, exchange: Exchange) -> bool:
        await exchange.kill(self.kill, "operator killed, never reached the server")
        return True


class KillAfter(RequestFault):
    """Kill the operator when the server has done what it asked and before it can know."""

    def __init__(self, match: RequestMatch, nth: int, kill: Callable[[], object]) -> None:
        super().__init__(match, nth, 1, "operator killed after")
        self.kill = kill

    async def before(self, exchange: Exchange) -> bool:
        exchange.block_others()
        return False

    async def after(self, exchange: Exchange) -> bool:
        await exchange.kill(self.kill, "done by the server, operator killed")
        return True


class Slow(RequestFault):
    """Hold the request back for a while, then treat it as any other."""

    def __init__(self, match: RequestMatch, nth: int, times: int | None, seconds: float) -> None:
        super().__init__(match, nth, times, f"{seconds:g} s longer for")
        self.seconds = seconds

    async def before(self, exchange: Exchange) -> bool:
        await asyncio.sleep(self.seconds)
        return False


class Meanwhile(RequestFault):
    """Let another writer act while the request is on its way, then let it arrive."""

    def __init__(self, match: RequestMatch, nth: int, times: int | None, act: Callable[[], object]) -> None:
        super().__init__(match, nth, times, "another writer got in before")
        self.act = act

    async def before(self, exchange: Exchange) -> bool:
        await asyncio.to_thread(self.act)
        return False
