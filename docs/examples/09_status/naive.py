"""The operator that lesson 09 shows failing: it counts available replicas, and calls that ready."""

from converge.operators.webapp import WEBAPP, condition, desired_children, ensure_owned, report
from converge.runtime import Client, Manager, NotFound, Request


class WebAppReconciler:
    def __init__(self, client: Client) -> None:
        self.client = client

    # --8<-- [start:reconcile]
    def reconcile(self, request: Request) -> None:
        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        except NotFound:
            return
        deployment, _ = [ensure_owned(self.client, webapp, child) for child in desired_children(webapp)]
        available = deployment.get("status", {}).get("availableReplicas", 0)
        ready = available == webapp["spec"]["replicas"]
        status = {
            "observedGeneration": webapp["metadata"]["generation"],
            "availableReplicas": available,
            "conditions": [condition(webapp, "Available", ready, "Counted", f"{available} replicas are available")],
        }
        report(self.client, webapp, status)

    # --8<-- [end:reconcile]


def setup(manager: Manager) -> None:
    controller = manager.controller(WebAppReconciler(manager.client)).for_(*WEBAPP)
    controller.owns("apps/v1", "Deployment").owns("v1", "Service")
