"""Stand-ins for what lives in the submission's process: its objects, its methods, calls under way, exceptions.

They only know how to ask; `library` carries the questions over and judges the answers.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TYPE_CHECKING, Any

from converge.grader.checks import todo
from converge.testing.sandbox.output import plain
from converge.testing.verdicts.values import show
from converge.testing.waits.deadlines import scaled

if TYPE_CHECKING:
    from converge.grader.library.library import Library

CALL_LIMIT = 5.0  # seconds that a call may take


class Raised:
    """An exception of the submission, as JSON told it."""

    def __init__(self, parts: dict[str, Any]) -> None:
        self.type = plain(str(parts.get("type", "Exception")))
        self.text = plain(str(parts.get("text", "")))
        self.where = [plain(str(line)) for line in parts.get("where", [])]

    def __repr__(self) -> str:
        return f"{self.type}: {self.text}" if self.text else self.type

    @property
    def todo(self) -> bool:
        return bool(todo.reached(repr(self)))


class RemoteObject:
    """An object that lives in the submission's process."""

    def __init__(self, lab: Library, number: int, kind: str, text: str) -> None:
        self._lab = lab
        self._number = number
        self._kind = kind
        self._text = plain(text)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._lab._attribute(self._number, name, owner=self._kind)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return Method(self._lab, self._number, "", self._kind)(*args, **kwargs)

    def __len__(self) -> int:
        length = self._method("__len__", "len")()
        return length if isinstance(length, int) and length >= 0 else -1

    def __bool__(self) -> bool:
        return True

    def __contains__(self, item: Any) -> bool:
        return bool(self._method("__contains__", "in")(item))

    def __getitem__(self, key: Any) -> Any:
        return self._method("__getitem__", "[]")(key)

    def __repr__(self) -> str:
        return self._text

    def _method(self, name: str, label: str) -> Method:
        return Method(self._lab, self._number, name, self._kind, label)


class Method:
    """A callable of the submission: call it, `start` it on a thread, or ask for its `outcome`."""

    def __init__(self, lab: Library, number: int, name: str, owner: str, label: str = "") -> None:
        self._lab = lab
        self._number = number
        self._name = name
        self._label = ".".join(part for part in (owner, label or name) if part)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it and return its answer. An exception over there is a failed check here."""
        return self._lab._judge(self.outcome(*args, **kwargs), self.spelled(args, kwargs))

    def outcome(self, *args: Any, **kwargs: Any) -> Any:
        """Call it and return its answer, or what it raised as `Raised`; a TODO is still `NotStarted`."""
        return self._lab._ask(self.message(args, kwargs), self.spelled(args, kwargs))

    def start(self, *args: Any, **kwargs: Any) -> Pending:
        """Call it on a new thread over there and come back at once."""
        return self._lab._start(self.message(args, kwargs), self.spelled(args, kwargs))

    def message(self, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        return {
            "do": "call",
            "on": self._number,
            "name": self._name,
            "args": [self._lab._encode(value) for value in args],
            "kwargs": {key: self._lab._encode(value) for key, value in kwargs.items()},
        }

    def spelled(self, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
        inside = [show(value) for value in args] + [f"{key}={show(value)}" for key, value in kwargs.items()]
        return f"{self._label}({', '.join(inside)})"


class Pending:
    """A call under way."""

    def __init__(self, lab: Library, future: Future[Any], spelled: str, number: int) -> None:
        self._lab = lab
        self._future = future
        self._spelled = spelled
        self._number = number

    def finished(self, within: float) -> bool:
        """Whether it came back within this time."""
        try:
            self._future.result(scaled(within))
        except FutureTimeout:
            return False
        return True

    def asleep(self, within: float = 0.5) -> bool:
        """Wait until it sleeps on a condition; whether it does. A right answer is asleep within a millisecond or two.

        A check that wakes a sleeper has to know that it sleeps. A fixed pause isn't enough on a busy machine: the call
        may not have begun, and then finds what it should have been woken for.
        """
        deadline = time.monotonic() + scaled(within)
        while not self._future.done() and time.monotonic() < deadline:
            if self._lab._ask({"do": "asleep", "call": self._number}, "asleep"):
                return True
            time.sleep(0.005)
        return False

    def result(self, within: float = CALL_LIMIT) -> Any:
        """Its answer, as if it had been called the ordinary way."""
        found = self._lab._wait(self._future, self._spelled, within)
        self._lab._raise_todo(found)
        return self._lab._judge(found, self._spelled)
