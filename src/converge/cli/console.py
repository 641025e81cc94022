"""How the command line talks: one line that changes while something runs, plain lines where nobody watches."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console

console = Console(highlight=False)


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """A function that shows what is going on. A message that ends in a newline stays on the screen.

    On a terminal the others replace each other; in a pipe or a log each kind of message is one line, at most one a
    second, so that a build of ten minutes neither floods the log nor looks dead.
    """
    if not sys.stderr.isatty():
        yield _plain()
        return
    with Console(stderr=True).status("") as status:

        def show(message: str) -> None:
            if message.endswith("\n"):
                status.console.print(message.rstrip(), markup=False)
            else:
                status.update(message)

        yield show


def _plain() -> Callable[[str], None]:
    last: dict[str, Any] = {"when": 0.0, "what": ""}

    def show(message: str) -> None:
        subject = message.split(":")[0]
        now = time.monotonic()
        if message.endswith("\n") or subject != last["what"] or now - last["when"] > 15:
            print(message.rstrip(), file=sys.stderr, flush=True)
            last.update(when=now, what=subject)

    return show
