"""Leader election: of several replicas one acts, and says so in a Lease.

As client-go does it. The leader renews the Lease every ``retry_period``; if it has not managed to for
``renew_deadline`` it must no longer act. Another may take over when it has seen no renewal for
``lease_duration``, by its own clock: the clocks of two machines need not agree. The time between the two is
for reconciliations that have begun. A leader that stops gives the Lease back, and who waits sees that in a
watch and takes over at once.
"""

import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from converge.runtime.api.client import Client, Object
from converge.runtime.api.errors import AlreadyExists, ApiError, Conflict, Forbidden, NotFound, RuntimeProblem
from converge.runtime.api.watch import Watch

log = logging.getLogger("converge.leader")

#: Seconds that each thread has to end; one that waits for a server which does not answer is left behind.
_THREADS_END_WITHIN = 0.3

_LEASE = ("coordination.k8s.io/v1", "Lease")


class LeaderElection:
    """Holds a Lease, or waits for it.

    Args:
        client: to write the Lease with.
        name: of the Lease, the same for all replicas.
        namespace: of the Lease; by default the client's.
        identity: of this replica; by default host, process and something random.
        lease_duration: seconds without a renewal after which others may take over.
        renew_deadline: seconds without a renewal after which this one no longer acts.
        retry_period: seconds between two renewals, or two attempts to get the Lease.
    """

    def __init__(
        self,
        client: Client,
        name: str,
        namespace: str | None = None,
        *,
        identity: str | None = None,
        lease_duration: float = 15.0,
        renew_deadline: float = 10.0,
        retry_period: float = 2.0,
    ) -> None:
        if not lease_duration > renew_deadline > retry_period > 0:
            raise ValueError(
                "leader election needs lease_duration > renew_deadline > retry_period > 0, "
                f"got {lease_duration}, {renew_deadline}, {retry_period}"
            )
        self.name = name
        self.namespace = namespace or client.namespace
        self.identity = identity or f"{socket.gethostname()}_{os.getpid()}_{uuid.uuid4().hex[:8]}"
        self._client = client.with_timeout(renew_deadline / 2)
        self._lease_duration = lease_duration
        self._renew_deadline = renew_deadline
        self._retry_period = retry_period
        self._lease: Object | None = None  # as last read or written
        self._observed_at = 0.0  # when it was last seen to change
        self._act_until = float("-inf")
        self._leading = threading.Event()
        self._stopping = threading.Event()
        self._look = threading.Event()  # something happened to the Lease
        self._watch: Watch | None = None
        self._threads: list[threading.Thread] = []

    def start(self, on_lost: Callable[[RuntimeProblem], None]) -> None:
        """Campaign on a thread. ``on_lost`` is called if leadership is lost later."""
        for job, args in ((self._run, (on_lost,)), (self._run_watch, ())):
            thread = threading.Thread(target=job, args=args, name="leader-election", daemon=True)
            self._threads.append(thread)
            thread.start()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait to become the leader; whether this is it."""
        return self._leading.wait(timeout)

    def is_leader(self) -> bool:
        """Whether this replica may act at this moment."""
        return time.monotonic() < self._act_until

    def stop(self, release: bool = True) -> None:
        """Take part no longer.

        Args:
            release: give the Lease back, so that another takes over at once. Only right if nothing acts.
        """
        self._stopping.set()
        self._look.set()
        if (watch := self._watch) is not None:
            watch.close()
        for thread in self._threads:
            thread.join(_THREADS_END_WITHIN)
        was_leader, self._act_until = self.is_leader(), float("-inf")
        if release and was_leader and self._lease is not None:
            try:
                self._write(
                    {**self._lease["spec"], "holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": _now()}
                )
                log.info("gave the lease %s back", self.name)
            except ApiError as error:
                log.warning("could not give the lease back: %s", error)

    def _run(self, on_lost: Callable[[RuntimeProblem], None]) -> None:
        while not self._stopping.is_set():
            started = time.monotonic()
            if self._attempt():
                # Counted from before the request: others may have seen it at any moment since.
                self._act_until = started + self._renew_deadline
                if not self._leading.is_set():
                    log.info("leading as %s", self.identity)
                    self._leading.set()
                    if (watch := self._watch) is not None:
                        watch.close()
            elif self._leading.is_set() and not self.is_leader():
                on_lost(RuntimeProblem(f"lost the lease {self.namespace}/{self.name}: it could not be renewed in time"))
                return
            self._pause()

    def _pause(self) -> None:
        if self._leading.is_set():
            self._stopping.wait(self._retry_period)
        else:
            self._look.wait(min(self._retry_period, max(0.01, self._free_in())))
            self._look.clear()

    def _attempt(self) -> bool:
        """Get or renew the Lease; whether it is ours now."""
        try:
            if not self._leading.is_set():
                self._read()
            if self._lease is None:
                return self._create()
            if not self._ours() and self._free_in() > 0:
                return False
            self._write(self._claim(self._lease["spec"]))
            return True
        except Conflict:
            self._read_quietly()
            return False
        except ApiError as error:
            log.warning("leader election: %s", error)
            return False

    def _ours(self) -> bool:
        return self._lease is not None and self._lease["spec"].get("holderIdentity") == self.identity

    def _free_in(self) -> float:
        """Seconds until the Lease may be taken over, if its holder does nothing."""
        spec = self._lease["spec"] if self._lease is not None else {}
        if not spec.get("holderIdentity"):
            return 0.0
        return float(self._observed_at + spec.get("leaseDurationSeconds", 0) - time.monotonic())

    def _read(self) -> None:
        try:
            self._observe(self._client.get(*_LEASE, self.name, self.namespace))
        except NotFound:
            self._lease = None

    def _read_quietly(self) -> None:
        try:
            self._read()
        except ApiError as error:
            log.warning("leader election: %s", error)

    def _observe(self, lease: Object) -> None:
        lease.setdefault("spec", {})
        if self._lease is None or lease["spec"] != self._lease["spec"]:
            self._observed_at = time.monotonic()
        self._lease = lease

    def _create(self) -> bool:
        lease = {
            "apiVersion": _LEASE[0],
            "kind": _LEASE[1],
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": self._claim({}),
        }
        try:
            self._observe(self._client.create(lease))
        except AlreadyExists:
            return False
        return True

    def _claim(self, spec: dict[str, Any]) -> dict[str, Any]:
        """The spec of the Lease with this replica as its holder."""
        now = _now()
        renewed = spec.get("holderIdentity") == self.identity
        return {
            **spec,
            "holderIdentity": self.identity,
            "leaseDurationSeconds": max(1, round(self._lease_duration)),
            "acquireTime": spec.get("acquireTime") if renewed else now,
            "renewTime": now,
            "leaseTransitions": spec.get("leaseTransitions", 0) + (0 if renewed or not spec else 1),
        }

    def _write(self, spec: dict[str, Any]) -> None:
        assert self._lease is not None
        # With the version that was read: of two that try at once, one is refused.
        self._observe(self._client.replace({**self._lease, "spec": spec}))

    def _run_watch(self) -> None:
        """While waiting: look at the Lease as soon as it changes, instead of at the next attempt."""
        while not self._stopping.is_set() and not self._leading.is_set():
            try:
                self._watch = self._client.watch(
                    *_LEASE, self.namespace, field_selector=f"metadata.name={self.name}", timeout=60
                )
                for event in self._watch:
                    # A renewal isn't news; a Lease that was given back, or is gone, is.
                    if event.type == "DELETED" or not event.object.get("spec", {}).get("holderIdentity"):
                        self._look.set()
                    if self._stopping.is_set() or self._leading.is_set():
                        self._watch.close()
            except Forbidden:
                log.info("may not watch leases: it will take up to %g s to notice a free one", self._retry_period)
                return
            except ApiError as error:
                log.debug("watching the lease: %s", error)
                self._stopping.wait(self._retry_period)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
