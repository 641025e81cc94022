"""The operator that lesson 12 shows failing: it tidies up when it hears that the WebApp is gone."""

from typing import Any

from converge.operators.records import Records
from converge.operators.webapp import WEBAPP
from converge.runtime import Client, Manager, NotFound, Request


class WebAppReconciler:
    def __init__(self, client: Client) -> None:
        self.client = client
        self.records = Records()
        self.known: dict[Request, dict[str, Any]] = {}

    # --8<-- [start:reconcile]
    def reconcile(self, request: Request) -> None:
        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        except NotFound:  # it was deleted: handle cleanup
            if request in self.known:
                webapp = self.known.pop(request)
                self.records.delete(webapp["spec"]["register"])
            return
        self.known[request] = webapp
        self.records.put(webapp["spec"]["register"], {"owner": webapp["metadata"]["uid"]})

    # --8<-- [end:reconcile]


def setup(manager: Manager) -> None:
    manager.controller(WebAppReconciler(manager.client)).for_(*WEBAPP)
