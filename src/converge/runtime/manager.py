"""The manager: one client, one informer per kind and scope, and the order in which everything starts and stops.

Start: look up every kind, fill every cache, become the leader if asked to, and only then let workers work.
Stop: take no more keys, let the work in hand end, give the lease back, close.
"""

import logging
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from converge.runtime.api.client import Client, Object
from converge.runtime.api.errors import Forbidden, RuntimeProblem, Unauthorized
from converge.runtime.controller import Controller
from converge.runtime.informers.informer import Informer
from converge.runtime.informers.sources import Source
from converge.runtime.leader import LeaderElection
from converge.runtime.metrics import exposition
from converge.runtime.poll import Poll
from converge.runtime.reconcile import Reconciler

if TYPE_CHECKING:
    from converge.runtime.health import HealthServer

log = logging.getLogger("converge.manager")

#: Seconds after which a server that refuses to list is believed.
_REFUSED_FOR = 5.0

#: Seconds for informers to end; one that waits for a server which does not answer is left behind.
_INFORMERS_STOP_WITHIN = 0.3

_Scope = tuple[str, str, str | None, str | None, str | None]


class _Interrupted(Exception):  # noqa: N818 (no error)
    """A signal came while the main thread was waiting for the server."""


class Manager:
    """Runs controllers that share one client and its caches.

    Args:
        client: talks to the cluster; by default one made from the environment.
        namespace: act on objects of this namespace only; ``None`` for all.
        leader_election: act only while holding the Lease of this name, or as this `LeaderElection`.
        port: where to serve ``/healthz``, ``/readyz`` and ``/metrics``; ``None`` for nowhere.
        host: the address to serve them on.
        sync_timeout: how many seconds every cache has to fill.
        grace: how many seconds work in hand has to finish after a stop.
    """

    def __init__(
        self,
        client: Client | None = None,
        *,
        namespace: str | None = None,
        leader_election: str | LeaderElection | None = None,
        port: int | None = None,
        host: str = "127.0.0.1",
        sync_timeout: float = 30.0,
        grace: float = 1.5,
        informer: Callable[..., Informer] = Informer,
    ) -> None:
        self.client = client or Client(namespace=namespace)
        self.client.on_write = self._remember
        self.namespace = namespace
        self.controllers: list[Controller] = []
        self.election = (
            LeaderElection(self.client, leader_election) if isinstance(leader_election, str) else leader_election
        )
        self._polls: list[Poll] = []
        self._informers: dict[_Scope, Informer] = {}
        self._make_informer = informer
        self._sync_timeout = sync_timeout
        self._grace = grace
        self._stopping = threading.Event()
        self._started = False
        self._ready = False
        self._asking = False  # the main thread waits for the server
        self._poll_threads: list[threading.Thread] = []
        self._starting = threading.Lock()  # threads are started under it, so that `stop` meets all of them or none
        self._failure: RuntimeProblem | None = None
        self._health = None if port is None else self._listen(port, host)

    @property
    def informers(self) -> list[Informer]:
        """The informers, one per kind and scope."""
        return list(self._informers.values())

    @property
    def address(self) -> tuple[str, int] | None:
        """Where health and metrics are served."""
        return self._health.address if self._health else None

    def controller(
        self, reconciler: Reconciler, *, name: str | None = None, workers: int = 4, queue: Any = None
    ) -> Controller:
        """Make a controller and add it; say what it is for with ``.for_(…)``, ``.owns(…)``, ``.watches(…)``."""
        controller = Controller(reconciler, name=name, workers=workers, queue=queue)
        self.add(controller)
        return controller

    def add(self, runnable: Controller | Poll) -> None:
        """Add a controller, or a `Poll`, to be started."""
        if isinstance(runnable, Controller):
            self.controllers.append(runnable)
        elif isinstance(runnable, Poll):
            self._polls.append(runnable)
        else:
            raise TypeError(f"a manager runs Controllers and Polls, not {runnable!r}")

    def cached(
        self,
        api_version: str,
        kind: str,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
    ) -> Informer:
        """The cache of a kind, shared with the controllers that watch it. Reading it sends no request.

        What this manager's client writes can be read from it at once. Objects from it are frozen.
        """
        scope = (api_version, kind, namespace or self.namespace, label_selector, field_selector)
        if scope not in self._informers:
            if self._started:
                raise RuntimeError(f"ask for the cache of {kind} in setup(), before the manager is started")
            self._informers[scope] = self._make_informer(
                self.client,
                api_version,
                kind,
                scope[2],
                **{
                    name: value
                    for name, value in (("label_selector", label_selector), ("field_selector", field_selector))
                    if value is not None
                },
            )
        return self._informers[scope]

    def run(self) -> None:
        """Start, and run until SIGTERM, SIGINT or `stop`. Raises what made it fail."""
        main = threading.current_thread() is threading.main_thread()
        before = {number: signal.signal(number, self._on_signal) for number in (signal.SIGTERM, signal.SIGINT) if main}
        try:
            self.start()
            self._stopping.wait()
        except _Interrupted:
            pass
        finally:
            self.stop()
            for number, handler in before.items():
                signal.signal(number, handler)
        if self._failure is not None:
            raise self._failure

    def start(self) -> None:
        """Fill the caches, wait to lead, start the workers. Returns when they run, or when it was stopped."""
        if self._started:
            raise RuntimeError("a manager runs once; make another one")
        if not self.controllers and not self._polls:
            raise RuntimeProblem("there is nothing to run: add a controller or a poll to the manager")
        sources = [(controller, source) for controller in self.controllers for source in controller.sources]
        for controller in self.controllers:
            if not controller.sources:
                raise RuntimeProblem(f"controller {controller.name} watches nothing: say for_(apiVersion, kind)")
        for controller, source in sources:
            self._informer_of(source).add_handler(controller.handler_for(source))
        self._started = True
        if self._health is not None:
            self._health.start()
        self._look_up_kinds()
        self._fill_caches()
        self._ready = not self._stopping.is_set()
        if self._wait_to_lead():
            self._start_work()

    def stop(self) -> None:
        """Stop everything. Work in hand may finish within the grace period; whatever takes longer is abandoned."""
        self._stopping.set()
        with self._starting:
            self._ready = False
        for controller in self.controllers:
            controller.stop()
        deadline = time.monotonic() + self._grace
        finished = True
        for controller in self.controllers:
            if not controller.join(max(0.0, deadline - time.monotonic())):
                finished = False
                left = ", ".join(sorted(map(str, controller.busy)))
                log.warning("%s: stopped while reconciling %s", controller.name, left)
        for thread in self._poll_threads:
            thread.join(max(0.0, deadline - time.monotonic()))
            finished = finished and not thread.is_alive()
        for informer in self.informers:
            informer.stop(timeout=0)  # all at once
        deadline = time.monotonic() + _INFORMERS_STOP_WITHIN
        for informer in self.informers:
            informer.stop(timeout=max(0.0, deadline - time.monotonic()))
        if self.election is not None:
            # While something still acts, the lease is better left to run out.
            self.election.stop(release=finished)
        if self._health is not None and self._started:
            self._health.stop()
            self._health = None
        self.client.close()

    def request_stop(self) -> None:
        """Ask `run` to stop, from any thread."""
        self._stopping.set()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._stopping.is_set():
            raise SystemExit(128 + number)  # asked twice
        self._stopping.set()
        if self._asking:
            raise _Interrupted  # out of a request whose answer may never come

    def _informer_of(self, source: Source) -> Informer:
        return self.cached(
            source.api_version,
            source.kind,
            namespace=source.namespace,
            label_selector=source.label_selector,
            field_selector=source.field_selector,
        )

    def _look_up_kinds(self) -> None:
        """Fail at once, and say why, when a kind is unknown or the server cannot be reached."""
        self._asking = True
        kinds = [(informer.api_version, informer.kind) for informer in self.informers]
        for api_version, kind in kinds + [(poll.api_version, poll.kind) for poll in self._polls]:
            self.client.discovery.resource(api_version, kind)
        self._asking = False

    def _fill_caches(self) -> None:
        started = time.monotonic()
        with self._starting:
            if self._stopping.is_set():
                return
            for informer in self.informers:
                informer.start()
        for informer in self.informers:
            while not informer.wait_for_sync(0.05):
                if self._stopping.is_set():
                    return
                # A 403 usually means that the right will never come, but RBAC rules take a moment to reach the
                # authorizer.
                refused = isinstance(informer.last_error, (Forbidden, Unauthorized))
                patience = min(_REFUSED_FOR, self._sync_timeout) if refused else self._sync_timeout
                if time.monotonic() - started > patience:
                    reason = informer.last_error or "the server is too slow"
                    raise RuntimeProblem(f"the cache of {informer.kind} could not be filled: {reason}")

    def _wait_to_lead(self) -> bool:
        if self.election is not None:
            with self._starting:
                if self._stopping.is_set():
                    return False
                self.election.start(self._fail)
            while not self.election.wait(0.1):
                if self._stopping.is_set():
                    break
        return not self._stopping.is_set()

    def _start_work(self) -> None:
        with self._starting:
            if self._stopping.is_set():
                return
            may_act = self.election.is_leader if self.election is not None else lambda: True
            for controller in self.controllers:
                first = controller.sources[0]
                resource = self.client.discovery.resource(first.api_version, first.kind)
                controller.start(may_act, cluster_scoped=not resource.namespaced)
            for poll in self._polls:
                thread = threading.Thread(
                    target=poll.run, args=(self.client, self._stopping, self.namespace), name="poll", daemon=True
                )
                self._poll_threads.append(thread)
                thread.start()
        log.info("running in %s", f"namespace {self.namespace}" if self.namespace else "all namespaces")

    def _fail(self, problem: RuntimeProblem) -> None:
        self._failure = problem
        self._stopping.set()

    def _remember(self, obj: Object) -> None:
        """Show an object that was just written to the caches that it belongs in."""
        for informer in self.informers:
            if (
                informer.kind == obj["kind"]
                and informer.api_version == obj["apiVersion"]
                and not informer.selective
                and informer.namespace in (None, obj["metadata"].get("namespace"))
            ):
                informer.remember(obj)

    def _listen(self, port: int, host: str) -> "HealthServer":
        from converge.runtime.health import HealthServer  # http.server is slow to import, and rarely needed

        return HealthServer(port, self._pages(), host)

    def _pages(self) -> dict[str, Callable[[], tuple[int, str, bytes]]]:
        def ready() -> tuple[int, str, bytes]:
            waiting = [informer.kind for informer in self.informers if not informer.has_synced()]
            if self._ready:
                return 200, "text/plain", b"ok\n"
            return 503, "text/plain", f"waiting for {', '.join(waiting) or 'the start'}\n".encode()

        return {
            "/healthz": lambda: (200, "text/plain", b"ok\n"),
            "/readyz": ready,
            "/metrics": lambda: (200, *exposition(self)),
        }
