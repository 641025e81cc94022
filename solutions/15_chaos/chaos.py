"""Lab 15: five bugs.

Lesson:  docs/lessons/15_chaos.md
Check:   make check LAB=15
Hint:    make hint LAB=15

Nothing is left out here. This operator gives each WebApp a Deployment and a Service, follows every change of the spec,
leaves alone what others have put there, reports as lesson 09 does, and takes both away with the WebApp: on a good day.
There are five bugs in it, each of another kind: a state between two writes, a read that is old, an event that nobody
saw, a path through the specs, a lost update. Let the checks attack it, read the timelines, and mend it as you like.
"""

from converge.runtime import Manager, Object, Request
from converge.webapp import WEBAPP, assess, desired_children, ensure, owner_reference

DEPLOYMENT, SERVICE = ("apps/v1", "Deployment"), ("v1", "Service")


class WebAppReconciler:
    """Keeps the Deployment, the Service and the status of each WebApp as its spec says."""

    def __init__(self, manager: Manager) -> None:
        self.client = manager.client
        self.webapps = manager.cached(*WEBAPP)  # it may be old, so nothing below may do harm if it is

    # --8<-- [start:reconcile]
    def reconcile(self, request: Request) -> None:
        """Bring the children of one WebApp to where they should be, and say in its status how far they are."""
        webapp = self.webapps.get(request.name, request.namespace)
        if webapp is None or "deletionTimestamp" in webapp["metadata"]:
            return  # an old cache, perhaps. The garbage collector asks the server before it deletes anything.
        deployment, service = desired_children(webapp)
        for child in (deployment, service):  # each by itself: no matter what became of the other
            child["metadata"]["ownerReferences"] = [owner_reference(webapp)]
        # What we asked for earlier and ask for no longer, the server removes: it knows, whoever was down meanwhile.
        live = ensure(self.client, deployment)
        ensure(self.client, service)
        self.report(webapp, live)

    # --8<-- [end:reconcile]

    # --8<-- [start:report]
    def report(self, webapp: Object, deployment: Object) -> None:
        """Write the status if it says something new. Conditions of others stay."""
        status, before, metadata = assess(webapp, deployment), webapp.get("status", {}), webapp["metadata"]
        ours = {each["type"] for each in status["conditions"]}
        status["conditions"] += [each for each in before.get("conditions", []) if each["type"] not in ours]
        if status != before:
            # The list is written as a whole: only if it is still the one that we read. Else 409, and we are back soon.
            body = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "status": status}
            self.client.patch(*WEBAPP, metadata["name"], metadata["namespace"], body, subresource="status")

    # --8<-- [end:report]


def setup(manager: Manager) -> None:
    """Look at a WebApp when it changes, and when a child of it does."""
    controller = manager.controller(WebAppReconciler(manager)).for_(*WEBAPP)
    controller.owns(*DEPLOYMENT).owns(*SERVICE)
