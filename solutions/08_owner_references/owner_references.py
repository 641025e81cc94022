"""Lab 08: an operator whose children go when their WebApp goes, and come back when only they are deleted.

Lesson:  docs/lessons/08_owner_references.md
Check:   make check LAB=08
Hint:    make hint LAB=08

The Deployment and the Service name their WebApp as their controller, and get that reference back when someone removes
it. An object of the same name that belongs to someone else is neither changed nor owned; a Warning Event about the
WebApp, or a condition on it, says so and names the object's kind. How to tell the two apart: an object with another
controller isn't yours. One without a controller is yours only if you made it, and then it has your field manager and
the labels of lesson 06's ``selector``. While a WebApp is being deleted, nothing is created for it.
"""

from converge.operators.webapp import FIELD_MANAGER, WEBAPP, NameTaken, desired_children, ensure
from converge.runtime import Client, EventRecorder, Manager, NotFound, Object, Request, Result, applied_fields


# --8<-- [start:reference]
def owner_reference(webapp: Object) -> Object:
    """What a child says about its owner. It has no namespace: an owner lives in the namespace of what it owns."""
    return {
        "apiVersion": webapp["apiVersion"],
        "kind": webapp["kind"],
        "name": webapp["metadata"]["name"],
        "uid": webapp["metadata"]["uid"],
        "controller": True,  # the one owner that manages it; others may keep it alive
        "blockOwnerDeletion": True,  # a foreground deletion of the WebApp waits for this child
    }


def controller_of(child: Object) -> Object | None:
    """Given: the reference to the one owner that manages ``child``, if there is one."""
    references = child["metadata"].get("ownerReferences", [])
    return next((each for each in references if each.get("controller")), None)


def is_controlled_by(child: Object, webapp: Object) -> bool:
    """Whether ``webapp`` manages ``child``. One that had this name yesterday was a different WebApp: check the uid."""
    controller = controller_of(child)
    return controller is not None and controller["uid"] == webapp["metadata"]["uid"]


# --8<-- [end:reference]


# --8<-- [start:ensure]
def ensure_owned(client: Client, webapp: Object, child: Object) -> Object:
    """Make ``child`` exist as ``webapp``'s own; raise `NameTaken` if its name belongs to someone else."""
    metadata = child["metadata"]
    try:
        live = client.get(child["apiVersion"], child["kind"], metadata["name"], metadata["namespace"])
    except NotFound:
        live = None
    if live is not None and not is_controlled_by(live, webapp):
        if other := controller_of(live):
            raise NameTaken(f"{child['kind']} {metadata['name']} is managed by {other['kind']} {other['name']}")
        if not applied_fields(live, FIELD_MANAGER):  # we never applied a field to it, so it was never ours
            raise NameTaken(f"{child['kind']} {metadata['name']} was made by someone else")
    metadata["ownerReferences"] = [owner_reference(webapp)]
    return ensure(client, child)


# --8<-- [end:ensure]


class WebAppReconciler:
    """Keeps the Deployment and the Service of each WebApp, and owns them."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.events = EventRecorder(client, "webapp-operator")

    # --8<-- [start:reconcile]
    def reconcile(self, request: Request) -> Result | None:
        """One pass: make every child exist, as wanted and as ours; report what belongs to someone else."""
        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        except NotFound:
            return None
        if "deletionTimestamp" in webapp["metadata"]:
            return None  # the garbage collector is at work: anything we create now, it has to delete again
        answer = None
        for child in desired_children(webapp):
            try:
                ensure_owned(self.client, webapp, child)
            except NameTaken as taken:
                self.events.event(webapp, "NameTaken", str(taken), type="Warning")
                answer = Result(requeue_after=30)  # a stranger's object that goes sends us no event
        return answer

    # --8<-- [end:reconcile]


# --8<-- [start:setup]
def setup(manager: Manager) -> None:
    """Reconcile a WebApp when it changes, and when a child that it controls changes."""
    controller = manager.controller(WebAppReconciler(manager.client)).for_(*WEBAPP)
    controller.owns("apps/v1", "Deployment").owns("v1", "Service")


# --8<-- [end:setup]
