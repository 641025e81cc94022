"""The operator that lesson 01 shows failing: it believes its own status. `01_loop.toml` runs it."""

from converge.operators.webapp import WEBAPP, desired_deployment
from converge.runtime import AlreadyExists, Client, Manager, NotFound, Poll, Request

DEPLOYMENT = ("apps/v1", "Deployment")


# --8<-- [start:reconcile]
def reconcile(client: Client, request: Request) -> None:
    try:
        webapp = client.get(*WEBAPP, request.name, request.namespace)
    except NotFound:
        return
    wanted = webapp["spec"]["replicas"]
    if webapp.get("status", {}).get("availableReplicas") == wanted:
        return  # spec and status agree: nothing to do
    try:
        deployment = client.create(desired_deployment(webapp))
    except AlreadyExists:
        deployment = client.get(*DEPLOYMENT, request.name, request.namespace)
    available = deployment.get("status", {}).get("availableReplicas", 0)
    report = {"status": {"availableReplicas": available}}
    client.patch(*WEBAPP, request.name, request.namespace, report, "merge", "status")
    # --8<-- [end:reconcile]


def setup(manager: Manager) -> None:
    manager.add(Poll(*WEBAPP, reconcile, every=0.5))
