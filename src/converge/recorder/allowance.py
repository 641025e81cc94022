"""What an operator that no one trusts may use up: of the cluster that it shares with others, and of our memory."""

from converge.recorder.http.http1 import Message, Response
from converge.recorder.routes import Route

LARGEST_OBJECT = 1536 * 1024  # bytes; etcd refuses a larger one
MOST_KEPT = 128 * 1024 * 1024  # bytes that a recording may have
# Controllers write a large object again and again, with copies: 40 Deployments of 200 KB filled etcd with a gigabyte.
LARGEST_WRITTEN = 32 * 1024  # bytes of one object; ours have 3 KB
RECORD = 1024  # bytes of a recorded request or event without its texts


# Ways out of its namespace that a right can open: the API server fetches what a Pod or a Service is said to be.
WAYS_OUT = frozenset({"proxy", "exec", "attach", "portforward"})


class Allowance:
    """So many writes, and so many bytes stored by them: each stores its object whole, however small the change.

    No object may be large. And so many bytes of a recording, which remembers each request, whether it's answered well
    or refused. It writes these `resources`, or any.
    """

    def __init__(self, writes: int, size: int, kept: int = MOST_KEPT, resources: frozenset[str] | None = None) -> None:
        self._resources = resources
        self._writes, self._size, self._kept = writes, size, kept
        self._large = f"exceeded quota: an operator that is graded may write objects of {LARGEST_WRITTEN >> 10} KB"
        self._has_grown = False
        self._sentence = f"exceeded quota: an operator that is graded may write {writes} times and {size >> 20} MB"

    def keeps(self, *texts: bytes | str) -> bool:
        """Count one more record. Whether there's room for it."""
        self._kept -= RECORD + sum(map(len, texts))
        return self._kept > 0

    def refusal(self, route: Route, message: Message) -> str:
        """Count a write before it's forwarded. Returns why a request must not be, if it goes too far."""
        foreign = route.writes and self._resources is not None and route.resource not in self._resources
        if foreign or route.subresource in WAYS_OUT:
            what = "/".join(part for part in (route.resource, route.subresource) if part)
            return f"exceeded quota: an operator that is graded may not {'write' if foreign else 'use'} {what}"
        if not route.writes:
            return ""
        self._writes -= 1
        self._size -= len(message.body)
        if self._has_grown or len(message.body) > LARGEST_WRITTEN:
            return self._large
        return self._sentence if self._writes < 0 or self._size < 0 else ""

    def stored(self, message: Message, answer: Response) -> None:
        """Count what the answer to a write shows of its object beyond what was sent."""
        partial = "as=" in message.header(b"accept")  # a table, or only metadata: the object may be any size
        size = LARGEST_OBJECT if partial else len(answer.body)
        self._size -= max(0, size - len(message.body))
        self._has_grown |= not partial and size > 2 * LARGEST_WRITTEN  # bit by bit: that was its last write
