"""Lists all Deployments with our label and picks the one it wants, and changes it by a JSON patch."""

from converge.operators.webapp import WEBAPP, desired_deployment
from converge.runtime import AlreadyExists, NotFound, Request

DEPLOYMENT = ("apps/v1", "Deployment")
OURS = ("app.kubernetes.io/name", "webapp")


class Operator:
    def __init__(self, client):
        self.client = client

    def reconcile(self, request):
        wanted = {}
        try:
            wanted[request.name] = desired_deployment(self.client.get(*WEBAPP, request.name, request.namespace))
        except NotFound:
            pass
        found = self.client.list(*DEPLOYMENT, request.namespace, label_selector="=".join(OURS))
        there = {each["metadata"]["name"]: each for each in found if each["metadata"]["name"] == request.name}
        for name in there.keys() - wanted.keys():
            try:
                self.client.delete(*DEPLOYMENT, name, request.namespace)
            except NotFound:
                pass
        for name in wanted.keys() - there.keys():
            try:
                self.client.create(wanted[name])
            except AlreadyExists:
                raise RuntimeError(f"a Deployment {name} without our labels is in the way") from None
        for name in wanted.keys() & there.keys():
            self.change(wanted[name], there[name])

    def change(self, wanted, there):
        index = [each["name"] for each in there["spec"]["template"]["spec"]["containers"]].index("web")
        image = wanted["spec"]["template"]["spec"]["containers"][0]["image"]
        patch = []
        if there["spec"]["replicas"] != wanted["spec"]["replicas"]:
            patch.append({"op": "replace", "path": "/spec/replicas", "value": wanted["spec"]["replicas"]})
        if there["spec"]["template"]["spec"]["containers"][index]["image"] != image:
            path = f"/spec/template/spec/containers/{index}/image"
            patch.append({"op": "replace", "path": path, "value": image})
        if patch:
            metadata = there["metadata"]
            self.client.patch(*DEPLOYMENT, metadata["name"], metadata["namespace"], patch, type="json")


def setup(manager):
    def owner(deployment):
        metadata = deployment["metadata"]
        ours = OURS in metadata.get("labels", {}).items()
        return [Request(metadata["namespace"], metadata["name"])] if ours else []

    manager.controller(Operator(manager.client), workers=1).for_(*WEBAPP).watches(*DEPLOYMENT, owner)
