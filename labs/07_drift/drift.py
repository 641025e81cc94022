"""Lab 07: an operator that mends what is its own and leaves the rest alone.

Lesson:  docs/lessons/07_drift.md
Check:   make check LAB=07
Hint:    make hint LAB=07

A change of any field of the spec reaches the Deployment and the Service. What somebody else has put there stays:
labels and annotations, a container that was injected, the clusterIP. When ``autoscaled`` is set the number of replicas
is somebody else's as well, and it stays as it is at the moment when ``autoscaled`` is switched on.
Nothing is written when there is nothing to change.
"""

from converge.runtime import Client, Invalid, Manager, NotFound, Object, Request, applied_fields
from converge.webapp import WEBAPP, desired_deployment, desired_service

FIELD_MANAGER = "webapp-operator"  # how the API server knows which fields are ours


def desired_children(webapp: Object) -> list[Object]:
    """What ``webapp`` asks for. A field that is named here is ours; one that is left out is somebody else's."""
    # TODO 1: the two builders of lesson 06 know every field of the spec but one.
    raise NotImplementedError("TODO 1: desired_children")


def ensure(client: Client, wanted: Object) -> Object:
    """Make ``wanted`` true of its object and return the object; write only if something of ours is not as wanted."""
    # TODO 2: get the object. ``applied_fields(live, FIELD_MANAGER)`` is the part of it that we own, as it is now.
    #         If that is not ``wanted``, or nothing is there, ``client.apply(wanted, FIELD_MANAGER, force=True)``.
    #         Then two traps: what becomes of ``replicas`` when we own it and no longer ask for it? And what does the
    #         server make of our port when somebody has renumbered it by hand?
    raise NotImplementedError("TODO 2: ensure")


class WebAppReconciler:
    """Keeps the Deployment and the Service of each WebApp as its spec says."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def reconcile(self, request: Request) -> None:
        """One pass: whatever is ours and not as wanted is mended."""
        # TODO 3: as in lesson 06, with what you have written above.
        raise NotImplementedError("TODO 3: reconcile")


def setup(manager: Manager) -> None:
    """Given: reconcile a WebApp when it, or a child of the same name, changes (lesson 08 has a better way)."""
    controller = manager.controller(WebAppReconciler(manager.client)).for_(*WEBAPP)
    for child in (("apps/v1", "Deployment"), ("v1", "Service")):
        controller.watches(*child, lambda obj: [Request(obj["metadata"]["namespace"], obj["metadata"]["name"])])
