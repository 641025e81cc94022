"""A watch: an endless answer, one JSON document per line, that another thread can end."""

import json
from collections.abc import Generator, Iterator
from typing import Any, NamedTuple, Self

from converge.runtime.api.errors import ApiError, error_from_status


class WatchEvent(NamedTuple):
    """One line of a watch: ``ADDED``, ``MODIFIED``, ``DELETED`` or ``BOOKMARK``, and the object."""

    type: str
    object: dict[str, Any]


class Watch(Iterator[WatchEvent]):
    """The events of one watch request, in order.

    It ends when the server ends it, when the connection breaks, or when `close` is called: a caller who needs
    more opens another one from the last ``resourceVersion`` seen. An ``ERROR`` event is raised as the
    error it carries, such as `Gone` when that version is too old.
    """

    def __init__(self, response: Any, asked: str) -> None:
        self._response = response
        self._asked = asked
        self._closed = False
        self._events = self._read()  # a generator, which runs on the thread that reads

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> WatchEvent:
        return next(self._events)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the watch, also while another thread waits for its next event."""
        if self._closed:
            return
        self._closed = True
        try:
            self._response.shutdown()  # wakes the thread that reads
        except (OSError, RuntimeError, ValueError):
            pass  # already at its end
        try:
            self._events.close()
        except ValueError:
            return  # another thread reads; it closes the connection when it wakes up
        self._response.close()

    def _read(self) -> Generator[WatchEvent, None, None]:
        try:
            rest = b""
            for chunk in self._chunks():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    if line:
                        yield self._decode(line)
        finally:
            self._closed = True
            # Not back to the pool: a half-read answer is of no use to the next request.
            self._response.close()

    def _chunks(self) -> Iterator[bytes]:
        chunks = self._response.stream(None)
        while not self._closed:
            try:
                chunk = next(chunks, None)
            except Exception:
                # Cut, reset, timed out, or closed under our feet: urllib3, ssl and http.client name it in
                # many ways, and for a watch they all mean that it is over.
                return
            if chunk is None:
                return
            yield chunk

    def _decode(self, line: bytes) -> WatchEvent:
        try:
            event = json.loads(line)
            kind, obj = event["type"], event["object"]
        except (ValueError, KeyError, TypeError) as error:
            raise ApiError(self._asked, f"the watch sent something that isn't an event: {line[:80]!r}") from error
        if kind == "ERROR":
            raise error_from_status(self._asked, obj)
        return WatchEvent(kind, obj)
