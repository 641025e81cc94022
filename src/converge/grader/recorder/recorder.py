"""The recorder as checks see it: start and stop, questions, faults. ``proxy`` does the work, in its own thread."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from converge.grader.recorder import faults as request_faults
from converge.grader.recorder.event_faults import Delay, Drop, Duplicate, EndWatch, EventFault, Hold, Reorder
from converge.grader.recorder.faults import Fault
from converge.grader.recorder.matching import EventMatch, RequestMatch
from converge.grader.recorder.proxy import Proxy
from converge.grader.recorder.recording import Note, Recording
from converge.grader.recorder.records import FaultRecord, Request, WatchEvent
from converge.grader.recorder.stale import Freeze
from converge.grader.recorder.upstream import Upstream

T = TypeVar("T")
THREAD = "flight recorder"


class RecorderError(Exception):
    """A failure of the recorder, or of a callback that it was given: not of the operator."""


class Recorder:
    """A recording proxy on loopback. ``url`` is where an operator finds it once it is started.

    The operator's own token is passed on. ``token`` is for those that send none: Go's clients read no credentials from
    a kubeconfig whose server is plain http.
    """

    def __init__(
        self, server: str, ca_file: Path | str | None = None, title: str = "", token: str | None = None
    ) -> None:
        self.url = ""
        self.recording = Recording(title=title)
        self._upstream = Upstream(server, Path(ca_file) if ca_file else None)
        self._proxy = Proxy(self._upstream, self.recording, token)
        self._loop = _new_loop()
        self._thread = threading.Thread(target=self._run, name=THREAD, daemon=True)
        self._ready = threading.Event()
        self._stop: asyncio.Event | None = None
        self._failure: BaseException | None = None

    # --- life

    def start(self) -> Self:
        """Listen on a free port of 127.0.0.1."""
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            raise self._failure
        return self

    def stop(self) -> None:
        """Close every connection. The recording stays. Raises what went wrong in the recorder itself, if anything."""
        if self._thread.is_alive() and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()
        if self.recording.length is None:
            self.recording.length = self.recording.now()
        if self._proxy.failures:
            raise RecorderError("the recorder itself failed, so this run says nothing") from self._proxy.failures.pop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # --- questions

    @property
    def requests(self) -> list[Request]:
        """All requests so far, in order of arrival."""
        return list(self.recording.requests)

    @property
    def events(self) -> list[WatchEvent]:
        """All watch events that the operator was given, in order."""
        return list(self.recording.events)

    @property
    def faults(self) -> list[FaultRecord]:
        """The moments at which faults struck."""
        return list(self.recording.faults)

    def writes(self, kind: str | None = None, *, changed: bool | None = None, **which: Any) -> list[Request]:
        """Creates, updates, patches, applies and deletes; with ``changed``, those that did (not) change anything."""
        return self.recording.writes(kind, changed=changed, **which)

    def reads(self, kind: str | None = None, **which: Any) -> list[Request]:
        """Gets and lists of objects."""
        return self.recording.reads(kind, **which)

    def watches(self, kind: str | None = None, **which: Any) -> list[Request]:
        """Watch requests; an open one has ``duration`` None."""
        return self.recording.watches(kind, **which)

    def delivered(self, kind: str | None = None, **which: Any) -> list[WatchEvent]:
        """Watch events that reached the operator."""
        return self.recording.delivered(kind, **which)

    def mark(self) -> float:
        """This moment, for ``since``."""
        return self.recording.now()

    def since(self, mark: float) -> Recording:
        """What arrived at ``mark`` or later; it answers the same questions."""
        return self.recording.since(mark)

    def wait_for(self, predicate: Callable[[], T], deadline: float) -> T:
        """Ask ``predicate`` after each new record until it says yes, at most ``deadline`` seconds; its last answer."""
        return self.recording.wait_for(predicate, deadline)

    def wait_quiet(self, seconds: float, deadline: float, ignoring: RequestMatch | None = None) -> bool:
        """Wait until no request came for ``seconds`` and none is under way, watches aside; False after ``deadline``."""
        return self.recording.wait_quiet(seconds, deadline, ignoring)

    def note(self, text: str, object: str = "") -> None:
        """Put a remark on the timeline, in the lane of an object (``webapps/web``) or in the operator's."""
        self.recording.notes.append(Note(self.recording.now(), text, object))
        self.recording.told()

    def focus(self) -> None:
        """Let the timeline begin here: what was before was a search for what is shown now."""
        self.recording.focus = self.recording.now()

    # --- faults of requests

    def fail(
        self,
        match: RequestMatch,
        *,
        status: int,
        nth: int = 1,
        times: int | None = 1,
        retry_after: int | None = None,
        reason: str | None = None,
    ) -> Fault:
        """Answer the ``nth`` matching request, and ``times`` in all, with a status. The server never sees them."""
        return self._set(request_faults.Refuse(match, nth, times, status, retry_after, reason))

    def hang(self, match: RequestMatch, *, nth: int = 1, times: int | None = 1) -> Fault:
        """Never answer, until the operator gives up. The server never sees the request."""
        return self._set(request_faults.Hang(match, nth, times, "no answer to"))

    def reset(self, match: RequestMatch, *, nth: int = 1, times: int | None = 1) -> Fault:
        """Reset the connection. The server never sees the request."""
        return self._set(request_faults.Reset(match, nth, times, "connection reset on"))

    def lose_answer(self, match: RequestMatch, *, nth: int = 1, times: int | None = 1, hang: bool = False) -> Fault:
        """Let the server do it, then reset the connection (or, with ``hang``, never answer)."""
        return self._set(request_faults.LoseAnswer(match, nth, times, hang=hang))

    def slow(self, match: RequestMatch, *, seconds: float, nth: int = 1, times: int | None = None) -> Fault:
        """Make matching requests take longer; all of them unless ``times`` says otherwise."""
        return self._set(request_faults.Slow(match, nth, times, seconds))

    def meanwhile(
        self, match: RequestMatch, act: Callable[[], object], *, nth: int = 1, times: int | None = 1
    ) -> Fault:
        """Call ``act`` when the ``nth`` matching request has arrived and the server has not seen it; then pass it on.

        So another writer gets in between what the operator has read and what it writes, each time.
        """
        return self._set(request_faults.Meanwhile(match, nth, times, act))

    def kill_before(self, match: RequestMatch, *, kill: Callable[[], object], nth: int = 1) -> Fault:
        """Call ``kill`` when the ``nth`` matching request has arrived; neither it nor any later one reaches the server.

        ``kill`` shall return when the operator is dead, and leave it to others to start it again: until then every
        request waits. All connections that were open are closed.
        """
        return self._set(request_faults.KillBefore(match, nth, kill))

    def kill_after(self, match: RequestMatch, *, kill: Callable[[], object], nth: int = 1) -> Fault:
        """Call ``kill`` when the server has done the ``nth`` matching request and the operator has not heard of it."""
        return self._set(request_faults.KillAfter(match, nth, kill))

    # --- faults of watch events

    def drop(self, match: EventMatch, *, nth: int = 1, times: int | None = 1) -> EventFault:
        """Keep events from the operator for good."""
        return self._set_event(Drop(match, nth, times))

    def duplicate(self, match: EventMatch, *, nth: int = 1, times: int | None = 1) -> EventFault:
        """Deliver events twice."""
        return self._set_event(Duplicate(match, nth, times))

    def delay(self, match: EventMatch, *, seconds: float, nth: int = 1, times: int | None = 1) -> EventFault:
        """Deliver events, and what is behind them in the same watch, later."""
        return self._set_event(Delay(match, nth, times, seconds))

    def hold(self, match: EventMatch, *, nth: int = 1, times: int | None = None) -> Hold:
        """Keep events, and what is behind them in the same watch, until ``.release()``."""
        return self._set_event(Hold(match, nth, times))

    def reorder(self, match: EventMatch, *, window: int = 2, nth: int = 1) -> Reorder:
        """Collect ``window`` events of one watch and deliver them last first."""
        return self._set_event(Reorder(match, nth, window))

    def end_watch(self, match: EventMatch, *, nth: int = 1) -> EventFault:
        """End the watch in place of its ``nth`` matching event."""
        return self._set_event(EndWatch(match, nth, expired=False))

    def expire_watch(self, match: EventMatch, *, nth: int = 1) -> EventFault:
        """Say 410 within the stream in place of the ``nth`` matching event, and end the watch."""
        return self._set_event(EndWatch(match, nth, expired=True))

    def end_watches(self, kind: str | None = None) -> int:
        """End the open watches now; how many there were."""
        return self._on_open_watches(kind, "watch ended", lambda stream: stream.finish())

    def expire_watches(self, kind: str | None = None) -> int:
        """Say 410 within the open watches now and end them; how many there were.

        A watch or list that is *answered* with 410 is ``fail(watches(…), status=410)``.
        """
        return self._on_open_watches(kind, "410 within the watch", lambda stream: stream.expire())

    def bookmark(self, kind: str, version: str) -> int:
        """Send a bookmark now, as a server does once a minute, to the open watches that asked for them."""
        return self._on_open_watches(kind, f"bookmark {version}", lambda stream: stream.bookmark(kind, version))

    # --- the past

    def freeze(self, kind: str, *, at: str | int | None = None, gets: bool = True) -> Freeze:
        """Let the operator read a resource as it was, until ``.thaw()``: gets, lists and watches alike.

        ``at`` is a resourceVersion; without it, the newest that the operator can know of. Without ``gets``, a get by
        name shows the present: so it is with a server whose cache lags, which caches are filled from.
        """
        newest = self._proxy.versions.newest
        version = str(at) if at is not None else str(newest) if newest else None
        return self._set_event(Freeze(kind, version, gets))

    def clear_faults(self) -> None:
        """Take all faults away and let go all that they hold."""
        for fault in self._proxy.faults:
            fault.remove()
        for event_fault in self._proxy.event_faults:
            event_fault.remove()
        self._proxy.faults, self._proxy.event_faults = (), ()

    # --- inside

    def _set(self, fault: Fault) -> Fault:
        self._proxy.faults = (*self._proxy.faults, fault)
        return fault

    def _set_event(self, fault: "EventFaultT") -> "EventFaultT":
        fault.wake = lambda: self._loop.call_soon_threadsafe(self._proxy.flush_streams)
        self._proxy.event_faults = (*self._proxy.event_faults, fault)
        return fault

    def _on_open_watches(self, kind: str | None, what: str, act: Callable[[Any], None]) -> int:
        return asyncio.run_coroutine_threadsafe(self._proxy.on_open_watches(kind, what, act), self._loop).result()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            try:
                runner.run(self._serve())
            except BaseException as failure:
                self._failure = failure
                self._ready.set()
                raise

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        server = await self._loop.create_server(self._proxy.accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await self._stop.wait()
        server.close()
        await self._proxy.close()


EventFaultT = TypeVar("EventFaultT", bound=EventFault)


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:  # no wheel for this platform: slower, otherwise the same
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
