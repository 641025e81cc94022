"""What is created on the instructor's cluster for one run: an Indexed Job, and what belongs to it.

Submissions are in Secrets, many in each, and an index is a key. All Pods have the same volume of all of them, and a
container sees one file of it, its own: `subPathExpr` picks it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from converge.classroom.kubernetes.parcel import NO_JAIL
from converge.grader.course import CheckFacts

Object = dict[str, Any]

RUN = "converge.example/run"  # a label: which run an object belongs to
UPLOADED = "converge.example/uploaded"  # an annotation: the Job has all that it needs
QUEUE = "kueue.x-k8s.io/queue-name"
INDEX = "batch.kubernetes.io/job-completion-index"
CONTAINER = "grade"
PARCEL = "/submission"

LARGEST_PARCEL = 900 * 1024  # bytes: a Secret can have 1 MiB, names and all
LARGEST_JOB = 8 * LARGEST_PARCEL  # bytes, in at most 17 Secrets: each of its Pods mounts them all
TRIES_AGAIN = 2  # after a Pod failed by itself; one that was evicted doesn't count
KEEP_UNCOLLECTED_SECONDS = 7 * 24 * 3600  # seconds that a Job which no one collects stays after its end
IMAGE_USER = 1000  # of the image
# A control plane and a submission, which may have 2 GB before its jail ends it.
REQUESTS = {"cpu": "500m", "memory": "1536Mi", "ephemeral-storage": "1Gi"}
LIMITS = {"cpu": "2", "memory": "4Gi", "ephemeral-storage": "3Gi"}
SCRATCH = "2Gi"
# bubblewrap makes namespaces and mounts, which the usual profiles forbid to a container that isn't root.
FOR_THE_JAIL = {"seccompProfile": {"type": "Unconfined"}, "appArmorProfile": {"type": "Unconfined"}}


@dataclass(frozen=True)
class JobSettings:
    """What the instructor chooses."""

    namespace: str
    image: str
    parallelism: int
    queue: str = ""
    runtime_class: str = ""


def deadline(checks: Sequence[CheckFacts]) -> int:
    """Seconds for one Pod, much more than an honest submission takes on a busy node."""
    return 600 + round(3 * sum(check.timeout for check in checks))


def job(name: str, settings: JobSettings, completions: int, secrets: int, seconds: int) -> Object:
    """The Job, suspended until its Secrets are there; with a queue, Kueue decides when it begins."""
    labels = {RUN: name, **({QUEUE: settings.queue} if settings.queue else {})}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": settings.namespace, "labels": labels},
        "spec": {
            "completionMode": "Indexed",
            "completions": completions,
            "parallelism": min(settings.parallelism, completions),
            "suspend": True,
            "backoffLimitPerIndex": TRIES_AGAIN,
            "ttlSecondsAfterFinished": KEEP_UNCOLLECTED_SECONDS,
            "podReplacementPolicy": "Failed",  # two Pods never grade the same submission at once
            "podFailurePolicy": {
                "rules": [
                    # No Pod of this cluster can isolate a submission: end the Job rather than fail a thousand times.
                    {
                        "action": "FailJob",
                        "onExitCodes": {"containerName": CONTAINER, "operator": "In", "values": [NO_JAIL]},
                    },
                    # Evicted, preempted, drained, or lost with its node: grade it again, however often.
                    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                ]
            },
            "template": {
                "metadata": {
                    "labels": {RUN: name},
                    "annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"},
                },
                "spec": pod_spec(name, settings, secrets, seconds),
            },
        },
    }


def pod_spec(name: str, settings: JobSettings, secrets: int, seconds: int) -> Object:
    sources = [{"secret": {"name": secret_name(name, number)}} for number in range(secrets)]
    spec: Object = {
        "restartPolicy": "Never",
        "activeDeadlineSeconds": seconds,
        "terminationGracePeriodSeconds": 5,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {"runAsNonRoot": True, "runAsUser": IMAGE_USER, "runAsGroup": IMAGE_USER, **FOR_THE_JAIL},
        "containers": [
            {
                "name": CONTAINER,
                "image": settings.image,
                "imagePullPolicy": "IfNotPresent",
                "command": ["/opt/converge/bin/python", "-m", "converge.classroom.kubernetes.pod", PARCEL],
                "env": [
                    {"name": "HOME", "value": "/tmp"},
                    {"name": "CONVERGE_STATE", "value": "/tmp/converge"},
                    {"name": "PYTHONDONTWRITEBYTECODE", "value": "1"},
                ],
                "resources": {"requests": REQUESTS, "limits": LIMITS},
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                    "readOnlyRootFilesystem": True,
                    **({} if settings.runtime_class else {"procMount": "Unmasked"}),
                },
                "volumeMounts": [
                    {
                        "name": "submissions",
                        "mountPath": PARCEL,
                        "subPathExpr": "$(JOB_COMPLETION_INDEX)",
                        "readOnly": True,
                    },
                    {"name": "scratch", "mountPath": "/tmp"},
                ],
            }
        ],
        "volumes": [
            {"name": "submissions", "projected": {"sources": sources, "defaultMode": 0o444}},
            {"name": "scratch", "emptyDir": {"sizeLimit": SCRATCH}},
        ],
    }
    if settings.runtime_class:
        return {**spec, "runtimeClassName": settings.runtime_class}
    return {**spec, "hostUsers": False}  # the Pod's own user namespace: only then may it have a /proc of its own


def pod(name: str, settings: JobSettings, seconds: int) -> Object:
    """A Pod like those of the Job, to ask the server whether it would allow them."""
    metadata = {"name": f"{name}-probe", "namespace": settings.namespace, "labels": {RUN: name}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec(name, settings, 1, seconds)}


def secret_name(name: str, number: int) -> str:
    return f"{name}-{number}"


def packed(parcels: Sequence[bytes]) -> list[dict[str, bytes]]:
    """The parcels by index, so many in each as a Secret can hold."""
    found: list[dict[str, bytes]] = []
    room = 0
    for index, content in enumerate(parcels):
        if len(content) > room:
            found.append({})
            room = LARGEST_PARCEL
        found[-1][str(index)] = content
        room -= len(content)
    return found


def belongings(owner: Object, contents: Sequence[Mapping[str, bytes]]) -> Iterator[Object]:
    """What the Job needs, and what goes when it goes: the policy that cuts its network, and the submissions."""
    name, namespace = owner["metadata"]["name"], owner["metadata"]["namespace"]
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": owner["metadata"]["uid"]}

    def metadata(own_name: str) -> Object:
        return {"name": own_name, "namespace": namespace, "labels": {RUN: name}, "ownerReferences": [reference]}

    yield {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(name),
        "spec": {"podSelector": {"matchLabels": {RUN: name}}, "policyTypes": ["Ingress", "Egress"]},
    }
    for number, content in enumerate(contents):
        yield {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata(secret_name(name, number)),
            "immutable": True,
            "data": {key: base64.b64encode(value).decode() for key, value in content.items()},
        }
