"""The WebApp operator, edge-triggered: what lesson 02 starts from. It works on a good day.

An event says what happened, and the operator does the same to the Deployment: added, so create; modified, so
change; deleted, so delete. How many Pods there are it knows from its own count. It is run like any other operator:
``python -m converge.runtime run src/converge/operators/edge.py``.
"""

import logging
import threading

from converge.operators.webapp import WEBAPP, desired_deployment
from converge.runtime import AlreadyExists, Client, Manager, Poll, WatchEvent

log = logging.getLogger("converge.operators.edge")

DEPLOYMENT = ("apps/v1", "Deployment")

# --8<-- [start:handle]
pods: dict[str, int] = {}  # how many Pods each WebApp has, by our own count


def handle(client: Client, event: WatchEvent) -> None:
    """Do to the Deployment what happened to the WebApp."""
    name, namespace = event.object["metadata"]["name"], event.object["metadata"]["namespace"]
    desired = desired_deployment(event.object)
    wanted = desired["spec"]["replicas"]
    if event.type == "ADDED":
        try:
            client.create(desired)
        except AlreadyExists:
            pass  # we were restarted, and made it before
        pods[name] = wanted
    elif event.type == "MODIFIED":
        running = client.get(*DEPLOYMENT, name, namespace)["spec"]["replicas"]
        desired["spec"]["replicas"] = running + wanted - pods[name]  # more or fewer, by as many as were asked for
        client.patch(*DEPLOYMENT, name, namespace, desired, type="strategic")
        pods[name] = wanted
    elif event.type == "DELETED":
        client.delete(*DEPLOYMENT, name, namespace)
        del pods[name]


# --8<-- [end:handle]


class Follow(Poll):
    """Listens where `Poll` asks: one pass is one watch, and each of its events is handled as it comes."""

    def __init__(self) -> None:
        super().__init__(*WEBAPP, lambda client, request: None)

    def one_pass(self, client: Client, stopping: threading.Event, namespace: str | None = None) -> None:
        for event in client.watch(self.api_version, self.kind, namespace):
            try:
                handle(client, event)
            except Exception as error:  # a lost event is better than a dead operator
                log.error("%s %s: %s: %s", event.type, event.object["metadata"]["name"], type(error).__name__, error)


def setup(manager: Manager) -> None:
    """Handle each event of a WebApp."""
    manager.add(Follow())
