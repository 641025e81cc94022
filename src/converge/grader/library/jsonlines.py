"""The channel between the grader and the process of a submission: one JSON value per line, limited in size.

Both ends use this module. Whatever JSON cannot say stays where it is and is passed as a reference,
`{"$ref": number}`; no pickle, no code, nothing that is executed on arrival.
"""

from __future__ import annotations

import json
import os
import select
import threading
import time
from typing import Any, NamedTuple

MODULE = 0  # the reference of the submission's module
LARGEST_LINE = 4 * 1024 * 1024  # bytes of one line
SENT_WITHIN = 60.0  # seconds for an end that has stopped reading


class AnswerOf(NamedTuple):
    """An argument of a call in a play: the answer of the play's step number `step`."""

    step: int


class NewObject(NamedTuple):
    """An argument that is made in the other process: `NewObject("converge.runtime:Request", ("shop", "web"))`."""

    name: str
    arguments: tuple[Any, ...] = ()


class TooLargeError(Exception):
    """A line was longer than the channel carries."""


class JsonLines:
    """Sends and receives JSON lines over two pipes. Any thread may send; one receives; none can hold `close` up.

    A pipe ends when the last process that has it closes it, which may be never. So nothing here blocks in a read or a
    write: it waits for the pipe and for `close`, whichever comes first.
    """

    def __init__(self, reader: int, writer: int) -> None:
        self._reader = reader
        self._writer = writer
        self._sending = threading.Lock()
        self._receiving = threading.Lock()
        self._received = bytearray()
        self._woken, self._waker = os.pipe()
        self._closed = False
        os.set_blocking(writer, False)

    def send(self, message: dict[str, Any]) -> None:
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        if len(line) > LARGEST_LINE:
            raise TooLargeError(f"{len(line)} bytes in one message; the limit is {LARGEST_LINE}")
        with self._sending:
            left, give_up = memoryview(line), time.monotonic() + SENT_WITHIN
            while left:
                if self._closed:
                    raise BrokenPipeError("the channel is closed")
                select.select([self._woken], [self._writer], [], SENT_WITHIN)
                try:
                    left = left[os.write(self._writer, left) :]
                except BlockingIOError:
                    if time.monotonic() >= give_up:
                        raise TimeoutError("the other end does not read") from None

    def receive(self) -> dict[str, Any] | None:
        """The next message; None when the other end is gone. Raises an exception for what isn't a message."""
        with self._receiving:
            line = self._line()
        if not line:
            return None
        message = json.loads(line)
        if not isinstance(message, dict):
            raise TypeError("a message is a JSON object")
        return message

    def _line(self) -> bytes:
        """The next line; nothing at the end of the channel."""
        searched = 0
        while (end := self._received.find(b"\n", searched)) < 0:
            searched = len(self._received)
            if searched > LARGEST_LINE:
                raise TooLargeError(f"more than {LARGEST_LINE} bytes in one message")
            if self._closed:
                return b""
            ready, _, _ = select.select([self._reader, self._woken], [], [])
            chunk = b"" if self._woken in ready else os.read(self._reader, 65536)
            if not chunk:
                return b""
            self._received += chunk
        line = bytes(self._received[: end + 1])
        del self._received[: end + 1]
        return line

    def close(self) -> None:
        """Close both pipes, also while a thread waits for one of them. Safe to call again."""
        if self._closed:
            return
        self._closed = True
        os.close(self._waker)
        with self._sending, self._receiving:
            for end in (self._reader, self._writer, self._woken):
                os.close(end)
