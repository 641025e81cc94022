"""Lab 15: five bugs.

Lesson:  docs/lessons/15_chaos.md
Check:   make check LAB=15
Hint:    make hint LAB=15

Nothing is left out here. This operator gives each WebApp a Deployment and a Service, follows every change of the spec,
leaves alone what others added, reports in the status as lesson 09 does, and removes both children with the WebApp: on a
good day. It has five bugs, each of a different kind: a state between two writes, an old read, an event that nobody saw,
a path through the specs, a lost update. Let the checks attack it, read the timelines, and fix it any way you like.
"""

from contextlib import suppress

from converge.operators.webapp import WEBAPP, assess, desired_children
from converge.runtime import Manager, NotFound, Object, Request

DEPLOYMENT, SERVICE = ("apps/v1", "Deployment"), ("v1", "Service")


class WebAppReconciler:
    """Keeps the Deployment, the Service and the status of each WebApp as its spec asks."""

    def __init__(self, manager: Manager) -> None:
        self.client = manager.client
        self.caches = {kind: manager.cached(*kind) for kind in (WEBAPP, DEPLOYMENT, SERVICE)}  # reads that cost nothing
        self.had_sidecar: set[Request] = set()  # at our last look

    def reconcile(self, request: Request) -> None:
        """Bring the children of one WebApp to their desired state, and report in its status how far they are."""
        name, namespace = request.name, request.namespace
        webapp, deployment, service = (cache.get(name, namespace) for cache in self.caches.values())
        if webapp is None or "deletionTimestamp" in webapp["metadata"]:
            self.remove(request)
            return
        wanted, wanted_service = desired_children(webapp)
        if deployment is None:
            deployment = self.client.create(wanted)
            if service is None:
                service = self.client.create(wanted_service)
        if not includes(deployment, wanted):  # strategic: finds our containers by name, leaves others alone
            deployment = self.client.patch(*DEPLOYMENT, name, namespace, wanted, type="strategic")
        if service is not None and not includes(service, wanted_service):
            self.client.patch(*SERVICE, name, namespace, wanted_service)
        if "sidecar" in webapp["spec"]:
            self.had_sidecar.add(request)
        elif request in self.had_sidecar:
            gone = {"spec": {"template": {"spec": {"containers": [{"name": "logger", "$patch": "delete"}]}}}}
            deployment = self.client.patch(*DEPLOYMENT, name, namespace, gone, type="strategic")
            self.had_sidecar.remove(request)
        self.report(webapp, deployment)

    def remove(self, request: Request) -> None:
        """The WebApp is gone or going: remove its children."""
        for kind in (DEPLOYMENT, SERVICE):
            if self.caches[kind].get(request.name, request.namespace) is not None:
                with suppress(NotFound):
                    self.client.delete(*kind, request.name, request.namespace)

    def report(self, webapp: Object, deployment: Object) -> None:
        """Write the status if it says something new. Other people's conditions stay."""
        status, before, metadata = assess(webapp, deployment), webapp.get("status", {}), webapp["metadata"]
        ours = {each["type"] for each in status["conditions"]}
        status["conditions"] += [each for each in before.get("conditions", []) if each["type"] not in ours]
        if status != before:
            self.client.patch(
                *WEBAPP, metadata["name"], metadata["namespace"], {"status": status}, subresource="status"
            )


def includes(live: object, wanted: object) -> bool:
    """Whether everything wanted is there. There may be more: defaults, and what others added."""
    if isinstance(wanted, dict) and isinstance(live, dict):
        return all(key in live and includes(live[key], value) for key, value in wanted.items())
    if isinstance(wanted, list) and isinstance(live, list):
        return all(any(includes(one, each) for one in live) for each in wanted)
    return live == wanted


def same_name(child: Object) -> list[Request]:
    """Return the WebApp that a child belongs to: it has the same name, and the child has our label."""
    ours = child["metadata"].get("labels", {}).get("app.kubernetes.io/name") == "webapp"
    return [Request(child["metadata"]["namespace"], child["metadata"]["name"])] if ours else []


def setup(manager: Manager) -> None:
    """Look at a WebApp when it or one of its children changes."""
    controller = manager.controller(WebAppReconciler(manager)).for_(*WEBAPP)
    controller.watches(*DEPLOYMENT, same_name).watches(*SERVICE, same_name)
