"""The WebApp operator on converge.runtime.

python -m converge.runtime run benchmarks/operators/on_runtime.py -n NAMESPACE
"""

import children

from converge.runtime import AlreadyExists, Manager, Request
from converge.runtime.informers.predicates import generation_changed

WEBAPP = ("converge.example/v1", "WebApp")
WORKERS = 8


class WebAppReconciler:
    """Keeps a Deployment and a Service for each WebApp. Every read is from the manager's caches."""

    def __init__(self, manager: Manager) -> None:
        self.client = manager.client
        self.webapps = manager.cached(*WEBAPP)
        self.caches = {
            "Deployment": manager.cached("apps/v1", "Deployment"),
            "Service": manager.cached("v1", "Service"),
        }

    def reconcile(self, request: Request) -> None:
        app = self.webapps.get(request.name, request.namespace)
        if app is None or "deletionTimestamp" in app["metadata"]:
            return
        deployment = self.ensure(children.deployment(app))
        self.ensure(children.service(app))
        status = children.status(app, deployment)
        if status != app.get("status"):
            self.client.patch(*WEBAPP, request.name, request.namespace, {"status": status}, subresource="status")

    def ensure(self, wanted: children.Object) -> children.Object:
        """Create the child or make it what it should be; return it as it is now."""
        kind, name, namespace = wanted["kind"], wanted["metadata"]["name"], wanted["metadata"]["namespace"]
        found = self.caches[kind].get(name, namespace)
        if found is None:
            try:
                return self.client.create(wanted)
            except AlreadyExists:
                found = self.client.get(wanted["apiVersion"], kind, name, namespace)
        if children.contains(found, wanted):
            return found
        return self.client.patch(wanted["apiVersion"], kind, name, namespace, wanted, type="strategic")


def setup(manager: Manager) -> None:
    controller = manager.controller(WebAppReconciler(manager), workers=WORKERS)
    controller.for_(*WEBAPP, predicate=generation_changed).owns("apps/v1", "Deployment").owns("v1", "Service")
