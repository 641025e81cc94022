"""The operator that lesson 07 shows failing: it compares whole specs, and writes the whole of its own."""

from converge.operators.webapp import WEBAPP, desired_deployment, desired_service
from converge.runtime import Client, Manager, NotFound, Request


class WebAppReconciler:
    def __init__(self, client: Client) -> None:
        self.client = client

    # --8<-- [start:reconcile]
    def reconcile(self, request: Request) -> None:
        webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        deployment = desired_deployment(webapp)
        if webapp["spec"]["autoscaled"]:
            del deployment["spec"]["replicas"]  # the autoscaler's business
        for wanted in (deployment, desired_service(webapp)):
            try:
                live = self.client.get(wanted["apiVersion"], wanted["kind"], request.name, request.namespace)
            except NotFound:
                self.client.create(wanted)
            else:
                if live["spec"] != wanted["spec"]:
                    live["spec"] = wanted["spec"]
                    self.client.replace(live)

    # --8<-- [end:reconcile]


def setup(manager: Manager) -> None:
    controller = manager.controller(WebAppReconciler(manager.client)).for_(*WEBAPP)
    for child in (("apps/v1", "Deployment"), ("v1", "Service")):
        controller.watches(*child, lambda obj: [Request(obj["metadata"]["namespace"], obj["metadata"]["name"])])
