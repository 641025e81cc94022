"""No cache at all: the WebApp is read from the server, and each lesson's own part does the rest."""

from converge.operators.webapp import WEBAPP, assess, desired_children, ensure_owned, report
from converge.runtime import Manager, NotFound, Request


class WebAppReconciler:
    def __init__(self, manager: Manager) -> None:
        self.client = manager.client

    def reconcile(self, request: Request) -> None:
        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        except NotFound:
            return
        if "deletionTimestamp" in webapp["metadata"]:
            return
        deployment, _ = [ensure_owned(self.client, webapp, child) for child in desired_children(webapp)]
        report(self.client, webapp, assess(webapp, deployment))


def setup(manager: Manager) -> None:
    controller = manager.controller(WebAppReconciler(manager)).for_(*WEBAPP)
    controller.owns("apps/v1", "Deployment").owns("v1", "Service")
