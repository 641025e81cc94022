"""The garbage collector removes what has no WebApp, server-side apply makes what has one."""

from converge.operators.webapp import WEBAPP, desired_deployment
from converge.runtime import NotFound, Request

DEPLOYMENT = ("apps/v1", "Deployment")


class Reconciler:
    def __init__(self, client):
        self.client = client

    def reconcile(self, request: Request):
        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        except NotFound:
            return
        wanted = desired_deployment(webapp)
        owner = {
            "apiVersion": webapp["apiVersion"],
            "kind": webapp["kind"],
            "name": request.name,
            "uid": webapp["metadata"]["uid"],
            "controller": True,
        }
        wanted["metadata"]["ownerReferences"] = [owner]
        try:
            there = self.client.get(*DEPLOYMENT, request.name, request.namespace)
        except NotFound:
            there = None
        if there is None or self.differ(there, wanted):
            self.client.apply(wanted, field_manager="webapp-operator", force=True)

    def differ(self, there, wanted):
        def essence(deployment):
            containers = deployment["spec"]["template"]["spec"]["containers"]
            owners = [each["uid"] for each in deployment["metadata"].get("ownerReferences", [])]
            return deployment["spec"]["replicas"], [each["image"] for each in containers], owners

        return essence(there) != essence(wanted)


def setup(manager):
    manager.controller(Reconciler(manager.client)).for_(*WEBAPP).owns(*DEPLOYMENT)
