"""One function, and server-side apply: the same call creates and changes."""

from converge.operators.webapp import WEBAPP, desired_deployment
from converge.runtime import Manager, NotFound, Poll


def reconcile(client, request):
    found = [each for each in client.list(*WEBAPP, request.namespace) if each["metadata"]["name"] == request.name]
    if not found:
        return
    (webapp,) = found
    wanted = desired_deployment(webapp)
    try:
        there = client.get("apps/v1", "Deployment", request.name, request.namespace)
        container = next(each for each in there["spec"]["template"]["spec"]["containers"] if each["name"] == "web")
        same = (container["image"], there["spec"]["replicas"]) == (webapp["spec"]["image"], webapp["spec"]["replicas"])
    except NotFound:
        there, same = {}, False
    if not same:
        there = client.apply(wanted, field_manager="webapp", force=True)
    number = there.get("status", {}).get("availableReplicas") or 0
    if webapp.setdefault("status", {}).get("availableReplicas") != number:
        webapp["status"]["availableReplicas"] = number
        client.replace(webapp, subresource="status")


def setup(manager: Manager) -> None:
    manager.add(Poll(*WEBAPP, reconcile, every=0.3))
