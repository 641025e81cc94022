"""One process at a time: a lock on a file, given back by the kernel even when its holder is killed."""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path, when_waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock ``path``; call ``when_waiting`` once if someone else has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            when_waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
