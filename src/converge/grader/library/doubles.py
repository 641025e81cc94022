"""Test doubles that live in the submission's process: a clock, an informer that syncs on demand, readers of a cache."""

from __future__ import annotations

import inspect
import logging
import queue
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from itertools import count
from types import FrameType
from typing import Any


class FakeClock:
    """Tells the time when called; only `advance` moves it."""

    def __init__(self, start: float = 1000.0) -> None:
        self.now = start

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


def clock_that_shows(seconds: float) -> Callable[[], float]:
    """A clock that shows `seconds` now and runs like any other."""
    ahead = seconds - time.monotonic()
    return lambda: time.monotonic() + ahead


def queue_with_instant_timeouts(clock: Any) -> Any:
    """The runtime's queue, on which a timeout of ``get`` has passed in a moment: it counts those in ``timed_out``.

    In ``given_back`` it counts the calls of ``done``.
    """
    from converge.runtime import WorkQueue

    class ImpatientQueue(WorkQueue[Any]):
        timed_out = given_back = 0

        def done(self, key: Any) -> None:
            self.given_back += 1
            super().done(key)

        def get(self, timeout: float | None = None) -> Any:
            found = super().get(None if timeout is None else min(timeout, 0.01))
            self.timed_out += found is None and timeout is not None
            return found

    return ImpatientQueue(clock=clock)


def client_before_longer_versions(kubeconfig: str, version: str) -> Any:
    """A client for which `version` is the last resourceVersion of its length, such as 999: the next one is 1000.

    All versions that the server sends are ahead by one and the same number, and those of requests are put back. So
    versions gain a digit at this moment, as they do a few times in the life of a cluster.
    """
    from converge.runtime import Client, Watch

    ahead = 10 ** len(version) - 1 - int(version)

    def moved(version: str, by: int) -> str:
        return str(int(version) + by) if version.isdigit() and int(version) else version  # "" and "0" mean any

    def move(obj: dict[str, Any]) -> None:
        obj["metadata"]["resourceVersion"] = moved(obj["metadata"].get("resourceVersion", ""), ahead)

    class MovedWatch(Watch):
        def _decode(self, line: bytes) -> Any:
            event = super()._decode(line)
            move(event.object)
            return event

    class MovedClient(Client):
        def get(self, *args: Any, **kwargs: Any) -> Any:
            found = super().get(*args, **kwargs)
            move(found)
            return found

        def list(self, *args: Any, **kwargs: Any) -> Any:
            found = super().list(*args, **kwargs)
            for obj in found:
                move(obj)
            found.resource_version = moved(found.resource_version, ahead)
            return found

        def watch(self, *args: Any, **kwargs: Any) -> Any:
            given = inspect.signature(super().watch).bind(*args, **kwargs).arguments
            if given.get("resource_version") is not None:
                given["resource_version"] = moved(str(given["resource_version"]), -ahead)
            watch = super().watch(**given)
            return MovedWatch(watch._response, watch._asked)

    return MovedClient(kubeconfig)


class ManuallySyncedInformer:
    """Stands in for an informer: it hasn't synced until the check opens it."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self.started = self.stopped = False

    def start(self) -> None:
        self.started = True

    def run(self) -> None:
        """For controllers that start an informer on a thread of their own."""
        self.started = True
        while not self.stopped:
            self._open.wait(0.05)

    def stop(self) -> None:
        self.stopped = True

    def has_synced(self) -> bool:
        return self._open.is_set()

    def open(self) -> None:
        """From now on it has synced."""
        self._open.set()


def change_cached_object(informer: Any, request: Any, how: str) -> None:
    """Get an object from the cache (`how` is "get" or "list") and change it carelessly; being refused is fine."""
    found = informer.get(request) if how == "get" else next(iter(informer.list()), None)
    obj = found or {"spec": {}, "metadata": {}}
    try:
        obj["metadata"].get("finalizers", []).append("careless.example/reader")
    except (TypeError, AttributeError):
        pass  # frozen
    for inside, change in (
        (obj["spec"].get("labels", {}), {"careless": "reader"}),  # below the spec, which a copy of two levels shares
        (obj["spec"], {"replicas": -1}),
        (obj["spec"], {"labels": {"careless": "reader"}}),
        (obj, {"spec": {}}),
    ):
        try:
            inside.update(change)
        except (TypeError, AttributeError):
            continue  # a cache that hands out frozen objects is as good as one that hands out copies


def read_while_it_goes(informer: Any, request: Any, how: str, line: int, delete: Callable[[], object]) -> list[Any]:
    """Call ``get`` or ``list`` of an informer; right before its n-th line, the object of `request` is deleted.

    The reader goes on when the object has gone from the cache, or after a moment if it holds a lock that this needs.
    Returns whether there was such a line, and what the reader raised, if anything.
    """
    file, lines, gone = sys.argv[1], count(1), threading.Event()
    reached, raised = False, ""

    def look() -> None:
        deadline = time.monotonic() + 2
        while time.monotonic() < deadline:
            try:
                if informer.get(request) is None:
                    break
            except Exception:  # it may be overtaken as well
                pass
            time.sleep(0.002)
        gone.set()

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal reached
        if frame.f_code.co_filename != file:
            return None
        if event == "line" and next(lines) == line:
            reached = True
            delete()
            threading.Thread(target=look, daemon=True).start()
            gone.wait(0.5)
        return trace

    sys.settrace(trace)
    try:
        informer.get(request) if how == "get" else informer.list()
    except Exception as error:
        raised = f"{type(error).__name__}: {error}"
    finally:
        sys.settrace(None)
    return [reached, raised]


def call_twice(function: Callable[[Any], Any], argument: Any) -> list[Any]:
    """Call a function twice with the same object, which it could change: both answers."""
    return [function(argument), function(argument)]


class ReaderOnEveryLine:
    """Looks for an object in an informer's cache, on a thread of its own, before each line that ``run`` runs.

    Made before ``run`` is called. An informer that empties its cache and fills it again is right most of the time; this
    reader is there in between. If the informer holds a lock, the reader waits for it, as every reader does.
    """

    def __init__(self, informer: Any, request: Any) -> None:
        self._informer, self._request = informer, request
        self._file = informer.run.__func__.__code__.co_filename
        self._now: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._looked = threading.Event()
        self._looked.set()
        self.looks = self.missed = 0
        threading.Thread(target=self._read, daemon=True).start()  # before the next line: it isn't traced itself
        threading.settrace(self._trace)

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != self._file:
            return None
        if event == "line" and self._looked.is_set():  # otherwise it still waits for a lock
            self._looked.clear()
            self._now.put(True)
            self._looked.wait(0.05)
        return self._trace

    def _read(self) -> None:
        while self._now.get():
            synced = self._informer.has_synced()  # asked first: what has synced has to be there a moment later
            if synced or self.looks:
                self.looks += 1
                self.missed += not synced or self._informer.get(self._request) is None
            self._looked.set()


class LineCounter:
    """Counts how often each line of the submission runs on the threads that begin from here on."""

    def __init__(self) -> None:
        self._file = sys.argv[1]  # the submission: see host.py
        self._times: Counter[int] = Counter()
        threading.settrace(self._trace)

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != self._file:
            return None
        if event == "line":
            self._times[frame.f_lineno] += 1
        return self._trace

    def most(self) -> int:
        """How often the line ran that ran most often."""
        return max(self._times.values(), default=0)


def disable_timeouts() -> None:
    """From here on only a notify ends a wait on a condition, so looking again doesn't pass for being woken."""
    wait = threading.Condition.wait

    def until_notified(condition: threading.Condition, timeout: float | None = None) -> bool:
        return wait(condition, timeout if timeout is not None and timeout <= 0 else None)

    threading.Condition.wait = until_notified  # type: ignore[method-assign, assignment]


class CallAtTheEndOfAWait:
    """Makes a call when the next wait of the submission on a condition is over, before it has the lock again.

    So a notify of that call may go to the one that is just leaving. Until then it waits for someone else to sleep on
    the same condition, who gets the notify otherwise.
    """

    def __init__(self, call: Callable[[Any], object], argument: Any) -> None:
        file, between = sys.argv[1], threading.Condition.wait.__code__.co_filename  # the submission: see host.py
        wait = threading.Condition.wait

        def waits(condition: Any, timeout: float | None = None) -> bool:
            frame: FrameType | None = sys._getframe(1)
            while frame is not None and frame.f_code.co_filename == between:
                frame = frame.f_back
            if timeout is None or timeout <= 0 or frame is None or frame.f_code.co_filename != file:
                return wait(condition, timeout)
            threading.Condition.wait = wait  # type: ignore[method-assign]
            lock_again = condition._acquire_restore

            def call_first(state: Any) -> None:
                condition._acquire_restore = lock_again
                deadline = time.monotonic() + 2
                while len(condition._waiters) < 2 and time.monotonic() < deadline:
                    time.sleep(0.001)
                call(argument)
                lock_again(state)

            condition._acquire_restore = call_first
            return wait(condition, timeout)

        threading.Condition.wait = waits  # type: ignore[method-assign, assignment]


class InstantSleep:
    """From here on, each wait with a timeout and each sleep of the submission is over in a moment.

    ``waits`` counts them, ``waited`` is how many seconds they would have taken, and the clocks that the submission
    reads are ahead by as much. So a limit of some minutes is reached in a fraction of a second. Waits and clocks of
    everyone else are as before.
    """

    def __init__(self) -> None:
        self.waits, self.waited = 0, 0.0
        self._file = sys.argv[1]  # the submission: see host.py
        self._between = threading.Condition.wait.__code__.co_filename  # an Event waits on a Condition in there
        wait, sleep = threading.Condition.wait, time.sleep

        def hurried_wait(condition: threading.Condition, timeout: float | None = None) -> bool:
            if timeout is None or timeout <= 0 or not self._asked_for():
                return wait(condition, timeout)
            woken = wait(condition, 0)
            self.oversleep(0 if woken else timeout)
            return woken

        def hurried_sleep(seconds: float) -> None:
            if not self._asked_for():
                return sleep(seconds)
            self.oversleep(seconds)
            return sleep(0)

        threading.Condition.wait = hurried_wait  # type: ignore[method-assign, assignment]
        time.sleep = hurried_sleep  # type: ignore[assignment]
        threading._time = self._ahead(time.monotonic)  # type: ignore[attr-defined]
        for name in ("monotonic", "perf_counter", "time"):
            setattr(time, name, self._ahead(getattr(time, name)))

    def oversleep(self, seconds: float) -> None:
        """So much more time has passed, as on a machine that was suspended."""
        self.waits += 1
        self.waited += seconds

    def _ahead(self, clock: Callable[[], float]) -> Callable[[], float]:
        return lambda: clock() + (self.waited if self._asked_for() else 0.0)

    def _asked_for(self) -> bool:
        """Whether the caller of the caller is the submission, directly or through ``threading``."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename == self._between:
            frame = frame.f_back
        return frame is not None and frame.f_code.co_filename == self._file


class _EveryField(logging.Formatter):
    """A record with the fields that `extra` gave it, on one line."""

    ORDINARY = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}

    def format(self, record: logging.LogRecord) -> str:
        fields = [f"{name}={value}" for name, value in vars(record).items() if name not in self.ORDINARY]
        return " ".join([super().format(record), *fields])


def show_logs() -> None:
    """Write what is logged from INFO on to standard error, as an operator's main() would have it."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_EveryField("%(levelname)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
