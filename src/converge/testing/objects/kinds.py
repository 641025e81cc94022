"""The kinds that tests speak of by name, each with its apiVersion."""

from __future__ import annotations

_API_VERSIONS = {
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
    "Service": "v1",
    "Secret": "v1",
    "ConfigMap": "v1",
    "Pod": "v1",
    "PersistentVolumeClaim": "v1",
    "Event": "v1",
    "Namespace": "v1",
    "ServiceAccount": "v1",
    "EndpointSlice": "discovery.k8s.io/v1",
    "Lease": "coordination.k8s.io/v1",
    "Role": "rbac.authorization.k8s.io/v1",
    "RoleBinding": "rbac.authorization.k8s.io/v1",
    "HorizontalPodAutoscaler": "autoscaling/v2",
    "PodDisruptionBudget": "policy/v1",
    "NetworkPolicy": "networking.k8s.io/v1",
    "Ingress": "networking.k8s.io/v1",
}
_CUSTOM: set[str] = set()


def register(api_version: str, kind: str) -> None:
    """Let tests speak of a custom resource by its kind alone."""
    _API_VERSIONS[kind] = api_version
    _CUSTOM.add(kind)


def remember(api_version: str, kind: str) -> None:
    """Let tests speak of a kind of the cluster that a manifest has named."""
    _API_VERSIONS.setdefault(kind, api_version)


def custom_kinds() -> list[str]:
    """The kinds that were registered."""
    return sorted(_CUSTOM)


def typed(kind: str) -> tuple[str, str]:
    """`("apps/v1", "Deployment")` for `"Deployment"`, as `Client`'s methods want it."""
    if kind not in _API_VERSIONS:
        raise LookupError(f"no kind {kind} is known here: is its CustomResourceDefinition among the CRDs?")
    return _API_VERSIONS[kind], kind
