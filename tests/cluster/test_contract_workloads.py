"""What every cluster of the course does with workloads. Pods are real or played; what is seen of them is the same."""

import pytest
from contract import Object, is_gone, pod_template

from converge.cluster import Cluster
from converge.cluster.bootstrap import until
from converge.runtime import Client

DEPLOYMENT, STATEFUL_SET = ("apps/v1", "Deployment"), ("apps/v1", "StatefulSet")
SELECTOR = {"matchLabels": {"app": "contract"}}
WITHIN = 60.0


def deployment(namespace: str, image: str, replicas: int = 2) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {"replicas": replicas, "selector": SELECTOR, "template": pod_template(image)},
    }


def is_rolled_out(client: Client, namespace: str, replicas: int) -> bool:
    seen = client.get(*DEPLOYMENT, "web", namespace)
    status = seen["status"]
    counts = {status.get(key, 0) for key in ("replicas", "updatedReplicas", "availableReplicas")}
    return status.get("observedGeneration") == seen["metadata"]["generation"] and counts == {replicas}


def test_a_deployment_rolls_from_one_image_to_another(cluster: Cluster, client: Client, namespace: str) -> None:
    first, second = cluster.images.web
    client.create(deployment(namespace, first))
    until("the first rollout", lambda: is_rolled_out(client, namespace, 2), WITHIN)
    client.patch(*DEPLOYMENT, "web", namespace, {"spec": {"template": pod_template(second)}})
    until("the second rollout", lambda: is_rolled_out(client, namespace, 2), WITHIN)
    sets = client.list("apps/v1", "ReplicaSet", namespace)
    images = {one["spec"]["template"]["spec"]["containers"][0]["image"]: one["spec"]["replicas"] for one in sets}
    assert images == {first: 0, second: 2}
    available = {c["type"]: c["status"] for c in client.get(*DEPLOYMENT, "web", namespace)["status"]["conditions"]}
    assert available["Available"] == "True"


def test_a_service_knows_its_ready_pods(cluster: Cluster, client: Client, namespace: str) -> None:
    client.create(deployment(namespace, cluster.images.web[0]))
    spec = {"selector": SELECTOR["matchLabels"], "ports": [{"port": 80, "targetPort": 8080}]}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": namespace}, "spec": spec}
    assert client.create(service)["spec"]["clusterIP"]

    def ready() -> int:
        slices = client.list("discovery.k8s.io/v1", "EndpointSlice", namespace)
        return sum(bool(end["conditions"]["ready"]) for one in slices for end in one.get("endpoints") or [])

    until("two ready endpoints", lambda: ready() == 2, WITHIN)


def test_an_image_that_cannot_be_pulled_keeps_pods_waiting(cluster: Cluster, client: Client, namespace: str) -> None:
    client.create(deployment(namespace, cluster.images.bad, replicas=1))

    def reason() -> str:
        pods = client.list("v1", "Pod", namespace)
        states = [one["state"] for pod in pods for one in pod["status"].get("containerStatuses") or []]
        return states[0].get("waiting", {}).get("reason", "") if states else ""

    until("a failed pull", lambda: reason() in ("ErrImagePull", "ImagePullBackOff"), WITHIN)
    status = client.get(*DEPLOYMENT, "web", namespace)["status"]
    assert status["unavailableReplicas"] == 1
    assert {c["type"]: c["status"] for c in status["conditions"]}["Available"] == "False"


def test_a_stateful_set_starts_in_order_and_keeps_its_claims(cluster: Cluster, client: Client, namespace: str) -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "16Mi"}}},
    }
    mount = {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    spec = {
        "serviceName": "db",
        "replicas": 3,
        "selector": SELECTOR,
        "template": pod_template(cluster.images.web[0], **mount),
        "volumeClaimTemplates": [claim],
    }
    start = client.list("v1", "Pod", namespace).resource_version
    client.create(
        {
            "apiVersion": STATEFUL_SET[0],
            "kind": STATEFUL_SET[1],
            "metadata": {"name": "db", "namespace": namespace},
            "spec": spec,
        }
    )
    until("three ready Pods", lambda: _ready_replicas(client, namespace) == 3, WITHIN)
    assert _appearances(client, namespace, start) == ["db-0", "db-0 ready", "db-1", "db-1 ready", "db-2", "db-2 ready"]
    claims = {one["metadata"]["name"]: one["status"]["phase"] for one in client.list(*_CLAIM, namespace)}
    assert claims == {"data-db-0": "Bound", "data-db-1": "Bound", "data-db-2": "Bound"}
    client.patch(*STATEFUL_SET, "db", namespace, {"spec": {"replicas": 1}})
    until("the end of db-1", lambda: is_gone(client, "v1", "Pod", "db-1", namespace), WITHIN)
    assert is_gone(client, "v1", "Pod", "db-2", namespace), "the highest goes first"
    assert len(client.list(*_CLAIM, namespace)) == 3, "claims stay"


_CLAIM = ("v1", "PersistentVolumeClaim")


def _ready_replicas(client: Client, namespace: str) -> int:
    return int(client.get(*STATEFUL_SET, "db", namespace)["status"].get("readyReplicas", 0))


def _appearances(client: Client, namespace: str, start: str) -> list[str]:
    """When each Pod was first seen and when it was first Ready, in the order of the history since ``start``."""
    order: list[str] = []
    with client.watch("v1", "Pod", namespace, resource_version=start, timeout=30) as watch:
        for event in watch:
            name = event.object["metadata"]["name"]
            conditions = {c["type"]: c["status"] for c in event.object["status"].get("conditions") or []}
            for step in [name, *([f"{name} ready"] if conditions.get("Ready") == "True" else [])]:
                if step not in order:
                    order.append(step)
            if len(order) == 6:
                break
    return order


def test_a_job_completes(cluster: Cluster, client: Client, namespace: str) -> None:
    template = pod_template(cluster.images.web[0], command=["true"])
    template["spec"]["restartPolicy"] = "Never"
    place = {"name": "once", "namespace": namespace}
    client.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": place, "spec": {"template": template}})

    def conditions() -> dict[str, str]:
        status = client.get("batch/v1", "Job", "once", namespace)["status"]
        return {c["type"]: c["status"] for c in status.get("conditions") or []}

    until("the Job's end", lambda: conditions().get("Complete") == "True", WITHIN)
    assert client.get("batch/v1", "Job", "once", namespace)["status"]["succeeded"] == 1


def test_a_pod_that_is_deleted_goes(cluster: Cluster, client: Client, namespace: str) -> None:
    until("the ServiceAccount", lambda: bool(client.get("v1", "ServiceAccount", "default", namespace)), WITHIN)
    pod = pod_template(cluster.images.web[0])
    client.create({"apiVersion": "v1", "kind": "Pod", **pod, "metadata": {"name": "one", "namespace": namespace}})
    until("a running Pod", lambda: client.get("v1", "Pod", "one", namespace)["status"]["phase"] == "Running", WITHIN)
    client.delete("v1", "Pod", "one", namespace)
    until("the Pod's end", lambda: is_gone(client, "v1", "Pod", "one", namespace), WITHIN)


def test_an_autoscaler_is_kept_with_its_defaults(client: Client, namespace: str) -> None:
    target = {"apiVersion": "converge.example/v1", "kind": "WebApp", "name": "web"}
    made = client.create(
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web", "namespace": namespace},
            "spec": {"scaleTargetRef": target, "maxReplicas": 4},
        }
    )
    assert made["spec"]["minReplicas"] == 1
    assert made["spec"]["metrics"][0]["resource"]["name"] == "cpu"


@pytest.mark.parametrize(
    ("spec", "types"),
    [({"podSelector": {}}, ["Ingress"]), ({"podSelector": {}, "egress": [{}]}, ["Ingress", "Egress"])],
    ids=["ingress", "egress"],
)
def test_a_network_policy_is_kept_with_its_defaults(
    client: Client, namespace: str, spec: Object, types: list[str]
) -> None:
    place = {"name": "closed", "namespace": namespace}
    policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": place, "spec": spec}
    assert client.create(policy)["spec"]["policyTypes"] == types
