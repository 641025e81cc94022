"""A class, get-change-replace with the version that was read, and a JSON patch for the status."""

from converge.operators.webapp import WEBAPP, desired_deployment
from converge.runtime import AlreadyExists, Conflict, Manager, NotFound, Poll

DEPLOYMENT = ("apps/v1", "Deployment")


class Pass:
    def __init__(self, client, request):
        self.client, self.where = client, (request.name, request.namespace)

    def fetch(self, api_version, kind):
        try:
            return self.client.get(api_version, kind, *self.where)
        except NotFound:
            return None

    def run(self):
        webapp = self.fetch(*WEBAPP)
        if webapp is None:
            return
        deployment = self.bring(desired_deployment(webapp), self.fetch(*DEPLOYMENT))
        available = deployment.get("status", {}).get("availableReplicas", 0)
        if webapp.get("status", {}).get("availableReplicas", 0) != available:
            value = {**webapp.get("status", {}), "availableReplicas": available}
            patch = [{"op": "add", "path": "/status", "value": value}]
            self.client.patch(*WEBAPP, *self.where, patch, type="json", subresource="status")

    def bring(self, wanted, there):
        if there is None:
            try:
                return self.client.create(wanted)
            except AlreadyExists:
                return self.fetch(*DEPLOYMENT) or {}
        before = str(there["spec"])
        there["spec"]["replicas"] = wanted["spec"]["replicas"]
        for container in there["spec"]["template"]["spec"]["containers"]:
            if container["name"] == "web":
                container["image"] = wanted["spec"]["template"]["spec"]["containers"][0]["image"]
        if str(there["spec"]) == before:
            return there
        try:
            return self.client.replace(there)
        except Conflict:
            return there  # someone was faster; the next pass looks again


def setup(manager: Manager) -> None:
    manager.add(Poll(*WEBAPP, lambda client, request: Pass(client, request).run()))
