"""Drives a library lab from outside: the submission's classes as proxies, its process somewhere else.

    queue = lab.WorkQueue()              # made over there; `queue` is a proxy
    queue.add("default/web")             # a call over there, with JSON both ways
    held = queue.get.start(timeout=5)    # the same on a thread of its own
    lab.play([(queue.add, "a"), (queue.get, 0)])     # many calls, one round trip

A submission that raises, hangs, exits or answers nonsense fails the check with a sentence about that call.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from itertools import count
from pathlib import Path
from typing import Any

from converge.grader.patience import patience
from converge.grader.process import Process
from converge.grader.proxies import PATIENCE, Method, Pending, Proxy, Raised
from converge.grader.verdict import Failure, NotStarted, TookTooLong
from converge.grader.waiting import interruptions
from converge.grader.wire import Answer, Made, TooLargeError, Wire

MODULE = 0
ONCE = ""  # a thread that ends with its call


class Library:
    """The `lab` fixture: the submission's module. Its names are read as attributes."""

    def __init__(self, path: Path, directory: Path) -> None:
        here_in, there_out = os.pipe()
        there_in, here_out = os.pipe()
        self._path = path
        arguments = ["-m", "converge.grader.host", str(path), str(there_in), str(there_out)]
        self._process = Process(arguments, directory=directory, pass_fds=[there_in, there_out])
        os.close(there_in)
        os.close(there_out)
        self._wire = Wire(os.fdopen(here_in, "rb"), os.fdopen(here_out, "wb"))
        self._ids = count(1)
        self._functions: list[Callable[..., Any]] = []
        self._waiting: dict[int, Future[Any]] = {}
        self._lock = threading.Lock()
        self._over: Failure | None = None
        self._methods: set[tuple[str, str]] = set()  # what is known to be callable, by type and name
        self._resolved: dict[str, Proxy] = {}
        self._under_way: list[Future[Any]] = []  # calls on threads of their own
        threading.Thread(target=self._listen, daemon=True, name="answers").start()
        self._judge(self._ask({"do": "load"}, f"import {path.name}"), f"importing {path.name}")
        interruptions.append(self._interrupt)

    # What checks use.

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._attribute(MODULE, name, owner="")

    def resolve(self, name: str) -> Proxy:
        """Something of the course for use over there, such as `"converge.runtime:Client"`."""
        if name not in self._resolved:
            self._resolved[name] = self._judge(self._ask({"do": "resolve", "name": name}, name), name)
        return self._resolved[name]

    def clock(self) -> Proxy:
        """A clock that stands still: `clock.advance(seconds)` moves it, calling it tells the time."""
        made = self.resolve("converge.grader.clock:FakeClock")()
        assert isinstance(made, Proxy)
        return made

    def shake(self, seed: int) -> None:
        """From here on, threads over there lose the processor at random lines, so that races show."""
        self._ask({"do": "shake", "seed": seed}, "shake")

    def interrupt(self, first: tuple[Any, ...], second: tuple[Any, ...], line: int) -> tuple[bool, tuple[Any, Any]]:
        """Stop the first call before the n-th line that it runs, make the second on another thread, then go on.

        Each call is `(method, argument, …)`. Returns whether there was such a line, and the two answers: with
        `line` = 1, 2, 3, … every way in which the second can come between is tried.
        """
        calls = {"first": first[0].message(first[1:], {}), "second": second[0].message(second[1:], {})}
        found = self._ask({"do": "interrupt", "line": line, **calls}, "two calls at once")
        if len(found) < 3:
            raise TookTooLong("two calls at once never came back", hint="Do two locks wait for each other?")
        answers = tuple(self._outcome(found[which]) for which in ("first", "second"))
        for answer in answers:
            self._raise_todo(answer)
        return found["reached"], (answers[0], answers[1])

    def play(self, steps: Sequence[tuple[Any, ...]], within: float = PATIENCE) -> list[Any]:
        """Make many calls in one round trip: `(method, argument, …)` each. Returns each answer or `Raised`.

        An argument may be `Answer(i)`, the answer of the i-th step; the call is left out if that was None.
        A step that hangs ends the play: the list then is as long as the steps that came back.
        """
        messages = []
        for method, *arguments in steps:
            conditional = any(isinstance(argument, Answer) for argument in arguments)
            messages.append({**method.message(arguments, {}), "unless_none": conditional})
        future = self._send({"do": "play", "steps": messages}, ONCE)
        try:
            answers = future.result(patience(within))
        except FutureTimeout:
            answers = self._ask({"do": "played"}, "played")
        outcomes = [self._outcome(parts) for parts in answers]
        for outcome in outcomes:
            self._raise_todo(outcome)
        return outcomes

    @property
    def output(self) -> str:
        """What the submission printed."""
        return self._process.output.text()

    # The channel.

    def _attribute(self, number: int, name: str, owner: str) -> Any:
        if (owner, name) in self._methods:
            return Method(self, number, name, owner)
        spelled = ".".join(part for part in (owner, name) if part)
        found = self._ask({"do": "get", "on": number, "name": name}, spelled)
        if isinstance(found, Raised) and found.type == "AttributeError" and number == MODULE:
            raise Failure(f"{self._path.name} has no {name}", hint=f"Keep the name {name}: the checks look for it.")
        if isinstance(found, dict) and "$callable" in found:
            self._methods.add((owner, name))
            return Method(self, number, name, owner)
        return self._judge(found, spelled)

    def _ask(self, message: dict[str, Any], spelled: str) -> Any:
        # Each thread of a check has a thread of its own over there.
        thread = f"thread-{threading.get_ident()}"
        found = self._wait(self._send(message, thread), spelled, PATIENCE)
        self._raise_todo(found)
        return found

    def _start(self, message: dict[str, Any], spelled: str) -> Pending:
        future = self._send(message, ONCE)
        self._under_way.append(future)
        return Pending(self, future, spelled)

    def _interrupt(self) -> None:
        """Whoever waits for what a call should bring about is told when that call has reached a TODO."""
        for future in self._under_way:
            if future.done() and not future.exception():
                self._raise_todo(future.result())

    def _wait(self, future: Future[Any], spelled: str, within: float) -> Any:
        within = patience(within)
        try:
            return future.result(within)
        except FutureTimeout:
            raise TookTooLong(
                f"{spelled} did not return within {within:.0f} s",
                hint="Something in it waits for ever, or loops.",
                seen=self._printed(),
            ) from None

    def _send(self, message: dict[str, Any], thread: str) -> Future[Any]:
        number = next(self._ids)
        future: Future[Any] = Future()
        with self._lock:
            if self._over:
                raise self._over
            self._waiting[number] = future
        try:
            self._wire.send({"id": number, "thread": thread, **message})
        except OSError:
            pass  # it is gone; the listener says so to every waiting call
        return future

    def _listen(self) -> None:
        """Bring each answer to the call that waits for it, until the submission's process is gone."""
        reason = ""
        try:
            while (message := self._wire.receive()) is not None:
                if "asks" in message:
                    threading.Thread(target=self._answer, args=(message,), daemon=True).start()
                    continue
                with self._lock:
                    future = self._waiting.pop(message["id"], None)
                if future:
                    future.set_result(self._outcome(message))
        except (ValueError, TypeError, KeyError, TooLargeError, OSError) as error:
            reason = f"the submission's process broke the channel to the grader ({type(error).__name__})"
        self._end(reason)

    def _end(self, reason: str) -> None:
        self._process.ended.wait(2)
        if not reason:
            reason = f"the submission's process ended by itself (exit status {self._process.exit_code})"
        hint = "A module must not end the process: no sys.exit, no os._exit."
        with self._lock:
            self._over = Failure(reason, hint=hint, seen=self._printed())
            waiting = list(self._waiting.values())
        for future in waiting:
            future.set_exception(self._over)

    def _answer(self, message: dict[str, Any]) -> None:
        """Run a function of the check that the submission called."""
        try:
            args = [self._decode(value) for value in message["args"]]
            kwargs = {key: self._decode(value) for key, value in message["kwargs"].items()}
            answer = {"value": self._encode(self._functions[message["function"]](*args, **kwargs))}
        except Exception as error:
            kind = type(error)
            answer = {"raised": {"type": f"{kind.__module__}.{kind.__qualname__}", "text": str(error)}}
        try:
            self._wire.send({"answers": message["asks"], **answer})
        except (OSError, ValueError):
            pass  # the process is gone, and with it the question

    def _outcome(self, message: dict[str, Any]) -> Any:
        return Raised(message["raised"]) if "raised" in message else self._decode(message.get("value"))

    def _judge(self, outcome: Any, spelled: str) -> Any:
        if isinstance(outcome, Raised):
            raise Failure(f"{spelled} raised {outcome!r}", seen=outcome.where)
        return outcome

    def _raise_todo(self, outcome: Any) -> None:
        if isinstance(outcome, Raised) and outcome.todo:
            raise NotStarted(outcome.text)

    def _printed(self) -> list[str]:
        printed = self._process.output.last()
        return [f"it printed:\n{printed}"] if printed else []

    def _encode(self, value: Any) -> Any:
        if isinstance(value, Proxy):
            return {"$ref": value._number}
        if isinstance(value, Answer):
            return {"$answer": value.step}
        if isinstance(value, Made):
            return {"$made": value.name, "args": [self._encode(item) for item in value.arguments]}
        if isinstance(value, Method):
            return {"$bound": value._number, "name": value._name}
        if isinstance(value, list | tuple):
            return [self._encode(item) for item in value]
        if isinstance(value, dict):
            return {"$dict": {key: self._encode(item) for key, item in value.items()}}
        if callable(value):
            self._functions.append(value)
            return {"$function": len(self._functions) - 1}
        return value

    def _decode(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "$ref" in value:
            return Proxy(self, value["$ref"], str(value.get("type", "")), str(value.get("text", "")))
        if "$set" in value:
            return {item for item in map(self._decode, value["$set"]) if isinstance(item, str | int | float)}
        if "$dict" in value:
            return {key: self._decode(item) for key, item in value["$dict"].items()}
        return value

    def _close(self) -> None:
        if self._interrupt in interruptions:
            interruptions.remove(self._interrupt)
        self._process.close()
        self._wire.close()
