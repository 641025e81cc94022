"""Work in parallel: each piece in a thread, with an operator and a namespace of its own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from converge.testing.waits.waiting import interruptions

T = TypeVar("T")
R = TypeVar("R")
DEFAULT_LANES = 3  # an attack mostly waits


class Stopped(BaseException):
    """Nobody wants the result any more."""


class ParallelWork(Generic[T, R]):
    """Runs pieces of work in their order, a given number at once."""

    def __init__(
        self, work: Sequence[T], run: Callable[[T], R], lanes: int, ready: Callable[[T], bool] = lambda piece: True
    ) -> None:
        """Start with those that are `ready`. The others are asked about again after each result."""
        self._left = list(work)
        self._expected = len(work)
        self._run = run
        self._ready = ready
        self._changed = threading.Condition()
        self._done: queue.Queue[R | BaseException] = queue.Queue()
        self._over = False
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(min(lanes, len(work)))]
        for each in self._threads:
            each.start()

    def results(self) -> Iterator[R]:
        """The result of each, as soon as it's known."""
        try:
            for _ in range(self._expected):
                result = self._result()
                if isinstance(result, BaseException):
                    raise result
                yield result
                with self._changed:
                    self._changed.notify_all()
        finally:
            self.stop()

    def _result(self) -> R | BaseException:
        while True:
            try:
                return self._done.get(timeout=0.2)
            except queue.Empty:
                for each in interruptions:
                    each()

    def stop(self) -> None:
        """Start nothing more, let each thread end its wait and tidy up."""
        with self._changed:
            self._over = True
            self._changed.notify_all()
        for each in self._threads:
            each.join()

    def _work(self) -> None:
        interruptions.append(self._interrupt)
        while (piece := self._next()) is not None:
            try:
                self._done.put(self._run(piece))
            except BaseException as error:
                self._done.put(error)
                return

    def _next(self) -> T | None:
        with self._changed:
            while self._left and not self._over:
                if found := [each for each in self._left if self._ready(each)]:
                    self._left.remove(found[0])
                    return found[0]
                self._changed.wait()
            return None

    def _interrupt(self) -> None:
        if self._over:
            raise Stopped


class OperatorSlots:
    """How many operators may run at once. Who finds no slot waits, and can be interrupted."""

    def __init__(self, operators: int) -> None:
        self._free = threading.Semaphore(operators)

    def acquire(self) -> None:
        while not self._free.acquire(timeout=0.2):
            for each in interruptions:
                each()

    def release(self) -> None:
        self._free.release()
