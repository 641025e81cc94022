"""Not polled at all: the runtime's controller calls the pass when something happens."""

from converge.operators.webapp import WEBAPP, ensure_deployment
from converge.runtime import NotFound, Request


class Loop:
    def __init__(self, client):
        self.client = client

    def reconcile(self, request):
        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        except NotFound:
            return
        available = ensure_deployment(self.client, webapp).get("status", {}).get("availableReplicas", 0)
        if webapp.get("status", {}).get("availableReplicas") != available:
            status = {"status": {"availableReplicas": available}}
            self.client.patch(*WEBAPP, request.name, request.namespace, status, subresource="status")


def setup(manager):
    def of_the_same_name(deployment):
        return [Request(deployment["metadata"]["namespace"], deployment["metadata"]["name"])]

    controller = manager.controller(Loop(manager.client)).for_(*WEBAPP)
    controller.watches("apps/v1", "Deployment", of_the_same_name)
