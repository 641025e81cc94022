"""The operator under audit: started again when it exits, as a kubelet does, and never kept waiting by an old lock."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from converge.recorder import RecordedRequest
from converge.testing.operator import STOP_SECONDS, Launch, Operator
from converge.testing.verdicts.evidence import NOT_STATE
from converge.testing.verdicts.failure import Failure, TookTooLong, Verdict
from converge.testing.waits import idle
from converge.testing.waits.waiting import interruptions

if TYPE_CHECKING:
    from converge.recorder import Recorder
    from converge.testing.objects.namespace import Namespace
    from converge.testing.sandbox.process import Process

LOOKS_EVERY = 0.2  # seconds between two looks whether a wait for its end should be interrupted
MOST_EXITS = 3  # in one attack; a kubelet calls it CrashLoopBackOff long before its tenth
ELECTION_ANNOTATION = b"control-plane.alpha.kubernetes.io/leader"  # the annotation of locks that are no Leases
POD_SUBRESOURCES = ("exec", "attach", "portforward", "proxy", "log")


class AuditedOperator(Operator):
    """An operator that may exit, but not again and again."""

    def __init__(
        self,
        launch: Launch,
        namespace: Namespace,
        kubeconfig: Path,
        recorder: Recorder,
        other_namespace: Namespace | None = None,
    ) -> None:
        super().__init__(launch, namespace, kubeconfig, recorder, other_namespace)
        self.exits = 0
        self._starting = False
        self._asked_inside = False
        #: Writes that it keeps repeating, found in the reference run and reported once.
        self.noise: set[tuple[str, str, str]] = set()

    # Its life.

    def start(self) -> None:
        """Start it."""
        self._starting = True
        try:
            super().start()
        finally:
            self._starting = False

    def stop(self, within: float = STOP_SECONDS) -> None:
        """Ask it to end. One that doesn't is killed, as a kubelet does after its grace period."""
        with suppress(TookTooLong):
            super().stop(within)

    def _ends(self, run: Process, within: float) -> bool:
        deadline = time.monotonic() + within
        while not run.ended.wait(LOOKS_EVERY):
            for each in interruptions:
                each()
            if time.monotonic() > deadline:
                return False
        return True

    def interrupt(self, final: bool = False) -> None:
        """Start it again when it has exited by itself; complain when that doesn't help."""
        while self._wanted and not self.running and not self._starting:
            self.exits += 1
            died = self._died()
            if self.exits > MOST_EXITS:
                raise Failure(
                    when=f"the operator was started again each time it exited, {MOST_EXITS} times",
                    expected="it runs",
                    got=died.message,
                    seen=died.seen,
                    hint="An error that it can't overcome should end in a retry, not in an exit.",
                )
            try:
                self.start()
            except Verdict:
                continue

    def _free_leases(self) -> None:
        """Delete the locks that earlier runs have taken: a dead leader's would expire in 15 s, and we don't wait."""
        from converge.runtime import ApiError, NotFound

        held = {each.path.partition("?")[0]: each for each in self.recorder.requests if is_election(each) and each.name}
        client = self.namespace.client
        for request in held.values():
            group = f"{request.group}/{request.version}" if request.group else request.version
            if not request.kind:
                continue
            try:
                client.delete(group, request.kind, request.name, request.namespace)
            except (NotFound, ApiError):
                continue

    def silent_for(self) -> float:
        """Seconds for which it has asked for nothing and heard of nothing, as far as that is about state."""
        recorder = self.recorder
        busy = self.busy() or any(idle.under_way(each) and not each.is_watch for each in recorder.requests[-20:])
        if busy or self._starting:
            return 0.0
        asked = [each.last_moment for each in recorder.requests if not self.ignored(each) and not each.is_watch]
        heard = [each.time for each in recorder.events]
        return recorder.mark() - max([self._started, *asked[-1:], *heard[-1:]])

    # What counts.

    def ignored(self, request: RecordedRequest) -> bool:
        """Whether a request says nothing about rest: elections, Events, other namespaces, known noise."""
        return (
            request.resource in NOT_STATE
            or inside_pods(request)
            or is_election(request)
            or (bool(request.namespace) and request.namespace != self.namespace.name)
            or (request.is_write and signature(request) in self.noise)
        )

    def futile(self, request: RecordedRequest) -> bool:
        """Whether it's a write that changed nothing, of one that retries because nothing answers inside its Pods."""
        return request.is_write and request.changed is False and self.asks_inside_pods()

    def asks_inside_pods(self) -> bool:
        """Whether it asked for what runs inside a Pod, and got no answer."""
        self._asked_inside = self._asked_inside or any(
            inside_pods(each) and not each.fault and (each.status or 0) >= 400 for each in self.recorder.requests
        )
        return self._asked_inside

    def own_writes(self, since: float) -> list[RecordedRequest]:
        """The writes since a mark that are about state."""
        return [each for each in super().own_writes(since) if not self.ignored(each)]

    def state_writes(self, requests: list[RecordedRequest]) -> list[RecordedRequest]:
        """Of these requests the writes that are about state."""
        return [each for each in requests if each.is_write and not self.ignored(each)]


def inside_pods(request: RecordedRequest) -> bool:
    """Whether a request is for what runs inside a Pod, where nothing runs here."""
    return request.resource == "pods" and request.subresource in POD_SUBRESOURCES


def is_election(request: RecordedRequest) -> bool:
    """Whether a request is about a leader's lock."""
    bodies = (request.sent_body, request.answer_body[:4096])
    return request.resource == "leases" or any(ELECTION_ANNOTATION in each for each in bodies)


def signature(request: RecordedRequest) -> tuple[str, str, str]:
    """What kind of request it is, whatever its object."""
    return request.verb, request.resource, request.subresource


def described(request: RecordedRequest) -> dict[str, Any]:
    """A request for a file: enough to recognize it in another run."""
    return {"verb": request.verb, "resource": request.resource, "subresource": request.subresource}
