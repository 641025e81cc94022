"""The operator that lesson 06 shows failing: it creates without looking, under names that it makes up."""

from converge.operators.webapp import WEBAPP, desired_deployment, desired_service
from converge.runtime import Client, Manager, Request


class WebAppReconciler:
    def __init__(self, client: Client) -> None:
        self.client = client

    # --8<-- [start:reconcile]
    def reconcile(self, request: Request) -> None:
        webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        deployment = desired_deployment(webapp)
        del deployment["metadata"]["name"]
        deployment["metadata"]["generateName"] = f"{request.name}-"  # the server adds a random ending
        self.client.create(deployment)
        self.client.create(desired_service(webapp))

    # --8<-- [end:reconcile]


def setup(manager: Manager) -> None:
    manager.controller(WebAppReconciler(manager.client)).for_(*WEBAPP)
