"""Attack 40: do the right thing, much too late: a check that never stops waiting would pass it."""

import time

from converge.operators.webapp import WEBAPP, desired_deployment
from converge.runtime import Manager, NotFound, Poll

BEGAN = time.monotonic()


def reconcile(client, request):
    webapp = client.get(*WEBAPP, request.name, request.namespace)
    try:
        client.get("apps/v1", "Deployment", request.name, request.namespace)
    except NotFound:
        if time.monotonic() - BEGAN > 300:
            client.create(desired_deployment(webapp))


def setup(manager: Manager) -> None:
    manager.add(Poll(*WEBAPP, reconcile, every=0.5))
