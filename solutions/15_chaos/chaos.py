"""Lab 15: five bugs.

Lesson:  docs/lessons/15_chaos.md
Check:   make check LAB=15
Hint:    make hint LAB=15

Nothing is left out here. This operator gives each WebApp a Deployment and a Service, follows every change of the spec,
leaves alone what others added, reports in the status as lesson 09 does, and removes both children with the WebApp: on a
good day. It has five bugs, each of a different kind: a state between two writes, an old read, an event that nobody saw,
a path through the specs, a lost update. Let the checks attack it, read the timelines, and fix it any way you like.
"""

from converge.operators.webapp import WEBAPP, assess, desired_children, ensure_owned
from converge.runtime import Manager, Object, Request

DEPLOYMENT, SERVICE = ("apps/v1", "Deployment"), ("v1", "Service")


class WebAppReconciler:
    """Keeps the Deployment, the Service and the status of each WebApp as its spec asks."""

    def __init__(self, manager: Manager) -> None:
        self.client = manager.client
        self.webapps = manager.cached(*WEBAPP)  # it may be old, so nothing below may do harm if it is

    # --8<-- [start:reconcile]
    def reconcile(self, request: Request) -> None:
        """Bring the children of one WebApp to their desired state, and report in its status how far they are."""
        webapp = self.webapps.get(request.name, request.namespace)
        if webapp is None or "deletionTimestamp" in webapp["metadata"]:
            return  # or the cache is old. The garbage collector asks the server before it deletes anything.
        deployment, service = desired_children(webapp)
        # Each by itself, whatever happened to the other. The server removes what we used to ask for and no longer do:
        # it remembers, even if we were down. If the cache is so old that this WebApp is an earlier one, its children
        # have another owner by now, and `ensure_owned` leaves them alone.
        live = ensure_owned(self.client, webapp, deployment)
        ensure_owned(self.client, webapp, service)
        self.report(webapp, live)

    # --8<-- [end:reconcile]

    # --8<-- [start:report]
    def report(self, webapp: Object, deployment: Object) -> None:
        """Write the status if it says something new. Other people's conditions stay."""
        status, before, metadata = assess(webapp, deployment), webapp.get("status", {}), webapp["metadata"]
        ours = {each["type"] for each in status["conditions"]}
        status["conditions"] += [each for each in before.get("conditions", []) if each["type"] not in ours]
        if status != before:
            # We replace the whole list, so only if it's still the one we read. Otherwise 409, and we come again.
            body = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "status": status}
            self.client.patch(*WEBAPP, metadata["name"], metadata["namespace"], body, subresource="status")

    # --8<-- [end:report]


def setup(manager: Manager) -> None:
    """Look at a WebApp when it or one of its children changes."""
    controller = manager.controller(WebAppReconciler(manager)).for_(*WEBAPP)
    controller.owns(*DEPLOYMENT).owns(*SERVICE)
