"""Lab 09: an operator that reports what it saw, for which generation, and only when that's news.

Lesson:  docs/lessons/09_status.md
Check:   make check LAB=09
Hint:    make hint LAB=09

The status of a WebApp has ``observedGeneration`` (the generation that the rest is about), ``availableReplicas``,
``url`` (``http://NAME.NAMESPACE.svc:PORT``, with the port of the spec), and three conditions. ``Available`` is True
when the rollout of this generation is done: the Deployment runs all of what the spec asks for, and nothing older.
``Progressing`` is True while the rollout is in progress. ``Degraded`` is True when the rollout has failed (the
Deployment is past its deadline), or when the name of a child is taken; its message then names the child's kind. Other
people's conditions stay. A condition's time changes only with its status. The spec isn't yours to write.

When ``Available`` becomes True, or stops being True, an Event tells people. A new WebApp that isn't available yet
needs none. ``EventRecorder`` writes the same words about the same object at most once an hour.
"""

from datetime import UTC, datetime

from converge.operators.webapp import FIELD_MANAGER, WEBAPP, NameTaken, desired_children, ensure_owned
from converge.runtime import Client, EventRecorder, Manager, NotFound, Object, Request, Result


# --8<-- [start:condition]
def condition(webapp: Object, type: str, status: bool, reason: str, message: str) -> Object:
    """A condition for the status of ``webapp``. It keeps the time it has there as long as its status is the same."""
    before = current(webapp, type)
    said = "True" if status else "False"
    return {
        "type": type,
        "status": said,
        "reason": reason,
        "message": message,
        "observedGeneration": webapp["metadata"]["generation"],
        "lastTransitionTime": before["lastTransitionTime"] if before and before["status"] == said else now(),
    }


# --8<-- [end:condition]


def current(webapp: Object, type: str) -> Object | None:
    """Given: the condition of that type in the status of ``webapp``, if there is one."""
    return next((each for each in webapp.get("status", {}).get("conditions", []) if each["type"] == type), None)


def now() -> str:
    """Given: the current time, as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# --8<-- [start:assess]
REASONS = {(True, False): "RolledOut", (False, True): "RolloutFailed", (False, False): "RollingOut"}  # done, failed


def assess(webapp: Object, deployment: Object) -> Object:
    """The status of ``webapp``, as its Deployment shows it."""
    metadata, seen, wanted = webapp["metadata"], deployment["status"], deployment["spec"]["replicas"]
    # Until the Deployment's own controller has caught up, all of its status is about an older Deployment.
    caught_up = seen.get("observedGeneration") == deployment["metadata"]["generation"]
    total, updated, available = (seen.get(count, 0) for count in ("replicas", "updatedReplicas", "availableReplicas"))
    done = caught_up and total == updated == available == wanted  # all new, all up, and nothing older
    progress = {each["type"]: each["status"] for each in seen.get("conditions", [])}.get("Progressing")
    failed = caught_up and not done and progress == "False"
    reason = REASONS[done, failed]
    message = f"{updated if caught_up else 0} of {wanted} replicas are up to date, {available} are available"
    return {
        "observedGeneration": metadata["generation"],  # of the WebApp that this pass read and acted on
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
    """Write ``status`` to the status of ``webapp``, if it's news. What we wrote before and leave out now is removed."""
    there = webapp.get("status", {})
    conditions = [current(webapp, each["type"]) for each in status["conditions"]]
    if status == {**{key: there.get(key) for key in status}, "conditions": conditions}:
        return
    identity = {key: webapp["metadata"][key] for key in ("name", "namespace")}
    body = {"apiVersion": webapp["apiVersion"], "kind": webapp["kind"], "metadata": identity, "status": status}
    client.apply(body, FIELD_MANAGER, force=True, subresource="status")  # merges conditions by type: others' stay


# --8<-- [end:report]


class WebAppReconciler:
    """Keeps the children of each WebApp, and reports how they are."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.events = EventRecorder(client, FIELD_MANAGER)

    # --8<-- [start:reconcile]
    def reconcile(self, request: Request) -> Result | None:
        """One pass: act on the spec, then report the actual state."""
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
        """Report; and when the WebApp becomes available, or stops being available, make an Event for people."""
        before, after = current(webapp, "Available"), status["conditions"][0]
        if after["status"] != (before["status"] if before else "False"):
            # The words tell this change from every other, and a second attempt at it has the same words.
            since = f", after {before['status']} since {before['lastTransitionTime']}" if before else ""
            message = f"Available is {after['status']}{since}: {after['message']}"
            self.events.event(webapp, after["reason"], message)
        report(self.client, webapp, status)

    # --8<-- [end:tell]


def blocked(webapp: Object, reason: str, message: str) -> Object:
    """Given: the status of a WebApp whose children we couldn't make. It leaves out what we haven't seen."""
    return {
        "observedGeneration": webapp["metadata"]["generation"],
        "conditions": [
            condition(webapp, "Available", False, reason, message),
            condition(webapp, "Progressing", False, reason, message),
            condition(webapp, "Degraded", True, reason, message),
        ],
    }


def setup(manager: Manager) -> None:
    """Given: as in lesson 08. When the Deployment's status changes, its WebApp is reconciled again."""
    controller = manager.controller(WebAppReconciler(manager.client)).for_(*WEBAPP)
    controller.owns("apps/v1", "Deployment").owns("v1", "Service")
