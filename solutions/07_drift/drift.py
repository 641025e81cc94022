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


# --8<-- [start:desired]
def desired_children(webapp: Object) -> list[Object]:
    """What ``webapp`` asks for. The fields named here are ours; the ones left out belong to others."""
    deployment = desired_deployment(webapp)
    if webapp["spec"].get("autoscaled"):
        del deployment["spec"]["replicas"]
    return [deployment, desired_service(webapp)]


# --8<-- [end:desired]


# --8<-- [start:ensure]
def ensure(client: Client, wanted: Object) -> Object:
    """Make the object match ``wanted`` and return it; write only if one of our fields isn't as wanted."""
    metadata = wanted["metadata"]
    try:
        live = client.get(wanted["apiVersion"], wanted["kind"], metadata["name"], metadata["namespace"])
    except NotFound:
        return client.apply(wanted, FIELD_MANAGER, force=True)
    ours = applied_fields(live, FIELD_MANAGER)
    if "replicas" in ours.get("spec", {}):
        # If we let go of a field that no one else owns, it falls back to its default, here 1.
        # So we keep asking for the value it has until someone takes it from us.
        wanted["spec"].setdefault("replicas", ours["spec"]["replicas"])
    if ours == wanted:
        return live
    try:
        return client.apply(wanted, FIELD_MANAGER, force=True)  # force: what we own stays ours if someone changed it
    except Invalid:
        if wanted["kind"] != "Service":
            raise
        # A port's key is its number and protocol. Someone who renumbers ours by hand has made a port of their own, and
        # ours next to it would have the same name. Only writing the list as a whole gets rid of theirs.
        ports = {"spec": {"ports": wanted["spec"]["ports"]}}
        return client.patch("v1", "Service", metadata["name"], metadata["namespace"], ports)


# --8<-- [end:ensure]


class WebAppReconciler:
    """Keeps the Deployment and the Service of each WebApp the way its spec says."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def reconcile(self, request: Request) -> None:
        """One pass: correct whatever is ours and not as wanted."""
        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        except NotFound:
            return
        for child in desired_children(webapp):
            ensure(self.client, child)


def setup(manager: Manager) -> None:
    """Given: reconcile a WebApp when it or a child of the same name changes (lesson 08 has a better way)."""
    controller = manager.controller(WebAppReconciler(manager.client)).for_(*WEBAPP)
    for child in (("apps/v1", "Deployment"), ("v1", "Service")):
        controller.watches(*child, lambda obj: [Request(obj["metadata"]["namespace"], obj["metadata"]["name"])])
