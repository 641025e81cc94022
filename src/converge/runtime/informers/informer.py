"""A cache that fills itself: list once, then watch from there.

The life of an informer::

    list ──► watch ──(ended, cut)──► watch again from the last version seen
      ▲        │
      └────────┴──(410 Gone, or an answer that makes no sense)── list again, after a pause

A list replaces what the cache had, so objects that disappeared while nobody watched are reported as
deleted. At rest there is one open request and nothing else.
"""

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from converge.runtime.api.client import Client, Object
from converge.runtime.api.errors import ApiError, Forbidden, Gone, Timeout, TooManyRequests, Unauthorized, Unavailable
from converge.runtime.api.watch import Watch, WatchEvent
from converge.runtime.informers.cache import Cache
from converge.runtime.informers.frozen import freeze
from converge.runtime.informers.store import request_for, version_of
from converge.runtime.queue.backoff import Backoff
from converge.runtime.reconcile import Request

log = logging.getLogger(__name__)

#: Errors after which a watch from the same version will do. A server that starts does not know yet who may
#: do what, so these two pass as well.
_TRANSIENT = (Unavailable, Timeout, TooManyRequests, Unauthorized, Forbidden)


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to an object: ``old`` is ``None`` when it is new, ``new`` when it is gone.

    Both are there, and may be the same, when it was changed or is only shown again (resync).
    """

    old: Object | None
    new: Object | None

    @property
    def object(self) -> Object:
        """The object as it is now, or as it was last seen."""
        obj = self.new if self.new is not None else self.old
        assert obj is not None
        return obj

    @property
    def request(self) -> Request:
        """The key of the object."""
        return request_for(self.object)


class Informer(Cache):
    """A read-only cache of one kind that follows the server, and tells handlers what changed.

    Args:
        client: whose server to follow.
        api_version: of the kind, such as ``apps/v1``.
        kind: such as ``Deployment``.
        namespace: only objects of this one.
        label_selector: only objects with these labels, such as ``app=web``.
        field_selector: only objects with these fields, such as ``metadata.name=web``.
        resync: show every object to the handlers again every ``resync`` seconds; ``None`` for never. It asks
            the server nothing.
        keep_managed_fields: keep ``metadata.managedFields``, half of an object and rarely read.
        backoff: the pauses between failures.
        silence: seconds without a word from the server, not even a bookmark, after which the connection is
            considered dead, whatever TCP says. Servers usually send a bookmark about once a minute.
    """

    def __init__(
        self,
        client: Client,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        *,
        label_selector: str | None = None,
        field_selector: str | None = None,
        resync: float | None = None,
        page_size: int = 500,
        keep_managed_fields: bool = False,
        backoff: Backoff | None = None,
        silence: float = 150.0,
    ) -> None:
        super().__init__()
        self.api_version = api_version
        self.kind = kind
        self.namespace = namespace
        #: Whether a selector leaves out some objects of the kind and namespace.
        self.selective = label_selector is not None or field_selector is not None
        self._client = client
        self._selectors = {"label_selector": label_selector, "field_selector": field_selector}
        self._resync = resync
        self._page_size = page_size
        self._keep_managed_fields = keep_managed_fields
        self._backoff = backoff or Backoff(base=0.05, cap=30.0, jitter=0.5)
        self._silence = silence
        self._handlers: list[Callable[[Change], None]] = []
        self._delivery = threading.RLock()  # handlers see one change at a time, in order
        self._synced = threading.Event()
        self._stopping = threading.Event()
        self._watch: Watch | None = None
        self._version: str | None = None  # the last one seen, or None: list first
        self._threads: list[threading.Thread] = []
        #: What went wrong last, or ``None`` while all is well.
        self.last_error: Exception | None = None
        #: Lists made, watches opened, and handlers that raised, so far; for metrics and tests.
        self.lists = self.watches = self.handler_errors = 0

    def add_handler(self, handler: Callable[[Change], None]) -> None:
        """Call ``handler`` with each change, on the informer's thread: put a key in a queue, and return.

        It's first called with every object that is already known.
        """
        with self._delivery:
            self._handlers.append(handler)
            for obj in self._store.snapshot().values():
                self._tell(handler, Change(None, obj))

    def start(self) -> None:
        """Start listing and watching, on its own thread."""
        if self._threads:
            raise RuntimeError(f"the informer of {self.kind} has been started before")
        jobs = [self._run] if self._resync is None else [self._run, self._run_resync]
        for job in jobs:
            thread = threading.Thread(target=job, name=f"informer-{self.kind}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self, timeout: float = 1.0) -> None:
        """Stop following the server. The cache can still be read."""
        self._stopping.set()
        if (watch := self._watch) is not None:
            watch.close()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(timeout)

    def has_synced(self) -> bool:
        """Whether the cache is complete: before that, a missing object may just not have been listed yet."""
        return self._synced.is_set()

    def wait_for_sync(self, timeout: float | None = None) -> bool:
        """Wait until the cache is complete. Returns whether it is."""
        return self._synced.wait(timeout)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                if self._version is None:
                    self._version = self._list()
                self._follow(self._version)
                continue
            except _TRANSIENT as error:
                self._report(error)
            except Gone as error:
                log.info("%s: version %s is gone, listing again", self.kind, self._version)
                self.last_error, self._version = error, None
            except Exception as error:  # whatever it is: a thread that died would be a silent hang
                self._report(error)
                self._version = None
            self._stopping.wait(self._backoff.next("run"))

    def _report(self, error: Exception) -> None:
        if self._stopping.is_set():
            return
        self.last_error = error
        log.warning("informer of %s: %s", self.kind, error, exc_info=not isinstance(error, ApiError))

    def _list(self) -> str:
        """Read everything, and make the cache so."""
        self.lists += 1
        listed = self._client.list(
            self.api_version, self.kind, self.namespace, page_size=self._page_size, **self._selectors
        )
        objects = {request_for(obj): obj for obj in listed}
        version = int(listed.resource_version) if listed.resource_version.isdecimal() else 0
        with self._delivery:
            for key in self._store.snapshot().keys() - objects.keys():
                self._removed(key)
            for key, obj in objects.items():
                known = self._store.get(key)
                if known is None or known["metadata"].get("resourceVersion") != obj["metadata"]["resourceVersion"]:
                    self._put(key, obj)
            self._caught_up(version)
        self.last_error = None
        self._synced.set()
        return listed.resource_version

    def _follow(self, version: str) -> None:
        """Watch from ``version`` until the watch ends, be it with an error; ``_version`` moves with each event."""
        self.watches += 1
        opened_at = time.monotonic()
        # The server ends it after some minutes, at a time of its own for each, so that not all clients
        # come back at once.
        watch = self._client.watch(
            self.api_version,
            self.kind,
            self.namespace,
            resource_version=version,
            bookmarks=True,
            timeout=random.uniform(300, 600),
            idle_timeout=self._silence,
            **self._selectors,
        )
        self._watch = watch
        if self._stopping.is_set():
            watch.close()
        told = 0
        with watch:
            for event in watch:
                self._version = self._apply(event)
                told += 1
                self._backoff.forget("run")
        self.last_error = None
        if told == 0 and time.monotonic() - opened_at < 1 and not self._stopping.is_set():
            raise Unavailable(f"watch {self.kind}", "the watch ended at once")

    def _apply(self, event: WatchEvent) -> str:
        obj = event.object
        version: str = obj["metadata"]["resourceVersion"]
        if event.type != "BOOKMARK":
            key = request_for(obj)
            with self._delivery:
                known = self._store.get(key)
                if known is not None and version_of(known) >= version_of(obj) > 0:
                    pass  # seen already
                elif event.type == "DELETED":
                    self._removed(key)
                else:
                    self._put(key, obj)
        self._caught_up(version_of(obj))
        return version

    def _put(self, key: Request, obj: Object) -> None:
        if not self._keep_managed_fields:
            obj["metadata"].pop("managedFields", None)
        new = freeze(obj)
        self._notify(Change(self._store.put(key, new), new))

    def _removed(self, key: Request) -> None:
        old = self._store.remove(key)
        if old is not None:
            self._notify(Change(old, None))

    def _notify(self, change: Change) -> None:
        for handler in self._handlers:
            self._tell(handler, change)

    def _tell(self, handler: Callable[[Change], None], change: Change) -> None:
        try:
            handler(change)
        except Exception:
            self.handler_errors += 1
            log.exception("a handler of %s failed at %s", self.kind, change.request)

    def _run_resync(self) -> None:
        while not self._stopping.wait(self._resync):
            for key in self._store.snapshot():
                with self._delivery:
                    obj = self._store.get(key)
                    if obj is not None:
                        self._notify(Change(obj, obj))
