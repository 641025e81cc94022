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


def condition(webapp: Object, type: str, status: bool, reason: str, message: str) -> Object:
    """A condition for the status of ``webapp``. It keeps the time that it has there while its status is the same."""
    # TODO 1: type, status ("True" or "False"), reason, message, observedGeneration (the WebApp's generation), and
    #         lastTransitionTime: ``now()``, unless ``current(webapp, type)`` has the same status already.
    raise NotImplementedError("TODO 1: condition")


def current(webapp: Object, type: str) -> Object | None:
    """Given: the condition of that type that ``webapp`` has, if any."""
    return next((each for each in webapp.get("status", {}).get("conditions", []) if each["type"] == type), None)


def now() -> str:
    """Given: this moment, as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def assess(webapp: Object, deployment: Object) -> Object:
    """The status of ``webapp``, as its Deployment shows it."""
    # TODO 2: observedGeneration, availableReplicas, url and the three conditions.
    #         Of the Deployment's status look at observedGeneration first: is it about this Deployment, or about the one
    #         before your last write? Then replicas, updatedReplicas and availableReplicas. The Deployment itself knows
    #         when its rollout has failed: its condition Progressing is "False".
    raise NotImplementedError("TODO 2: assess")


def report(client: Client, webapp: Object, status: Object) -> None:
    """Write ``status`` to the status of ``webapp``, if it is news. What we said before and leave out now is removed."""
    # TODO 3: compare with what is there, but not with the conditions of others. To write what is yours and nothing of
    #         theirs: ``client.apply(body, FIELD_MANAGER, force=True, subresource="status")``.
    raise NotImplementedError("TODO 3: report")


class WebAppReconciler:
    """Keeps the children of each WebApp, and says how they are."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.events = EventRecorder(client, FIELD_MANAGER)

    def reconcile(self, request: Request) -> Result | None:
        """One pass: act as the spec says, then report what is there."""
        # TODO 4: as in lesson 08, and then ``tell`` what came of it; ``blocked`` is the status when a name is taken.
        raise NotImplementedError("TODO 4: reconcile")

    def tell(self, webapp: Object, status: Object) -> None:
        """Report, with an Event for people when it has become available, degraded, or is so no more."""
        # TODO 5: ``report``; and, for each change of Available or Degraded, ``self.events.event(webapp, reason, …)``.
        #         In which order, if you may be killed in between?
        raise NotImplementedError("TODO 5: tell")


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
