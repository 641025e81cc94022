"""What a submission prints: read all the time so that it never blocks, kept at both ends, cut in the middle."""

from __future__ import annotations

import os
import re
import threading

MAX_HEAD_OR_TAIL_BYTES = 32 * 1024  # bytes kept of the beginning, and again of the end

# Escape sequences would let a submission repaint the grader's report; other control characters too.
# Half a surrogate pair, which JSON can bring, cannot be printed at all.
CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-_]|[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class Output:
    """Drains a pipe on a thread and remembers its first and last bytes."""

    def __init__(self, pipe: int) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._drain, args=(pipe,), daemon=True, name="output")
        self._thread.start()

    def _drain(self, pipe: int) -> None:
        while chunk := os.read(pipe, 65536):
            with self._lock:
                room = MAX_HEAD_OR_TAIL_BYTES - len(self._head)
                self._head += chunk[:room]
                self._tail += chunk[room:]
                surplus = len(self._tail) - MAX_HEAD_OR_TAIL_BYTES
                if surplus > 0:
                    del self._tail[:surplus]
                    self._dropped += surplus
        os.close(pipe)

    def wait(self, seconds: float) -> None:
        """Wait for the end of the output."""
        self._thread.join(seconds)

    def text(self) -> str:
        """What was printed, with a note where some of it was dropped."""
        with self._lock:
            head, tail, dropped = bytes(self._head), bytes(self._tail), self._dropped
        if not dropped:
            return plain((head + tail).decode(errors="replace"))
        begun, kept = head[: head.rfind(b"\n") + 1], tail[tail.find(b"\n") + 1 :]  # no line is shown in part
        dropped += len(head) - len(begun) + len(tail) - len(kept)
        return plain((begun + f"… {dropped} bytes not kept …\n".encode() + kept).decode(errors="replace"))

    def last(self, lines: int = 12) -> str:
        """The last lines, for a report."""
        return "\n".join(line[:300] for line in self.text().rstrip().splitlines()[-lines:])


def plain(text: str) -> str:
    """Text of a submission without anything that a terminal would obey."""
    return CONTROL.sub("", text)
