"""The process in which a library lab's submission lives: `python -I -m converge.grader.library.host FILE IN OUT`.

It answers calls that arrive on the pipe IN with JSON on the pipe OUT; the submission's own output has nothing
to do with either. Each call names the thread that it runs on, so a check can hold one call open while it makes
another. Functions of a check that are passed as arguments come back as calls in the other direction.
This end judges nothing: what an answer means is decided by `library`, in another process.
"""

from __future__ import annotations

import dis
import importlib
import os
import queue
import random
import sys
import threading
import time
import traceback
from collections.abc import Callable
from functools import cache
from itertools import count
from types import CodeType, FrameType, ModuleType
from typing import Any

from converge.files import load_module
from converge.grader.library.jsonlines import MODULE, JsonLines

CONDITION_WAIT = threading.Condition.wait.__code__
# Taken before the submission is loaded: what it puts in the place of these later has no effect here.
SET_TRACE, GET_TRACE, TRACE_THREADS = sys.settrace, sys.gettrace, threading.settrace
Thread, Event = threading.Thread, threading.Event
MOST_SECONDS = 2.0  # that one of two calls waits for the other
CALLS = ("CALL", "CALL_KW", "CALL_FUNCTION_EX")
LOOKS = 10  # in a row that have to find a thread asleep at one place


class Host:
    """Keeps the submission's objects by number and runs the calls that the grader sends."""

    def __init__(self, path: str, wire: JsonLines) -> None:
        self.path = path
        self.wire = wire
        self.objects: dict[int, Any] = {}
        self.numbers = count(1)
        self.callers: dict[int, threading.Thread] = {}  # the threads of calls that have one of their own
        self.threads: dict[str, queue.SimpleQueue[dict[str, Any]]] = {}
        self.answers: dict[int, queue.SimpleQueue[dict[str, Any]]] = {}
        self.questions = count(1)
        self.played: list[Any] = []
        self.shaking: Any = None
        self.actions = {name[3:]: getattr(self, name) for name in dir(self) if name.startswith("do_")}

    def serve(self) -> None:
        """Hand each message to its thread until the grader closes the channel."""
        while (message := self.wire.receive()) is not None:
            if "answers" in message:
                self.answers.pop(message["answers"]).put(message)
                continue
            name = message["thread"]
            if message["do"] == "load":
                self.handle(message)  # on the main thread, as any program imports
                continue
            if not name:
                number = message["id"]
                self.callers[number] = Thread(target=self.call, args=(message,), name=f"call-{number}", daemon=True)
                self.callers[number].start()
                continue
            if name not in self.threads:
                self.threads[name] = queue.SimpleQueue()
                Thread(target=self.work, args=(self.threads[name],), name=name, daemon=True).start()
            self.threads[name].put(message)

    def work(self, calls: queue.SimpleQueue[dict[str, Any]]) -> None:
        while True:
            self.handle(calls.get())

    def call(self, message: dict[str, Any]) -> None:
        self.handle(message)
        del self.callers[message["id"]]

    def handle(self, message: dict[str, Any]) -> None:
        shaken = self.shaking if message["do"] == "call" else None
        if shaken:
            SET_TRACE(shaken)  # at each call: the submission may have switched it off
        outcome = self.outcome(message)
        if shaken and GET_TRACE() is not shaken:  # Python itself drops it where code recurses too deeply
            outcome = {"raised": self.explain(RuntimeError("the check's tracing was switched off during this call"))}
        self.wire.send({"id": message["id"], **outcome})

    def outcome(self, message: dict[str, Any]) -> dict[str, Any]:
        try:
            return {"value": self.encode(self.actions[message["do"]](message))}
        except BaseException as error:  # SystemExit too: it ends the learner's call, not our answers
            return {"raised": self.explain(error)}

    def do_load(self, message: dict[str, Any]) -> None:
        stem = os.path.splitext(os.path.basename(self.path))[0]  # noqa: PTH119, PTH122 - pathlib is slow to load
        self.objects[MODULE] = load_module(self.path, f"lab_{stem}")

    def do_resolve(self, message: dict[str, Any]) -> Any:
        module, _, name = message["name"].partition(":")
        return getattr(importlib.import_module(module), name)

    def do_get(self, message: dict[str, Any]) -> Any:
        value = getattr(self.objects[message["on"]], message["name"])
        return Callable_ if callable(value) else value

    def do_call(self, message: dict[str, Any]) -> Any:
        function = self.objects[message["on"]]
        if message["name"]:
            function = getattr(function, message["name"])
        arguments = [self.decode(argument) for argument in message["args"]]
        return function(*arguments, **{key: self.decode(value) for key, value in message["kwargs"].items()})

    def do_play(self, message: dict[str, Any]) -> list[Any]:
        """Many calls in one message, each with its own outcome."""
        self.played = []
        for step in message["steps"]:
            arguments = step["args"]
            for place, argument in enumerate(arguments):
                if isinstance(argument, dict) and "$answer" in argument:
                    arguments[place] = self.played[argument["$answer"]].parts.get("value")
            skip = step.pop("unless_none") and None in arguments
            self.played.append(EncodedOutcome({"value": None} if skip else self.outcome({"do": "call", **step})))
        return self.played

    def do_played(self, message: dict[str, Any]) -> list[Any]:
        """The outcomes so far of a play that got stuck."""
        return self.played

    def do_asleep(self, message: dict[str, Any]) -> bool:
        """Whether the thread of a call sleeps on a condition, which Events and queues do as well."""
        thread = self.callers.get(message["call"])
        return thread is not None and sleeps(thread)

    def do_shake(self, message: dict[str, Any]) -> None:
        """From here on, new threads lose the processor at random moments of the submission."""
        chance = random.Random(message["seed"])

        def trace(frame: FrameType, event: str, argument: Any) -> Any:
            if frame.f_code.co_filename != self.path:
                return None
            frame.f_trace_opcodes = True
            if others_may_run(frame, event) and chance.random() < 0.5:
                time.sleep(0.0005)
            return trace

        self.shaking = trace
        TRACE_THREADS(trace)

    def do_interrupt(self, message: dict[str, Any]) -> dict[str, Any]:
        """Stop one call at its n-th moment, make another on a second thread, then let the first go on.

        A moment is one at which others may run: see `others_may_run`.

        The second may have to wait for a lock that the first holds: then it goes on when the first does. If the first
        sleeps on a condition before it has come that far, the second is what may wake it.
        `traced` is whether the first was watched, from its first line to its end.
        """
        reached, go, outcomes, traced = Event(), Event(), {}, []
        moments = count(1)

        def trace(frame: FrameType, event: str, argument: Any) -> Any:
            if frame.f_code.co_filename != self.path:
                return None
            frame.f_trace_opcodes = True
            if event == "line":
                traced.append(frame.f_lineno)
            if others_may_run(frame, event) and next(moments) == message["moment"]:
                reached.set()
                go.wait(2 * MOST_SECONDS)
            return trace

        def run(which: str) -> None:
            if which == "first":
                SET_TRACE(trace)
            outcome = EncodedOutcome(self.outcome({"do": "call", **message[which]}))
            if which == "first" and GET_TRACE() is not trace:
                traced.clear()
            outcomes[which] = outcome

        threads = {which: Thread(target=run, args=(which,), daemon=True) for which in ("first", "second")}
        threads["first"].start()
        while not reached.wait(0.001) and threads["first"].is_alive() and not sleeps(threads["first"]):
            pass
        threads["second"].start()
        wait_until_stuck(threads["second"])
        go.set()
        for thread in threads.values():
            thread.join(MOST_SECONDS)
        return {"reached": reached.is_set(), "traced": bool(traced), **outcomes}

    def encode(self, value: Any) -> Any:
        if value is Callable_:
            return {"$callable": True}
        if isinstance(value, EncodedOutcome):
            return value.parts
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, list | tuple):
            return [self.encode(item) for item in value]
        if isinstance(value, set | frozenset):
            return {"$set": [self.encode(item) for item in value]}
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return {"$dict": {key: self.encode(item) for key, item in value.items()}}
        number = next(self.numbers)
        self.objects[number] = value
        return {"$ref": number, "type": type(value).__name__, "text": repr(value)[:500]}

    def decode(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "$ref" in value:
            return self.objects[value["$ref"]]
        if "$function" in value:
            return self.ask(value["$function"])
        if "$made" in value:
            return self.do_resolve({"name": value["$made"]})(*map(self.decode, value["args"]))
        if "$bound" in value:
            return getattr(self.objects[value["$bound"]], value["name"])
        return {key: self.decode(item) for key, item in value["$dict"].items()}

    def ask(self, function: int) -> Callable[..., Any]:
        """A function here that is answered by the check's function there."""

        def asks(*args: Any, **kwargs: Any) -> Any:
            number = next(self.questions)
            answer: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
            self.answers[number] = answer
            encoded = {key: self.encode(value) for key, value in kwargs.items()}
            arguments = [self.encode(value) for value in args]
            self.wire.send({"asks": number, "function": function, "args": arguments, "kwargs": encoded})
            message = answer.get()
            if "raised" in message:
                raise exception(message["raised"])
            return self.decode(message["value"])

        return asks

    def explain(self, error: BaseException) -> dict[str, Any]:
        """An exception as JSON, with the traceback cut down to the submission's own lines."""
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == self.path]
        where = [f"line {frame.lineno}, in {frame.name}: {frame.line}" for frame in frames[-6:]]
        if isinstance(error, SyntaxError) and error.filename == self.path:
            where = [f"line {error.lineno}: {(error.text or '').strip()}"]
        try:
            text = str(error)
        except Exception:
            text = "(the exception's own __str__ failed)"
        return {"type": type(error).__name__, "text": text[:2000], "where": where}


class EncodedOutcome:
    """The outcome of one step of a play, already encoded."""

    def __init__(self, parts: dict[str, Any]) -> None:
        self.parts = parts


Callable_ = object()


def others_may_run(frame: FrameType, event: str) -> bool:
    """Whether this is a moment at which a check lets another thread run: before a line, or after a call within one."""
    return event == "line" or (event == "opcode" and frame.f_lasti in after_calls(frame.f_code))


@cache
def after_calls(code: CodeType) -> frozenset[int]:
    """Where a line goes on after a call: Python may let another thread run there, as in ``n[k] = n.get(k, 0) + 1``.

    Not where all that is left of the line is to drop what was returned, or to keep it in a local variable.
    """
    begins = {offset for offset, _ in dis.findlinestarts(code)}
    found, called = set(), False
    for step in dis.get_instructions(code):
        if step.offset in begins or step.opname == "RETURN_VALUE":
            called = False
        if called and step.opname not in ("POP_TOP", "STORE_FAST"):
            found.add(step.offset)
            called = False
        called = called or step.opname in CALLS
    return frozenset(found)


def sleeps(thread: threading.Thread) -> bool:
    """Whether a thread waits on a condition."""
    frame = sys._current_frames().get(thread.ident or 0)
    return frame is not None and frame.f_code is CONDITION_WAIT


def wait_until_stuck(thread: threading.Thread) -> None:
    """Wait until a thread has ended or waits for what another holds: look after look it's asleep at one place.

    On a busy machine one that could go on may have to wait for the processor. It isn't stuck.
    """
    deadline = time.monotonic() + MOST_SECONDS
    place, looks = None, 0
    while thread.is_alive() and looks < LOOKS and time.monotonic() < deadline:
        thread.join(0.005)
        frame = sys._current_frames().get(thread.ident or 0)
        now = (id(frame), frame.f_lasti) if frame is not None and asleep(thread) else None
        looks = looks + 1 if now and now == place else 0
        place = now


def asleep(thread: threading.Thread) -> bool:
    """Whether the kernel has no work of this thread to do. Where the kernel doesn't say, as on macOS, it may be."""
    try:
        with open(f"/proc/self/task/{thread.native_id}/stat", encoding="utf-8") as file:  # noqa: PTH123 (read often)
            return file.read().rpartition(")")[2].split()[0] != "R"
    except OSError:
        return True


def exception(raised: dict[str, str]) -> BaseException:
    """The exception that a check's function raised there, raised again here by its name."""
    module, _, name = raised["type"].rpartition(".")
    kind: Callable[..., BaseException] = getattr(importlib.import_module(module), name)
    try:
        return kind(raised["text"]) if raised["text"] else kind()
    except TypeError:
        return kind("a check", raised["text"])  # an ApiError: who asked, and the answer


def main() -> None:
    path, read, write = sys.argv[1:4]
    host = Host(path, JsonLines(int(read), int(write)))
    sys.modules["__main__"] = ModuleType("__main__")  # a submission has no business in this module
    try:
        host.serve()
    finally:
        os._exit(0)  # threads of the submission may be stuck in a call forever


if __name__ == "__main__":
    main()
