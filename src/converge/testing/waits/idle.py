"""When is the world at rest? When no rollout is under way and the operator has stopped writing.

An operator that watches is at rest after a short quiet; one that polls, after it has looked twice more and found
nothing to do; one that does both, after either. That is evidence: nothing here waits for a time that was guessed.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from converge.testing.verdicts.evidence import counted
from converge.testing.verdicts.failure import Failure
from converge.testing.waits.deadlines import scaled
from converge.testing.waits.waiting import interruptions

if TYPE_CHECKING:
    from converge.recorder import RecordedRequest, Recorder
    from converge.testing.objects.namespace import Namespace
    from converge.testing.operator import Operator

QUIET = 0.3  # seconds without a write and without a change of a rollout
STOPPED = 2.0  # seconds after which nobody would say that it keeps writing
NO_MORE_WRITES = "no more writes, once the objects are as they should be"
UNSCHEDULABLE_FOR = timedelta(seconds=5)  # a claim that is about to be bound takes less
POLLS_AT_REST = 2  # lists of a poller after its last write


def wait_until_idle(operator: Operator, within: float, unless: Callable[[], bool] = lambda: False) -> bool:
    """Wait until rollouts are done and the operator is silent, counted from now at the earliest.

    False when `within` seconds were not enough, or as soon as `unless` says so.
    """
    deadline = time.monotonic() + scaled(within)
    called = operator.recorder.mark()
    before: Any = None
    still_since = time.monotonic()
    while True:
        rollouts = [state for each in operator.namespaces for state in states(each, operator.launch.workloads)]
        # One that polls is always about to look again, and on a busy machine always waiting for the processor.
        busy = operator.busy() and operator.recorder.watches()
        if rollouts != before or not all(done for _, done in rollouts) or busy:
            before, still_since = rollouts, time.monotonic()
        still = time.monotonic() - still_since >= operator.quiet
        if still and silent(operator.recorder, called, operator.quiet, operator.ignored, operator.futile):
            return True
        if unless() or time.monotonic() >= deadline:
            return False
        for interruption in interruptions:
            interruption()
        time.sleep(0.1)


def why_not_idle(operator: Operator, within: float) -> Failure:
    """Why there was no rest: a rollout that does not end, or an operator that does not stop."""
    writes = operator.recorder.writes()
    workloads = [
        each for namespace in operator.namespaces for kind in operator.launch.workloads for each in namespace.list(kind)
    ]
    rolling = [each for each in workloads if not rolled_out(each)]
    if rolling and not operator.recorder.since(operator.recorder.mark() - STOPPED).writes():
        got = "\n".join(["it has stopped writing, and these are not ready:", *map(progress, rolling)])
        hint = "`converge show` draws the run. A busy machine rolls out slowly: check again."
    else:
        got = "\n".join(["it kept writing; its last writes:", *counted([str(each) for each in writes])[-6:]])
        hint = "Write only when something differs from what it should be."
    return Failure(
        when=f"the operator was given {within:g} s to come to rest",
        expected=NO_MORE_WRITES,
        got=got if writes else "its objects never became ready",
        hint=hint,
    )


def progress(workload: dict[str, Any]) -> str:
    """How far a rollout is, in a line."""
    if workload["kind"] == "Job":
        return f"Job {workload['metadata']['name']}: it isn't over"
    ready, wanted = workload.get("status", {}).get("availableReplicas", 0), workload["spec"].get("replicas", 1)
    return f"{workload['kind']} {workload['metadata']['name']}: {ready} of {wanted} replicas available"


def renews(request: RecordedRequest) -> bool:
    """Whether it is about a Lease: a leader renews it for as long as it lives, so renewals don't count."""
    return request.resource == "leases"


def silent(
    recorder: Recorder,
    called: float,
    quiet: float = QUIET,
    ignored: Callable[[RecordedRequest], bool] = renews,
    futile: Callable[[RecordedRequest], bool] = lambda request: False,
) -> bool:
    """Whether the operator is idle: no requests for `quiet` seconds, or repeated reads without a write.

    Of an object about which a request is `ignored` no event counts either; `futile` requests alone don't count.
    """
    apart: set[tuple[str, str]] = set()
    asked = []
    for each in recorder.requests:
        if ignored(each):
            apart.add((each.resource, each.name))
        elif not each.is_watch and not futile(each):
            asked.append(each)
    writes = [each for each in asked if each.is_write]
    if any(map(under_way, writes)):
        return False
    events = (event.time for event in recorder.events if (event.resource, event.name) not in apart)
    since = max([called, *(each.last_moment for each in writes), *events])
    reads = [each for each in asked if not each.is_write and (each.last_moment > since or under_way(each))]
    now = recorder.mark()
    if not recorder.watches():
        looks = [each for each in reads if each.verb == "list" and each.time > since and not under_way(each)]
        return len(looks) > POLLS_AT_REST  # the first of them may belong to the very pass that wrote
    if not any(map(under_way, reads)) and now - max([since, *(each.last_moment for each in reads)]) >= quiet:
        return True
    # It watches and polls besides, so often that there is no pause.
    looks_at = Counter((each.verb, each.resource, each.name) for each in reads if each.resource)
    return now - since >= max(STOPPED, quiet) and max(looks_at.values(), default=0) > POLLS_AT_REST


def under_way(request: RecordedRequest) -> bool:
    return request.duration is None and not request.fault


def states(namespace: Namespace, kinds: Sequence[str]) -> list[tuple[str, bool]]:
    """Each rollout's version and whether it has come to its end, good or bad."""
    found = [each for kind in kinds for each in namespace.list(kind)]
    stuck = set() if all(map(rolled_out, found)) else held_up(namespace)
    return sorted(
        (
            each["metadata"]["uid"] + each["metadata"]["resourceVersion"],
            rolled_out(each) or each["metadata"]["uid"] in stuck,
        )
        for each in found
    )


def held_up(namespace: Namespace) -> set[str]:
    """The workloads with a Pod that cannot start: they have also come to their end."""
    owning = {owner for pod in namespace.list("Pod") if cannot_start(pod) for owner in owners(pod)}
    return owning.union(*(owners(each) for each in namespace.list("ReplicaSet") if each["metadata"]["uid"] in owning))


def rolled_out(workload: dict[str, Any]) -> bool:
    """Whether a Deployment or StatefulSet runs what its spec asks for, and nothing older; a Job, whether it's over."""
    spec, status = workload["spec"], workload.get("status", {})
    if workload["kind"] == "Job":
        over = [each["type"] for each in status.get("conditions", []) if each["status"] == "True"]
        return bool({"Complete", "Failed", "Suspended"} & set(over))
    if status.get("observedGeneration") != workload["metadata"]["generation"] or spec.get("paused"):
        return bool(spec.get("paused"))
    wanted = spec.get("replicas", 1)
    return all(status.get(count, 0) == wanted for count in ("replicas", "updatedReplicas", "availableReplicas"))


def cannot_start(pod: dict[str, Any]) -> bool:
    """Whether it's stuck: its image can't be had, it crashes, or no node takes it, and that not only for a moment."""
    for each in pod.get("status", {}).get("conditions", []):
        if each["type"] == "PodScheduled" and each["status"] == "False" and each.get("reason") == "Unschedulable":
            since = datetime.fromisoformat(each["lastTransitionTime"])
            return datetime.now(UTC) - since > UNSCHEDULABLE_FOR
    waiting = [each.get("state", {}).get("waiting", {}) for each in pod.get("status", {}).get("containerStatuses", [])]
    return any(each.get("reason") in ("ErrImagePull", "ImagePullBackOff", "CrashLoopBackOff") for each in waiting)


def owners(obj: dict[str, Any]) -> list[str]:
    return [reference["uid"] for reference in obj["metadata"].get("ownerReferences", [])]
