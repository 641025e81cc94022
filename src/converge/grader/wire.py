"""The channel between the grader and the process of a submission: one JSON value per line, limited in size.

Both ends use this module. Whatever JSON cannot say stays where it is and is passed as a reference,
`{"$ref": number}`; no pickle, no code, nothing that is executed on arrival.
"""

from __future__ import annotations

import json
import threading
from typing import IO, Any, NamedTuple

LARGEST = 4 * 1024 * 1024  # bytes of one line


class Answer(NamedTuple):
    """An argument of a call in a play: the answer of the play's step number `step`."""

    step: int


class Made(NamedTuple):
    """Stands for an object that is made over there: `Made("converge.runtime:Request", ("shop", "web"))`."""

    name: str
    arguments: tuple[Any, ...] = ()


class TooLargeError(Exception):
    """A line was longer than the channel carries."""


class Wire:
    """Sends and receives JSON lines. Any thread may send; one thread receives."""

    def __init__(self, reader: IO[bytes], writer: IO[bytes]) -> None:
        self._reader = reader
        self._writer = writer
        self._sending = threading.Lock()

    def send(self, message: dict[str, Any]) -> None:
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        if len(line) > LARGEST:
            raise TooLargeError(f"{len(line)} bytes in one message; the limit is {LARGEST}")
        with self._sending:
            self._writer.write(line)
            self._writer.flush()

    def receive(self) -> dict[str, Any] | None:
        """The next message; None when the other end is gone. Raises ValueError for what is no message."""
        line = self._reader.readline(LARGEST + 1)
        if not line:
            return None
        if len(line) > LARGEST:
            raise TooLargeError(f"more than {LARGEST} bytes in one message")
        message = json.loads(line)
        if not isinstance(message, dict):
            raise TypeError("a message is a JSON object")
        return message

    def close(self) -> None:
        for end in (self._writer, self._reader):
            try:
                end.close()
            except OSError:
                pass  # the other end is gone already: there was nothing left to flush
