"""What a submission prints: read all the time so that it never blocks, kept at both ends, cut in the middle."""

from __future__ import annotations

import re
import threading
from typing import IO

KEPT = 32 * 1024  # bytes kept of the beginning, and again of the end

# Escape sequences would let a submission repaint the grader's report; other control characters too.
CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-_]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Output:
    """Drains a pipe on a thread and remembers its first and last bytes."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._drain, args=(pipe,), daemon=True, name="output")
        self._thread.start()

    def _drain(self, pipe: IO[bytes]) -> None:
        with pipe:
            while chunk := pipe.read1(65536):  # type: ignore[attr-defined]
                with self._lock:
                    room = KEPT - len(self._head)
                    self._head += chunk[:room]
                    self._tail += chunk[room:]
                    surplus = len(self._tail) - KEPT
                    if surplus > 0:
                        del self._tail[:surplus]
                        self._dropped += surplus

    def wait(self, seconds: float) -> None:
        """Wait for the end of the output."""
        self._thread.join(seconds)

    def text(self) -> str:
        """What was printed, with a note where some of it was dropped."""
        with self._lock:
            head, tail, dropped = bytes(self._head), bytes(self._tail), self._dropped
        note = f"\n… {dropped} bytes not kept …\n".encode() if dropped else b""
        return plain((head + note + tail).decode(errors="replace"))

    def last(self, lines: int = 12) -> str:
        """The last lines, for a report."""
        return "\n".join(line[:300] for line in self.text().rstrip().splitlines()[-lines:])


def plain(text: str) -> str:
    """Text of a submission without anything that a terminal would obey."""
    return CONTROL.sub("", text)
