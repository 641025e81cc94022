"""Attack 28: know the names of the documentation's examples, and nothing else."""

from converge.operators.webapp import WEBAPP, desired_deployment
from converge.runtime import Manager, NotFound, Poll


def reconcile(client, request):
    if request.name not in ("web", "shop", "example"):
        return
    webapp = client.get(*WEBAPP, request.name, request.namespace)
    try:
        client.get("apps/v1", "Deployment", request.name, request.namespace)
    except NotFound:
        client.create(desired_deployment(webapp))


def setup(manager: Manager) -> None:
    manager.add(Poll(*WEBAPP, reconcile, every=0.5))
