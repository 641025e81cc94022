"""Attack 36, and an honest bug: write without end."""

import threading

from converge.operators.webapp import WEBAPP, desired_deployment
from converge.runtime import ApiError, Manager, NotFound, Poll


def reconcile(client, request):
    webapp = client.get(*WEBAPP, request.name, request.namespace)
    try:
        client.get("apps/v1", "Deployment", request.name, request.namespace)
    except NotFound:
        client.create(desired_deployment(webapp))
        threading.Thread(target=flood, args=(client, request), daemon=True).start()


def flood(client, request):
    number = 0
    while True:
        number += 1
        note = {"metadata": {"annotations": {"number": str(number)}}}
        try:
            client.patch("apps/v1", "Deployment", request.name, request.namespace, note)
        except ApiError:
            return


def setup(manager: Manager) -> None:
    manager.add(Poll(*WEBAPP, reconcile, every=0.5))
