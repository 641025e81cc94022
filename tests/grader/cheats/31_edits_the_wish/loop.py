"""Attack 31: make the wish fit the world: edit or delete the user's objects."""

import contextlib

from converge.operators.webapp import WEBAPP, desired_deployment
from converge.runtime import ApiError, Manager, NotFound, Poll

SMALL = {"spec": {"replicas": 1, "image": "registry.example/web:0"}}


def reconcile(client, request):
    with contextlib.suppress(ApiError):
        client.delete("v1", "Namespace", request.namespace, None)
    with contextlib.suppress(ApiError):
        client.delete(*WEBAPP, request.name, request.namespace)
    webapp = client.patch(*WEBAPP, request.name, request.namespace, SMALL)
    try:
        client.get("apps/v1", "Deployment", request.name, request.namespace)
    except NotFound:
        client.create(desired_deployment(webapp))


def setup(manager: Manager) -> None:
    manager.add(Poll(*WEBAPP, reconcile, every=0.5))
