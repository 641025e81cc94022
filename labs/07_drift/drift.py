"""Lab 07: an operator that corrects its own fields and leaves the rest alone.

Lesson:  docs/lessons/07_drift.md
Check:   make check LAB=07
Hint:    make hint LAB=07

A change of any field of the spec reaches the Deployment and the Service. What others have put there stays: labels and
annotations, an injected container, the clusterIP. While ``autoscaled`` is set, the number of replicas belongs to the
autoscaler: switching it on leaves the number as it is, switching it off brings back the number of the spec.
Nothing is written when there is nothing to change.
"""

from converge.operators.webapp import WEBAPP, desired_deployment, desired_service
from converge.runtime import Client, Invalid, Manager, NotFound, Object, Request, applied_fields

FIELD_MANAGER = "webapp-operator"  # how the API server knows which fields are ours


def desired_children(webapp: Object) -> list[Object]:
    """What ``webapp`` asks for. The fields named here are ours; the ones left out belong to others."""
    # TODO 1: the two builders of lesson 06 know every field of the spec but one.
    raise NotImplementedError("TODO 1: desired_children")


def ensure(client: Client, wanted: Object) -> Object:
    """Make the object match ``wanted`` and return it; write only if one of our fields isn't as wanted."""
    # TODO 2: get the object. ``applied_fields(live, FIELD_MANAGER)`` is the part of it that we own, as it is now.
    #         If that isn't ``wanted``, or there's no object, ``client.apply(wanted, FIELD_MANAGER, force=True)``.
    #         Then two traps: what happens to ``replicas`` when we own it and no longer ask for it? And what does the
    #         server make of our port when someone renumbers it by hand?
    raise NotImplementedError("TODO 2: ensure")


class WebAppReconciler:
    """Keeps the Deployment and the Service of each WebApp the way its spec says."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def reconcile(self, request: Request) -> None:
        """One pass: correct whatever is ours and not as wanted."""
        # TODO 3: as in lesson 06, using what you wrote above.
        raise NotImplementedError("TODO 3: reconcile")


def setup(manager: Manager) -> None:
    """Given: reconcile a WebApp when it or a child of the same name changes (lesson 08 has a better way)."""
    controller = manager.controller(WebAppReconciler(manager.client)).for_(*WEBAPP)
    for child in (("apps/v1", "Deployment"), ("v1", "Service")):
        controller.watches(*child, lambda obj: [Request(obj["metadata"]["namespace"], obj["metadata"]["name"])])
