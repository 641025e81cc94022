"""The operator that lesson 10 shows failing: after a 409 it writes its old object again, with the newest version."""

from converge.operators.lessons import lesson
from converge.operators.webapp import WEBAPP
from converge.runtime import Client, Conflict, Manager, NotFound, Request

desk = lesson("10_conflicts")


class WebAppReconciler:
    def __init__(self, client: Client) -> None:
        self.client = client

    # --8<-- [start:reconcile]
    def reconcile(self, request: Request) -> None:
        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
            before = str(webapp)
            desk.serve_tickets(webapp)
            while str(webapp) != before:
                try:
                    self.client.replace(webapp)
                    return
                except Conflict:
                    newest = self.client.get(*WEBAPP, request.name, request.namespace)
                    webapp["metadata"]["resourceVersion"] = newest["metadata"]["resourceVersion"]
        except NotFound:
            return

    # --8<-- [end:reconcile]


def setup(manager: Manager) -> None:
    manager.controller(WebAppReconciler(manager.client)).for_(*WEBAPP)
