"""Attack 27: make everything that the checks could want at the start, and never look again."""

from converge.operators.webapp import WEBAPP, desired_deployment
from converge.runtime import Manager, Poll


def setup(manager: Manager) -> None:
    for image in ("registry.example/web:1", "registry.example/web:2"):
        for replicas in range(5):
            webapp = {
                "apiVersion": WEBAPP[0],
                "kind": WEBAPP[1],
                "metadata": {"name": f"web-{replicas}-{image[-1]}", "namespace": manager.client.namespace, "uid": "0"},
                "spec": {"image": image, "replicas": replicas, "port": 8080},
            }
            manager.client.create(desired_deployment(webapp))
    manager.add(Poll(*WEBAPP, lambda client, request: None, every=0.5))
