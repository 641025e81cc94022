"""Lab 11: the four answers: done, later, failed, failed for good.

Lesson:  docs/lessons/11_requeue.md
Check:   make check LAB=11
Hint:    make hint LAB=11

A WebApp with ``dependsOnSecret`` gets its children when that Secret is there, and not before. A WebApp with
``register`` has a record of that host at the outside service, with the value ``{"owner": uid}``; when the record is
lost there, it is made again. Nobody calls you for either: look every PERIOD seconds, and not more often.

What fails is tried again after BASE seconds, and after twice as long each further time, CAP at most. An answer may take
TIMEOUT seconds. What the service refuses with 400 or 422 it will refuse tomorrow: that is tried again when the spec
changes. The condition ``Reconciled`` is True, or False with a message that says what is the matter.
"""

import os
from urllib.error import HTTPError

from converge.records import Records
from converge.runtime import Backoff, Client, Manager, NotFound, Object, Request, Result, TerminalError, WorkQueue
from converge.webapp import WEBAPP, assess, condition, desired_children, ensure_owned, report

PERIOD = float(os.environ.get("PERIOD", "30"))
BASE = float(os.environ.get("BACKOFF_BASE", "1"))
CAP = float(os.environ.get("BACKOFF_CAP", "300"))
TIMEOUT = float(os.environ.get("TIMEOUT", "3"))
DONE = "Done"  # the reason of a condition that is True


class WebAppReconciler:
    """Serves each WebApp as far as it can, and says when it wants to look again."""

    def __init__(self, client: Client, records: Records) -> None:
        self.client = client
        self.records = records

    def reconcile(self, request: Request) -> Result | None:
        """One pass, and one of the four answers."""
        # TODO 1: done? Return None, or a Result with a time if nobody will call you when it is no longer so.
        #         Not there yet? A Result with a time. Failed? Let the exception out, after you have said so.
        #         Failed for good? The same, with a TerminalError. And ``say()`` each time how it went.
        raise NotImplementedError("TODO 1: reconcile")

    def secret_is_there(self, webapp: Object) -> bool:
        """Whether the Secret that ``webapp`` depends on exists; True if it depends on none."""
        # TODO 2: ask for it with ``self.client``; which of the errors means that it is not there?
        raise NotImplementedError("TODO 2: secret_is_there")

    def register(self, webapp: Object) -> None:
        """Make the record that ``webapp`` asks for; `TerminalError` if the service will never take it."""
        # TODO 3: ``record_of`` says what is there. ``self.records.put(host, value)`` raises ``HTTPError``, which has a
        #         ``code``, if it fails: which codes mean that no further try can help?
        raise NotImplementedError("TODO 3: register")

    def record_of(self, host: str) -> Object | None:
        """Given: the record of a host at the service; None if there is none."""
        try:
            found: Object = self.records.get(host)
        except HTTPError as error:
            if error.code != 404:
                raise
            return None
        return found

    def say(self, webapp: Object, deployment: Object | None, reason: str, message: str) -> None:
        """Given: report how it went, and how the Deployment is if we got so far."""
        nothing = {"observedGeneration": webapp["metadata"]["generation"], "conditions": []}
        status = assess(webapp, deployment) if deployment else nothing
        status["conditions"].append(condition(webapp, "Reconciled", reason == DONE, reason, message))
        report(self.client, webapp, status)


def setup(manager: Manager) -> None:
    """Reconcile WebApps, with a queue whose delays begin at BASE and end at CAP."""
    reconciler = WebAppReconciler(manager.client, Records(timeout=TIMEOUT))
    # TODO 4: this controller's own queue begins with 5 ms and ends at 1000 s. Give it another one, ``queue=…``.
    controller = manager.controller(reconciler).for_(*WEBAPP)
    controller.owns("apps/v1", "Deployment").owns("v1", "Service")
