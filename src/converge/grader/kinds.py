"""The kinds that checks speak of, each with its apiVersion."""

from __future__ import annotations

API_VERSIONS = {
    "WebApp": "converge.example/v1",
    "Database": "converge.example/v1",
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
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
}


def typed(kind: str) -> tuple[str, str]:
    """`("apps/v1", "Deployment")` for `"Deployment"`, as `Client`'s methods want it."""
    return API_VERSIONS[kind], kind
