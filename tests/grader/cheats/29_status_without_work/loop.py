"""Attack 29: report that all is well, and do nothing."""

from converge.operators.webapp import WEBAPP
from converge.runtime import Manager, Poll


def reconcile(client, request):
    webapp = client.get(*WEBAPP, request.name, request.namespace)
    status = {"status": {"availableReplicas": webapp["spec"]["replicas"]}}
    client.patch(*WEBAPP, request.name, request.namespace, status, subresource="status")


def setup(manager: Manager) -> None:
    manager.add(Poll(*WEBAPP, reconcile, every=0.5))
