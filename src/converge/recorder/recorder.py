"""The recorder as checks see it: start and stop, questions, faults. ``proxy`` does the work, in its own thread."""

import asyncio
import ssl
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self, TypeVar

from converge.cluster.pki import make_server
from converge.recorder.allowance import MOST_KEPT, Allowance
from converge.recorder.entries import FaultRecord, RecordedEvent, RecordedRequest
from converge.recorder.faults import requests as request_faults
from converge.recorder.faults.base import EventFault, Fault, RequestFault
from converge.recorder.faults.events import Delay, Drop, Duplicate, EndWatch, Hold, Reorder
from converge.recorder.faults.freeze import Freeze
from converge.recorder.http.upstream import Upstream
from converge.recorder.matching import EventMatch, RequestMatch
from converge.recorder.proxy import Proxy
from converge.recorder.recording import Note, Recording

T = TypeVar("T")
F = TypeVar("F", bound=Fault[Any])
THREAD = "flight recorder"


class RecorderError(Exception):
    """A failure of the recorder or of a callback it was given, not of the operator."""


class Recorder:
    """A recording proxy on loopback. ``url`` is where an operator finds it once it is started.

    The operator's own token is passed on. ``token`` is for operators that send none: Go's clients read no credentials
    from a kubeconfig whose server is plain http. With ``tls`` the recorder listens on https, with its own certificate,
    which ``served_ca_file`` vouches for while the recorder runs.
    """

    def __init__(
        self,
        server: str,
        ca_file: Path | str | None = None,
        title: str = "",
        token: str | None = None,
        tls: bool = False,
    ) -> None:
        self.url = ""
        self.served_ca_file: Path | None = None
        self._tls = tls
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
    def requests(self) -> list[RecordedRequest]:
        """All requests so far, in order of arrival."""
        return list(self.recording.requests)

    @property
    def events(self) -> list[RecordedEvent]:
        """All watch events that the operator got, in order."""
        return list(self.recording.events)

    @property
    def faults(self) -> list[FaultRecord]:
        """The moments at which faults hit."""
        return list(self.recording.faults)

    def writes(self, kind: str | None = None, *, changed: bool | None = None, **which: Any) -> list[RecordedRequest]:
        """Creates, updates, patches, applies and deletes; with ``changed``, those that did (not) change anything."""
        return self.recording.writes(kind, changed=changed, **which)

    def reads(self, kind: str | None = None, **which: Any) -> list[RecordedRequest]:
        """Gets and lists of objects."""
        return self.recording.reads(kind, **which)

    def watches(self, kind: str | None = None, **which: Any) -> list[RecordedRequest]:
        """Watch requests; an open one has ``duration`` None."""
        return self.recording.watches(kind, **which)

    def delivered(self, kind: str | None = None, **which: Any) -> list[RecordedEvent]:
        """Watch events that reached the operator."""
        return self.recording.delivered(kind, **which)

    def mark(self) -> float:
        """This moment, for ``since``."""
        return self.recording.now()

    def since(self, mark: float) -> Recording:
        """What arrived at ``mark`` or later, with the same methods."""
        return self.recording.since(mark)

    def wait_for(self, predicate: Callable[[], T], deadline: float) -> T:
        """Call ``predicate`` after each new record until it is true, or for ``deadline`` seconds; return its answer."""
        return self.recording.wait_for(predicate, deadline)

    def wait_quiet(self, seconds: float, deadline: float, ignoring: RequestMatch | None = None) -> bool:
        """Wait until no request but watches came for ``seconds`` and none is under way; False after ``deadline``."""
        return self.recording.wait_quiet(seconds, deadline, ignoring)

    def note(self, text: str, object: str = "") -> None:
        """Put a note on the timeline, in the lane of an object (``webapps/web``) or in the operator's."""
        self.recording.notes.append(Note(self.recording.now(), text, object))
        self.recording.notify()

    def focus(self) -> None:
        """Let the timeline begin here. What came before was only the search for what it shows."""
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
    ) -> RequestFault:
        """Answer the ``nth`` matching request, and ``times`` in all, with a status. The server never sees them.

        404 with ``reason=""`` is what it answers while a kind isn't served, as before its CRD is installed.
        """
        return self.set_fault(request_faults.Refuse(match, nth, times, status, retry_after, reason))

    def hang(self, match: RequestMatch, *, nth: int = 1, times: int | None = 1) -> RequestFault:
        """Never answer, until the operator gives up. The server never sees the request."""
        return self.set_fault(request_faults.Hang(match, nth, times, "no answer to"))

    def reset(self, match: RequestMatch, *, nth: int = 1, times: int | None = 1) -> RequestFault:
        """Reset the connection. The server never sees the request."""
        return self.set_fault(request_faults.Reset(match, nth, times, "connection reset on"))

    def lose_answer(
        self, match: RequestMatch, *, nth: int = 1, times: int | None = 1, hang: bool = False
    ) -> RequestFault:
        """Let the server handle the request, then reset the connection (or, with ``hang``, never answer)."""
        return self.set_fault(request_faults.LoseAnswer(match, nth, times, hang=hang))

    def slow(self, match: RequestMatch, *, seconds: float, nth: int = 1, times: int | None = None) -> RequestFault:
        """Make matching requests take longer; all of them unless ``times`` says otherwise."""
        return self.set_fault(request_faults.Slow(match, nth, times, seconds))

    def meanwhile(
        self, match: RequestMatch, act: Callable[[], object], *, nth: int = 1, times: int | None = 1
    ) -> RequestFault:
        """Call ``act`` when the ``nth`` matching request has arrived, before the server sees it; then pass it on.

        This lets another writer in between the operator's read and its write, each time.
        """
        return self.set_fault(request_faults.Meanwhile(match, nth, times, act))

    def kill_before(self, match: RequestMatch, *, kill: Callable[[], object], nth: int = 1) -> RequestFault:
        """Call ``kill`` when the ``nth`` matching request has arrived; neither it nor any later one reaches the server.

        ``kill`` must return when the operator is dead, and must not start it again: until it returns, every request
        waits. All open connections are closed.
        """
        return self.set_fault(request_faults.KillBefore(match, nth, kill))

    def kill_after(self, match: RequestMatch, *, kill: Callable[[], object], nth: int = 1) -> RequestFault:
        """Call ``kill`` when the server has handled the ``nth`` matching request, before it answers."""
        return self.set_fault(request_faults.KillAfter(match, nth, kill))

    # --- faults of watch events

    def drop(self, match: EventMatch, *, nth: int = 1, times: int | None = 1) -> EventFault:
        """Keep events from the operator for good."""
        return self.set_fault(Drop(match, nth, times))

    def duplicate(self, match: EventMatch, *, nth: int = 1, times: int | None = 1) -> EventFault:
        """Deliver events twice."""
        return self.set_fault(Duplicate(match, nth, times))

    def delay(self, match: EventMatch, *, seconds: float, nth: int = 1, times: int | None = 1) -> EventFault:
        """Deliver events, and whatever follows them in the same watch, later."""
        return self.set_fault(Delay(match, nth, times, seconds))

    def hold(self, match: EventMatch, *, nth: int = 1, times: int | None = None) -> Hold:
        """Hold back events, and whatever follows them in the same watch, until ``.release()``."""
        return self.set_fault(Hold(match, nth, times))

    def reorder(self, match: EventMatch, *, window: int = 2, nth: int = 1) -> Reorder:
        """Collect ``window`` events of one watch and deliver them in reverse order."""
        return self.set_fault(Reorder(match, nth, window))

    def end_watch(self, match: EventMatch, *, nth: int = 1) -> EventFault:
        """End the watch in place of its ``nth`` matching event."""
        return self.set_fault(EndWatch(match, nth, expired=False))

    def expire_watch(self, match: EventMatch, *, nth: int = 1) -> EventFault:
        """Send 410 within the stream in place of the ``nth`` matching event, and end the watch."""
        return self.set_fault(EndWatch(match, nth, expired=True))

    def end_watches(self, kind: str | None = None) -> int:
        """End the open watches now. Returns how many there were."""
        return self._on_open_watches(kind, "watch ended", lambda stream: stream.finish())

    def expire_watches(self, kind: str | None = None) -> int:
        """Send 410 within the open watches now and end them. Returns how many there were.

        A watch or list that is *answered* with 410 is ``fail(watches(…), status=410)``.
        """
        return self._on_open_watches(kind, "410 within the watch", lambda stream: stream.expire())

    def fail_watches(self, kind: str | None = None) -> int:
        """Send 500 within the open watches now and end them. Returns how many there were."""
        return self._on_open_watches(kind, "500 within the watch", lambda stream: stream.fail())

    def bookmark(self, kind: str, version: str) -> int:
        """Send a bookmark now, as a server does from time to time, to the open watches that asked for bookmarks."""
        return self._on_open_watches(kind, f"bookmark {version}", lambda stream: stream.bookmark(kind, version))

    # --- other namespaces

    def show_only(self, *namespaces: str) -> None:
        """Hide the objects of all other namespaces from the operator, in lists and watches of the whole cluster.

        This lets an operator work in the whole cluster while others like it run on the same one.
        """
        self._proxy.namespaces = frozenset(namespaces)

    # --- operators that no one trusts

    def allow(self, *, writes: int, size: int, kept: int = MOST_KEPT, resources: frozenset[str] | None = None) -> None:
        """Refuse what the operator writes beyond so many writes and bytes stored, as a quota of the server would.

        Beyond so many bytes of a recording it gets no answers any more.
        """
        self._proxy.allowance = Allowance(writes, size, kept, resources)

    # --- the past

    def freeze(self, kind: str, *, at: str | int | None = None, gets: bool = True) -> Freeze:
        """Let the operator read a resource as it was, until ``.thaw()``: gets, lists and watches alike.

        ``at`` is a resourceVersion; the default is the newest that the operator can know. Without ``gets``, a get by
        name shows the present, as it does on a server whose watch cache lags.
        """
        newest = self._proxy.versions.newest
        version = str(at) if at is not None else str(newest) if newest else None
        return self.set_fault(Freeze(kind, version, gets))

    # --- any fault

    def set_fault(self, fault: F) -> F:
        """Set a fault. Every other method that sets one calls this. Raises TypeError for a fault that lacks a part."""
        fault.check_complete()
        fault.wake = lambda: self._loop.call_soon_threadsafe(self._proxy.flush_streams)
        self._proxy.faults = (*self._proxy.faults, fault)
        return fault

    def clear_faults(self) -> None:
        """Remove all faults and release everything they hold back."""
        for fault in self._proxy.faults:
            fault.remove()
        self._proxy.faults = ()

    # --- inside

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
        with ExitStack() as files:
            context = self._certificate(Path(files.enter_context(TemporaryDirectory()))) if self._tls else None
            server = await self._loop.create_server(self._proxy.accept, "127.0.0.1", 0, ssl=context)
            scheme = "https" if self._tls else "http"
            self.url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            self._ready.set()
            await self._stop.wait()
            server.close()
            await self._proxy.close()

    def _certificate(self, directory: Path) -> ssl.SSLContext:
        made = make_server(directory)
        self.served_ca_file = made.cert("ca")
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(made.cert("server"), made.key("server"))
        context.set_alpn_protocols(["http/1.1"])  # or Go would speak HTTP/2
        return context


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:  # no wheel for this platform: slower, otherwise the same
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
