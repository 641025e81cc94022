"""What a Job and its Pods say of themselves."""

from __future__ import annotations

from typing import Any

from converge.classroom.kubernetes.manifests import INDEX, Object

# What a Pod waits for that it won't get.
CANNOT_START = (
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "CreateContainerConfigError",
    "RunContainerError",
)


def is_finished(job: Object) -> bool:
    return any(each["type"] in ("Complete", "Failed") and each["status"] == "True" for each in conditions(job))


def failed_for(job: Object, reason: str) -> str:
    """What a Job that failed for this reason says about it."""
    failed = (each for each in conditions(job) if each["type"] == "Failed" and each["status"] == "True")
    return next((str(each.get("message", reason)) for each in failed if each.get("reason") == reason), "")


def conditions(of: Object) -> list[Any]:
    return of.get("status", {}).get("conditions") or []


def indexes(said: str) -> set[int]:
    """The numbers of `1,3-5`, which is how a Job lists indexes."""
    found: set[int] = set()
    for part in filter(None, said.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def index_of(pod: Object) -> int:
    return int(pod["metadata"].get("annotations", {}).get(INDEX, -1))


def created(pod: Object) -> str:
    return str(pod["metadata"].get("creationTimestamp", ""))


def states(pod: Object) -> list[Object]:
    return [each.get("state", {}) for each in pod.get("status", {}).get("containerStatuses") or []]


def exit_code(pod: Object) -> int | None:
    return next((state["terminated"].get("exitCode") for state in states(pod) if "terminated" in state), None)


def cannot_start(pod: Object) -> str:
    """Why a Pod hasn't started and won't by itself; empty if nothing is known to be wrong."""
    for state in states(pod):
        waiting = state.get("waiting", {})
        if waiting.get("reason") in CANNOT_START:
            return f"{waiting['reason']}: {waiting.get('message', '')}".strip(": ")
    for condition in conditions(pod):
        if condition["type"] == "PodScheduled" and condition.get("reason") == "Unschedulable":
            return str(condition.get("message", "no node has room for it"))
    return ""


def how_it_ended(pod: Object) -> str:
    """The end of a Pod in a few words: DeadlineExceeded, OOMKilled, exit code 1."""
    status = pod.get("status", {})
    ended: Object = next((state["terminated"] for state in states(pod) if "terminated" in state), {})
    words = [status.get("reason"), status.get("message"), ended.get("reason")]
    if "exitCode" in ended:
        words.append(f"exit code {ended['exitCode']}")
    return ", ".join(dict.fromkeys(str(word) for word in words if word)) or str(status.get("phase", "unknown"))
