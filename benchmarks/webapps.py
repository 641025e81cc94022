"""Making WebApps in numbers, and knowing when each has all that it should have.

``replicas`` is 0, so that no Pods are made: what is measured is the operator, not the scheduler and KWOK. A status is
right when it speaks of the newest generation and says of the Deployment what the Deployment says of itself: available
once the controller manager has seen it through, and rolling out until then.
"""

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from benchmarks.operators import children
from converge.runtime import Client

WEBAPP = ("converge.example/v1", "WebApp")
Object = children.Object


def create(client: Client, namespace: str, name: str) -> Object:
    """Create one WebApp."""
    return client.create(
        {
            "apiVersion": WEBAPP[0],
            "kind": WEBAPP[1],
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"image": "registry.example/web:1", "replicas": 0, "port": 8080, "labels": {"team": "shop"}},
        }
    )


def create_many(client: Client, namespace: str, count: int) -> list[Object]:
    """Create WebApps, several at a time."""
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(lambda number: create(client, namespace, f"app-{number:04}"), range(count)))


def reported(app: Object, available: bool | None = None) -> bool:
    """Whether the status speaks of the newest generation (and says that the WebApp is available, or is not)."""
    status = app.get("status") or {}
    condition = next((one for one in status.get("conditions", ()) if one["type"] == "Available"), None)
    generation = app["metadata"]["generation"]
    if condition is None or status.get("observedGeneration") != generation:
        return False
    return condition["observedGeneration"] == generation and available in (None, condition["status"] == "True")


def wait_for(
    client: Client, namespace: str, names: Iterable[str], since: str, available: bool | None, within: float
) -> float:
    """Follow the WebApps until all ``names`` have reported; return the time at which the last one did."""
    missing, deadline = set(names), time.monotonic() + within
    last = time.monotonic()
    while missing:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"{len(missing)} WebApps have no right status within {within:.0f} s")
        with client.watch(*WEBAPP, namespace, resource_version=since, timeout=min(left, 30)) as watch:
            for event in watch:
                since = event.object["metadata"]["resourceVersion"]
                if event.object["metadata"]["name"] in missing and reported(event.object, available):
                    missing.discard(event.object["metadata"]["name"])
                    last = time.monotonic()
                    if not missing:
                        break
    return last


def check(client: Client, namespace: str, count: int) -> None:
    """Fail unless every WebApp has its Deployment and its Service, and both are what they should be."""
    apps = client.list(*WEBAPP, namespace)
    deployments = {one["metadata"]["name"]: one for one in client.list("apps/v1", "Deployment", namespace)}
    services = {one["metadata"]["name"]: one for one in client.list("v1", "Service", namespace)}
    assert len(apps) >= count, f"{len(apps)} WebApps of {count}"
    for app in apps:
        name = app["metadata"]["name"]
        assert children.contains(deployments.get(name), children.deployment(app)), f"Deployment {name} is not right"
        assert children.contains(services.get(name), children.service(app)), f"Service {name} is not right"
        status = children.status(app, deployments[name])
        said = {"availableReplicas": 0, **app["status"]}  # Go leaves a zero out
        assert said == status, f"the status of {name} is {said}, not {status}"
