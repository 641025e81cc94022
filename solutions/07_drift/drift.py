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


# --8<-- [start:desired]
def desired_children(webapp: Object) -> list[Object]:
    """What ``webapp`` asks for. A field that is named here is ours; one that is left out is somebody else's."""
    deployment = desired_deployment(webapp)
    if webapp["spec"].get("autoscaled"):
        del deployment["spec"]["replicas"]
    return [deployment, desired_service(webapp)]


# --8<-- [end:desired]


# --8<-- [start:ensure]
def ensure(client: Client, wanted: Object) -> Object:
    """Make ``wanted`` true of its object and return the object; write only if something of ours is not as wanted."""
    metadata = wanted["metadata"]
    try:
        live = client.get(wanted["apiVersion"], wanted["kind"], metadata["name"], metadata["namespace"])
    except NotFound:
        return client.apply(wanted, FIELD_MANAGER, force=True)
    ours = applied_fields(live, FIELD_MANAGER)
    if "replicas" in ours.get("spec", {}):
        # A field that we let go of and that nobody else owns falls back to its default, here 1.
        # So we keep it at the value it has until somebody takes it from us.
        wanted["spec"].setdefault("replicas", ours["spec"]["replicas"])
    if ours == wanted:
        return live
    try:
        return client.apply(wanted, FIELD_MANAGER, force=True)  # force: what we own is ours again, whoever changed it
    except Invalid:
        if wanted["kind"] != "Service":
            raise
        # The key of a port is its number: who renumbers ours by hand has made one of their own, and ours beside it
        # would have the same name. Only a write of the list as a whole gets rid of theirs.
        ports = {"spec": {"ports": wanted["spec"]["ports"]}}
        return client.patch("v1", "Service", metadata["name"], metadata["namespace"], ports)


# --8<-- [end:ensure]


class WebAppReconciler:
    """Keeps the Deployment and the Service of each WebApp as its spec says."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def reconcile(self, request: Request) -> None:
        """One pass: whatever is ours and not as wanted is mended."""
        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        except NotFound:
            return
        for child in desired_children(webapp):
            ensure(self.client, child)


def setup(manager: Manager) -> None:
    """Given: reconcile a WebApp when it, or a child of the same name, changes (lesson 08 has a better way)."""
    controller = manager.controller(WebAppReconciler(manager.client)).for_(*WEBAPP)
    for child in (("apps/v1", "Deployment"), ("v1", "Service")):
        controller.watches(*child, lambda obj: [Request(obj["metadata"]["namespace"], obj["metadata"]["name"])])
