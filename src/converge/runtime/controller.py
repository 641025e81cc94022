"""The loop: changes become keys, keys wait in a queue, workers take one each and reconcile it.

`Manager` starts and stops controllers. A controller needs little from its queue, so you can put in your own:
``add``, ``get``, ``done``, ``add_after``, ``add_rate_limited``, ``forget``, ``shut_down``.
"""

import inspect
import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Self

from converge.runtime.api.errors import Conflict
from converge.runtime.informers.informer import Change
from converge.runtime.informers.predicates import Predicate
from converge.runtime.informers.sources import Mapper, Source, controller_of, itself
from converge.runtime.logs import current_request, log_failure
from converge.runtime.measures import ControllerMeasures
from converge.runtime.queue.workqueue import WorkQueue
from converge.runtime.reconcile import Reconciler, Request, Result, TerminalError

log = logging.getLogger("converge.controller")


class Controller:
    """Calls a reconciler for each object that may need it, but never for the same object twice at once.

    Args:
        reconciler: has a method ``reconcile(request) -> Result | None``, which is called from several
            threads, for different objects, at the same time.
        name: for logs and metrics; by default the kind, in lower case.
        workers: how many objects are reconciled at once.
        queue: where keys wait; by default a `WorkQueue`.
    """

    def __init__(self, reconciler: Reconciler, *, name: str | None = None, workers: int = 4, queue: Any = None) -> None:
        if not callable(getattr(reconciler, "reconcile", None)):
            raise TypeError(f"a reconciler has a method reconcile(request); {reconciler!r} has none")
        if workers < 1:
            raise ValueError(f"a controller needs at least one worker, not {workers}")
        self.reconciler = reconciler
        self.workers = workers
        self.queue: Any = WorkQueue() if queue is None else queue
        self.sources: list[Source] = []
        self.measures = ControllerMeasures()
        self._name = name
        self._owner: tuple[str, str] | None = None
        self._cluster_scoped = False
        self._threads: list[threading.Thread] = []
        self._stopping = threading.Event()
        self._busy: set[Request] = set()
        self._may_act: Callable[[], bool] = lambda: True

    @property
    def name(self) -> str:
        """The name for logs and metrics."""
        return self._name or (self._owner[1].lower() if self._owner else type(self.reconciler).__name__.lower())

    def for_(self, api_version: str, kind: str, *, predicate: Predicate | None = None) -> Self:
        """Reconcile the objects of this kind; a controller has one."""
        if self._owner is not None:
            raise ValueError(f"this controller is for {self._owner[1]} already; make another one for {kind}")
        self._owner = (api_version, kind)
        self.sources.append(Source(api_version, kind, itself, predicate))
        return self

    def owns(self, api_version: str, kind: str, *, predicate: Predicate | None = None) -> Self:
        """Watch objects of this kind, and reconcile their owner when one changes.

        The owner is the object named in the controller reference (``ownerReferences`` with
        ``controller: true``), if it is of the kind of `for_`.
        """
        if self._owner is None:
            raise ValueError("say for_() before owns(): whose children are they?")
        mapper = controller_of(*self._owner, cluster_scoped=lambda: self._cluster_scoped)
        self.sources.append(Source(api_version, kind, mapper, predicate))
        return self

    def watches(
        self,
        api_version: str,
        kind: str,
        mapper: Mapper,
        *,
        predicate: Predicate | None = None,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
    ) -> Self:
        """Watch objects of this kind; ``mapper(obj)`` returns the requests to reconcile when one changes."""
        self.sources.append(Source(api_version, kind, mapper, predicate, namespace, label_selector, field_selector))
        return self

    def handler_for(self, source: Source) -> Callable[[Change], None]:
        """The function that an informer calls with each change of the source's kind."""
        add = self.queue.add

        def handle(change: Change) -> None:
            for request in source.requests(change):
                add(request)

        return handle

    def start(self, may_act: Callable[[], bool] = lambda: True, *, cluster_scoped: bool = False) -> None:
        """Start the workers. The caches must have synced: what is missing in them is taken for deleted.

        Args:
            may_act: called before each pass; if it says no, the key is put back.
            cluster_scoped: whether the objects of `for_` are in no namespace.
        """
        if self._threads:
            raise RuntimeError(f"controller {self.name} was started before; was it added to two managers?")
        self._may_act = may_act
        self._cluster_scoped = cluster_scoped
        for number in range(self.workers):
            thread = threading.Thread(target=self._work, name=f"{self.name}-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Take no more keys. What is being reconciled is finished; `join` waits for it."""
        self._stopping.set()
        self.queue.shut_down()

    def join(self, timeout: float) -> bool:
        """Wait for the workers to finish what they have. Returns whether they did."""
        deadline = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    @property
    def busy(self) -> frozenset[Request]:
        """What is being reconciled at this moment."""
        return frozenset(self._busy)

    def _work(self) -> None:
        while not self._stopping.is_set():
            request = self.queue.get()
            if request is None:
                return
            if self._stopping.is_set():
                return  # it was not begun; the next to run looks at every object anyway
            try:
                if self._may_act():
                    self._process(request)
                else:
                    self.queue.add_rate_limited(request)
            except Exception:  # a broken queue, say: a worker that died would be a silent hang
                log.exception("%s: the worker failed", self.name, extra={"key": str(request)})
            finally:
                self.queue.done(request)

    def _process(self, request: Request) -> None:
        """Reconcile one key, and do what the answer asks for."""
        started = time.perf_counter()
        token = current_request.set((self.name, request))
        self._busy.add(request)
        again = ""
        try:
            result = self.reconciler.reconcile(request)
            _check_type(result)
        except TerminalError as error:
            # Trying again is useless. A change of the object brings the key back.
            self.queue.forget(request)
            self.measures.count("terminal_error")
            log_failure(log, "will not be tried again: %s", error)
        except Conflict as error:
            self.queue.add_rate_limited(request)
            self.measures.count("error")
            log.info("another writer was faster, trying again: %s", error)
        except Exception as error:
            self.queue.add_rate_limited(request)
            self.measures.count("error")
            log_failure(log, "failed, will be tried again: %s", error)
        else:
            # Only now: an answer of success is what ends a row of failures.
            self.queue.forget(request)
            if result is not None and result.requeue_after is not None:
                self.queue.add_after(request, result.requeue_after)
                again = f", again in {result.requeue_after:g} s"
                self.measures.count("requeue_after")
                again = f", again in {result.requeue_after:g} s"
            else:
                self.measures.count("success")
        finally:
            self._busy.discard(request)
            self.measures.took(time.perf_counter() - started)
            log.debug("reconciled in %.1f ms%s", (time.perf_counter() - started) * 1000, again)
            current_request.reset(token)


def _check_type(result: object) -> None:
    if result is None or isinstance(result, Result):
        return
    if inspect.iscoroutine(result):
        result.close()
        raise TerminalError("reconcile is an async function; the runtime calls it from a thread: make it a plain one")
    raise TerminalError(f"reconcile returns a Result or None, not {result!r}")
