"""No watch at all: names from both sides, three times a second, as in lesson 01."""

from converge.operators.webapp import WEBAPP, ensure_deployment
from converge.runtime import NotFound, Poll

DEPLOYMENT = ("apps/v1", "Deployment")


def reconcile(client, request):
    try:
        webapp = client.get(*WEBAPP, request.name, request.namespace)
    except NotFound:
        remove(client, request)
        return
    ensure_deployment(client, webapp)


def remove(client, request):
    try:
        there = client.get(*DEPLOYMENT, request.name, request.namespace)
        if there["metadata"].get("labels", {}).get("app.kubernetes.io/name") == "webapp":
            client.delete(*DEPLOYMENT, request.name, request.namespace, uid=there["metadata"]["uid"])
    except NotFound:
        return


def setup(manager):
    manager.add(Poll(*WEBAPP, reconcile, every=0.3))
    manager.add(Poll(*DEPLOYMENT, reconcile, every=0.3))
