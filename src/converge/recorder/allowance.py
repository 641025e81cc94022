"""What an operator that no one trusts may write, so that it can't fill the cluster that it shares with others."""

from converge.recorder.http.http1 import Message, Response

LARGEST_OBJECT = 1536 * 1024  # bytes; etcd refuses a larger one


class Allowance:
    """So many writes, and so many bytes stored by them: each stores its object whole, however small the change."""

    def __init__(self, writes: int, size: int) -> None:
        self._writes, self._size = writes, size
        self._sentence = f"exceeded quota: an operator that is graded may write {writes} times and {size >> 20} MB"

    def refusal(self, message: Message) -> str:
        """Count a write before it's forwarded. Returns why it must not be, if it goes too far."""
        self._writes -= 1
        self._size -= len(message.body)
        return self._sentence if self._writes < 0 or self._size < 0 else ""

    def stored(self, message: Message, answer: Response) -> None:
        """Count what the answer to a write shows of its object beyond what was sent."""
        partial = "as=" in message.header(b"accept")  # a table, or only metadata: the object may be any size
        size = LARGEST_OBJECT if partial else len(answer.body)
        self._size -= max(0, size - len(message.body))
