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


def condition(webapp: Object, type: str, status: bool, reason: str, message: str) -> Object:
    """A condition for the status of ``webapp``. It keeps the time it has there as long as its status is the same."""
    # TODO 1: type, status ("True" or "False"), reason, message, observedGeneration (the WebApp's generation), and
    #         lastTransitionTime: ``now()``, unless ``current(webapp, type)`` has the same status already.
    raise NotImplementedError("TODO 1: condition")


def current(webapp: Object, type: str) -> Object | None:
    """Given: the condition of that type in the status of ``webapp``, if there is one."""
    return next((each for each in webapp.get("status", {}).get("conditions", []) if each["type"] == type), None)


def now() -> str:
    """Given: the current time, as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def assess(webapp: Object, deployment: Object) -> Object:
    """The status of ``webapp``, as its Deployment shows it."""
    # TODO 2: observedGeneration, availableReplicas, url and the three conditions.
    #         In the Deployment's status look at observedGeneration first: is this status about the Deployment as it is
    #         now, or as it was before your last write? Then look at replicas, updatedReplicas and availableReplicas.
    #         The Deployment itself knows when its rollout has failed: its condition Progressing is "False".
    raise NotImplementedError("TODO 2: assess")


def report(client: Client, webapp: Object, status: Object) -> None:
    """Write ``status`` to the status of ``webapp``, if it's news. What we wrote before and leave out now is removed."""
    # TODO 3: compare with what's there, but leave out other people's conditions. To write only what's yours:
    #         ``client.apply(body, FIELD_MANAGER, force=True, subresource="status")``. If the write is refused, let the
    #         error out: the pass is run again.
    raise NotImplementedError("TODO 3: report")


class WebAppReconciler:
    """Keeps the children of each WebApp, and reports how they are."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.events = EventRecorder(client, FIELD_MANAGER)

    def reconcile(self, request: Request) -> Result | None:
        """One pass: act on the spec, then report the actual state."""
        # TODO 4: as in lesson 08, then ``tell`` the result. ``blocked`` is the status when a name is taken. You may
        #         stop at the first one that is. Come back in a while, as in lesson 08.
        raise NotImplementedError("TODO 4: reconcile")

    def tell(self, webapp: Object, status: Object) -> None:
        """Report; and when the WebApp becomes available, or stops being available, make an Event for people."""
        # TODO 5: ``report``; and when Available changes, ``self.events.event(webapp, reason, message)``. (The same for
        #         Degraded is up to you.) Which of the two comes first, if the operator can be killed in between?
        raise NotImplementedError("TODO 5: tell")


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
