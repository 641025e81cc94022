"""Waiting with a deadline, for something that is asked again and again."""

import time
from collections.abc import Callable


def until(what: str, condition: Callable[[], object], within: float = 60.0, pause: float = 0.1) -> None:
    """Ask ``condition`` until it holds; fail when it does not in time."""
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {within:.0f} s")
        time.sleep(pause)
