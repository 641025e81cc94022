"""Lab 09: an operator that says what it has seen, of which generation, and only when it is news.

Lesson:  docs/lessons/09_status.md
Check:   make check LAB=09
Hint:    make hint LAB=09

The status of a WebApp has ``observedGeneration`` (the generation that the rest speaks of), ``availableReplicas``,
``url`` (``http://NAME.NAMESPACE.svc:PORT``), and three conditions. ``Available`` is True when the rollout of this
generation is done: the Deployment runs what the spec asks for, in full, and nothing older. ``Progressing`` is True
while that is under way. ``Degraded`` is True when it has failed (the Deployment is past its deadline), or when the name
of a child is taken; its message then names the child's kind. Conditions of others stay, a condition's time changes with
its status only, and when ``Available`` changes to or fro, an Event tells people. The spec is not yours to write.
"""

from datetime import UTC, datetime

from converge.runtime import Client, EventRecorder, Manager, NotFound, Object, Request, Result
from converge.webapp import FIELD_MANAGER, WEBAPP, NameTaken, desired_children, ensure_owned


# --8<-- [start:condition]
def condition(webapp: Object, type: str, status: bool, reason: str, message: str) -> Object:
    """A condition for the status of ``webapp``. It keeps the time that it has there while its status is the same."""
    before = current(webapp, type)
    said = "True" if status else "False"
    kept = before is not None and before["status"] == said
    return {
        "type": type,
        "status": said,
        "reason": reason,
        "message": message,
        "observedGeneration": webapp["metadata"]["generation"],
        "lastTransitionTime": before["lastTransitionTime"] if before and kept else now(),
    }


# --8<-- [end:condition]


def current(webapp: Object, type: str) -> Object | None:
    """Given: the condition of that type that ``webapp`` has, if any."""
    return next((each for each in webapp.get("status", {}).get("conditions", []) if each["type"] == type), None)


def now() -> str:
    """Given: this moment, as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# --8<-- [start:assess]
def assess(webapp: Object, deployment: Object) -> Object:
    """The status of ``webapp``, as its Deployment shows it."""
    metadata, seen, wanted = webapp["metadata"], deployment.get("status", {}), deployment["spec"]["replicas"]
    # Until the Deployment's own controller has caught up, every number in its status is about an older Deployment.
    caught_up = seen.get("observedGeneration") == deployment["metadata"]["generation"]
    total, updated, available = (seen.get(count, 0) for count in ("replicas", "updatedReplicas", "availableReplicas"))
    done = caught_up and total == updated == available == wanted  # all new, all there, and nothing older
    progressing = next((each for each in seen.get("conditions", []) if each["type"] == "Progressing"), None)
    failed = caught_up and not done and progressing is not None and progressing["status"] == "False"
    reason = "RolledOut" if done else "RolloutFailed" if failed else "RollingOut"
    message = f"{updated if caught_up else 0} of {wanted} replicas are up to date, {available} are available"
    return {
        "observedGeneration": metadata["generation"],  # of the WebApp that was read, and acted upon, in this pass
        "availableReplicas": available,
        "url": f"http://{metadata['name']}.{metadata['namespace']}.svc:{webapp['spec']['port']}",
        "conditions": [
            condition(webapp, "Available", done, reason, message),
            condition(webapp, "Progressing", not done and not failed, reason, message),
            condition(webapp, "Degraded", failed, reason, message),
        ],
    }


# --8<-- [end:assess]


# --8<-- [start:report]
def report(client: Client, webapp: Object, status: Object) -> None:
    """Write ``status`` to the status of ``webapp``, if it is news. What we said before and leave out now is removed."""
    there = webapp.get("status", {})
    known = {**there, "conditions": [current(webapp, each["type"]) for each in status["conditions"]]}
    if {**there, **status} == known:
        return
    identity = {key: webapp["metadata"][key] for key in ("name", "namespace", "uid")}  # this very WebApp, or none
    body = {"apiVersion": webapp["apiVersion"], "kind": webapp["kind"], "metadata": identity, "status": status}
    client.apply(body, FIELD_MANAGER, force=True, subresource="status")  # merges conditions by type: others' stay


# --8<-- [end:report]


class WebAppReconciler:
    """Keeps the children of each WebApp, and says how they are."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.events = EventRecorder(client, FIELD_MANAGER)

    # --8<-- [start:reconcile]
    def reconcile(self, request: Request) -> Result | None:
        """One pass: act as the spec says, then report what is there."""
        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        except NotFound:
            return None
        if "deletionTimestamp" in webapp["metadata"]:
            return None
        try:
            deployment, _ = [ensure_owned(self.client, webapp, child) for child in desired_children(webapp)]
        except NameTaken as taken:
            self.tell(webapp, blocked(webapp, "NameTaken", str(taken)))
            return Result(requeue_after=30)
        self.tell(webapp, assess(webapp, deployment))
        return None

    # --8<-- [end:reconcile]

    # --8<-- [start:tell]
    def tell(self, webapp: Object, status: Object) -> None:
        """Report, with an Event for people when it has become available, degraded, or is so no more."""
        for each in status["conditions"]:
            before = current(webapp, each["type"])
            if each["type"] != "Progressing" and each["status"] != (before["status"] if before else "False"):
                bad = each["type"] == "Degraded" and each["status"] == "True"
                words = f"{each['type']} is {each['status']} for generation {status['observedGeneration']}"
                self.events.event(webapp, each["reason"], f"{words}: {each['message']}", "Warning" if bad else "Normal")
        report(self.client, webapp, status)

    # --8<-- [end:tell]


def blocked(webapp: Object, reason: str, message: str) -> Object:
    """Given: the status of a WebApp whose children we could not make. What we have not seen, it does not mention."""
    return {
        "observedGeneration": webapp["metadata"]["generation"],
        "conditions": [
            condition(webapp, "Available", False, reason, message),
            condition(webapp, "Progressing", False, reason, message),
            condition(webapp, "Degraded", True, reason, message),
        ],
    }


def setup(manager: Manager) -> None:
    """Given: as in lesson 08. A change of the Deployment's status brings its WebApp back."""
    controller = manager.controller(WebAppReconciler(manager.client)).for_(*WEBAPP)
    controller.owns("apps/v1", "Deployment").owns("v1", "Service")
