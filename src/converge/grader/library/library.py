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

from converge.grader.checks.verdict import NotStarted
from converge.grader.library.jsonlines import MODULE, AnswerOf, JsonLines, NewObject, TooLargeError
from converge.grader.library.remote import CALL_LIMIT, Method, Pending, Raised, RemoteObject
from converge.grader.library.threads import thread_errors
from converge.testing.sandbox.jail import Jail, Reach
from converge.testing.sandbox.process import Process, isolated_python
from converge.testing.verdicts.failure import Failure, TookTooLong
from converge.testing.waits.deadlines import scaled
from converge.testing.waits.waiting import interruptions

IMPORT_LIMIT = 20.0  # seconds that importing the submission may take: more than a call, because it decides the lab
MOST_QUESTIONS = 256  # of a submission that wait for an answer: each has a thread here
ENDS_WITH_ITS_CALL = ""  # a thread that ends with its call
STAY_ALIVE = "A module must not end the process: no sys.exit, no os._exit."


class Library:
    """The `lab` fixture: the submission's module. Its names are read as attributes."""

    def __init__(
        self,
        path: Path,
        directory: Path,
        jail: Jail | None = None,
        reach: Reach | None = None,
        files: Sequence[Path] = (),
    ) -> None:
        """Start its process. In a `jail` it reaches what `reach` says and finds `files`."""
        here_in, there_out = os.pipe()
        there_in, here_out = os.pipe()
        self._path = path
        command = isolated_python("-m", "converge.grader.library.host", str(path), str(there_in), str(there_out))
        self._process = Process(
            command, directory=directory, pass_fds=[there_in, there_out], jail=jail, reach=reach, files=files
        )
        os.close(there_in)
        os.close(there_out)
        self._wire = JsonLines(here_in, here_out)
        self._ids = count(1)
        self._functions: list[Callable[..., Any]] = []
        self._waiting: dict[int, Future[Any]] = {}
        self._lock = threading.Lock()
        self._answering = threading.BoundedSemaphore(MOST_QUESTIONS)
        self._over: Failure | None = None
        self._methods: set[tuple[str, str]] = set()  # what is known to be callable, by type and name
        self._resolved: dict[str, RemoteObject] = {}
        self._under_way: list[Future[Any]] = []  # calls on threads of their own
        threading.Thread(target=self._listen, daemon=True, name="answers").start()
        try:
            self._load()
        except BaseException:
            self._close()  # no one else can: there's no object yet
            raise
        interruptions.append(self._interrupt)

    def _load(self) -> None:
        name = self._path.name
        try:
            outcome = self._ask({"do": "load"}, f"import {name}", IMPORT_LIMIT)
        except TookTooLong as slow:
            raise slow.because(f"import {name} never ended", nothing_achieved=True) from None
        self._judge(outcome, f"importing {name}", nothing_achieved=True)

    # What checks use.

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._attribute(MODULE, name, owner="")

    def resolve(self, name: str) -> RemoteObject:
        """Something of the course for use over there, such as `"converge.runtime:Client"`."""
        if name not in self._resolved:
            self._resolved[name] = self._judge(self._ask({"do": "resolve", "name": name}, name), name)
        return self._resolved[name]

    def clock(self) -> RemoteObject:
        """A clock that stands still: `clock.advance(seconds)` moves it, calling it tells the time."""
        made = self.resolve("converge.grader.library.doubles:FakeClock")()
        assert isinstance(made, RemoteObject)
        return made

    def shake(self, seed: int) -> None:
        """From here on, threads over there lose the processor at random lines, so that races show."""
        self._ask({"do": "shake", "seed": seed}, "shake")

    def interrupt(self, first: tuple[Any, ...], second: tuple[Any, ...], moment: int) -> tuple[bool, tuple[Any, Any]]:
        """Stop the first call at the n-th moment when others may run, make the second on another thread, then go on.

        That's before each line, and after each call within a line. Each call is `(method, argument, …)`. Returns
        whether there was such a moment, and the two answers: with `moment` = 1, 2, 3, … every way in which the second
        can come between is tried.
        """
        calls = {"first": first[0].message(first[1:], {}), "second": second[0].message(second[1:], {})}
        found = self._judge(self._ask({"do": "interrupt", "moment": moment, **calls}, "two calls at once"), "two calls")
        if not isinstance(found, dict) or len(found) < 4:
            raise TookTooLong("two calls at once never came back", hint="Do two locks wait for each other?")
        answers = self._outcomes([found.get("first"), found.get("second")])
        for answer in answers:
            self._raise_todo(answer)
        if not found.get("traced"):
            raise Failure(
                f"{first[0]._label} ran, and no line of {self._path.name} was seen to run",
                hint="The check stops between two lines with sys.settrace. Leave that to the check.",
            )
        return bool(found.get("reached")), (answers[0], answers[1])

    def play(self, steps: Sequence[tuple[Any, ...]], within: float = CALL_LIMIT) -> list[Any]:
        """Make many calls in one round trip: `(method, argument, …)` each. Returns each answer or `Raised`.

        An argument may be `AnswerOf(i)`, the answer of the i-th step; the call is left out if that was None.
        A step that hangs ends the play: the list then is as long as the steps that came back.
        """
        messages = []
        for method, *arguments in steps:
            conditional = any(isinstance(argument, AnswerOf) for argument in arguments)
            messages.append({**method.message(arguments, {}), "unless_none": conditional})
        future = self._send({"do": "play", "steps": messages}, ENDS_WITH_ITS_CALL)
        try:
            answers = future.result(scaled(within))
        except FutureTimeout:
            answers = self._ask({"do": "played"}, "played")
        outcomes = self._outcomes(answers)
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
            failure = Failure(f"{self._path.name} has no {name}", hint=f"Keep the name {name}: the checks look for it.")
            raise failure.because(f"has no {name}", nothing_achieved=False)
        if isinstance(found, dict) and "$callable" in found:
            self._methods.add((owner, name))
            return Method(self, number, name, owner)
        return self._judge(found, spelled)

    def _ask(self, message: dict[str, Any], spelled: str, within: float = CALL_LIMIT) -> Any:
        # Each thread of a check has a thread of its own over there.
        thread = f"thread-{threading.get_ident()}"
        found = self._wait(self._send(message, thread), spelled, within)
        self._raise_todo(found)
        return found

    def _start(self, message: dict[str, Any], spelled: str) -> Pending:
        number = next(self._ids)
        future = self._send(message, ENDS_WITH_ITS_CALL, number)
        self._under_way.append(future)
        return Pending(self, future, spelled, number)

    def _interrupt(self) -> None:
        """Tell a waiter that the call it's waiting for has reached a TODO."""
        for future in self._under_way:
            if future.done() and not future.exception():
                self._raise_todo(future.result())

    def _wait(self, future: Future[Any], spelled: str, within: float) -> Any:
        within = scaled(within)
        try:
            return future.result(within)
        except FutureTimeout:
            raise TookTooLong(
                f"{spelled} did not return within {within:.0f} s",
                hint="Something in it waits forever, or loops.",
                seen=self._printed(),
            ) from None

    def _send(self, message: dict[str, Any], thread: str, number: int | None = None) -> Future[Any]:
        number = number or next(self._ids)
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
        over = None
        try:
            while (message := self._wire.receive()) is not None:
                if "asks" in message:
                    if not self._answering.acquire(blocking=False):
                        raise TooLargeError(f"more than {MOST_QUESTIONS} questions at once")
                    threading.Thread(target=self._answer, args=(message,), daemon=True).start()
                    continue
                outcome = self._outcome(message)  # before the call is taken off the list: this may raise
                with self._lock:
                    future = self._waiting.pop(message["id"], None)
                if future:
                    future.set_result(outcome)
        except Exception as error:  # whatever can be wrong with JSON: too deep, too long, a wrong type, a missing key
            over = self._broken(error)
        self._end(over)

    def _end(self, over: Failure | None) -> None:
        self._process.ended.wait(2)
        if over is None:
            how = f"the submission's process ended by itself (exit status {self._process.exit_code})"
            over = Failure(how, hint=STAY_ALIVE, seen=self._printed())
        with self._lock:
            self._over = over
            waiting = list(self._waiting.values())
        for future in waiting:
            future.set_exception(over)

    def _answer(self, message: dict[str, Any]) -> None:
        """Run a function of the check that the submission called."""
        try:
            self._run_function(message)
        finally:
            self._answering.release()

    def _run_function(self, message: dict[str, Any]) -> None:
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

    def _outcomes(self, answers: Any) -> list[Any]:
        """The outcomes of several calls, which arrive as one value: what that is was decided over there."""
        try:
            return [self._outcome(parts) for parts in answers]
        except Exception as error:
            raise self._broken(error) from None

    def _broken(self, error: Exception) -> Failure:
        how = f"the submission's process broke the channel to the grader ({type(error).__name__})"
        return Failure(how, hint=STAY_ALIVE, seen=self._printed())

    def _judge(self, outcome: Any, spelled: str, nothing_achieved: bool = False) -> Any:
        if isinstance(outcome, Raised):
            failure = Failure(f"{spelled} raised {outcome!r}", seen="\n".join(outcome.where) if outcome.where else ())
            cause = f"{outcome.type} at {outcome.where[-1]}" if outcome.where else ""
            raise failure.because(cause, nothing_achieved=nothing_achieved)
        return outcome

    def _raise_todo(self, outcome: Any) -> None:
        if isinstance(outcome, Raised) and outcome.todo:
            raise NotStarted(outcome.text)

    def thread_errors(self) -> list[str]:
        """What ended threads of the submission. Nobody waits for them, so a check only sees that nothing happens."""
        return thread_errors(self._process.output.text(), self._path.name)

    def _printed(self) -> list[str]:
        printed = self._process.output.last()
        return [f"it printed:\n{printed}"] if printed else []

    def _encode(self, value: Any) -> Any:
        if isinstance(value, RemoteObject):
            return {"$ref": value._number}
        if isinstance(value, AnswerOf):
            return {"$answer": value.step}
        if isinstance(value, NewObject):
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
            return RemoteObject(self, value["$ref"], str(value.get("type", "")), str(value.get("text", "")))
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
