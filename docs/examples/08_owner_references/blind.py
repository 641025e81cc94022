"""The operator that lesson 08 shows failing: its children have owners; that an owner is going it does not see."""

from converge.operators.webapp import WEBAPP, desired_children, ensure, owner_reference
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
        for child in desired_children(webapp):
            child["metadata"]["ownerReferences"] = [owner_reference(webapp)]
            ensure(self.client, child)

    # --8<-- [end:reconcile]


def setup(manager: Manager) -> None:
    controller = manager.controller(WebAppReconciler(manager.client)).for_(*WEBAPP)
    controller.owns("apps/v1", "Deployment").owns("v1", "Service")
