"""Lab 11: the four answers: done, later, failed, failed for good.

Lesson:  docs/lessons/11_requeue.md
Check:   make check LAB=11
Hint:    make hint LAB=11

A WebApp with ``dependsOnSecret`` gets its children once that Secret exists, and not before. A WebApp with ``register``
has a record of that host at the outside service (at $OUTSIDE_URL), with the value ``{"owner": uid}``; if the record
gets lost there, make it again. Nobody calls you for either: look every PERIOD seconds, and no more often. Never
overwrite a record with another owner: that host is taken, which is a failure like any other.

Retry what fails after BASE seconds, and wait twice as long each further time, up to CAP. An answer may take TIMEOUT
seconds. What the service refuses with 400 or 422 today it will refuse tomorrow: retry that only when the spec changes.
The condition ``Reconciled`` is True, or False with a message that says what's wrong. As in lesson 08, make nothing for
a WebApp that is being deleted.
"""

import os
from urllib.error import HTTPError

from converge.operators.records import Records
from converge.operators.webapp import WEBAPP, assess, condition, desired_children, ensure_owned, report
from converge.runtime import Backoff, Client, Manager, NotFound, Object, Request, Result, TerminalError, WorkQueue

PERIOD = float(os.environ.get("PERIOD", "30"))
BASE = float(os.environ.get("BACKOFF_BASE", "1"))
CAP = float(os.environ.get("BACKOFF_CAP", "300"))
TIMEOUT = float(os.environ.get("TIMEOUT", "3"))
DONE = "Done"  # the reason of a condition that is True


class WebAppReconciler:
    """Serves each WebApp as far as it can, and says when to look again."""

    def __init__(self, client: Client, records: Records) -> None:
        self.client = client
        self.records = records

    def reconcile(self, request: Request) -> Result | None:
        """One pass, and one of the four answers."""
        # TODO 1: Done? Return None, or a Result with a time if nobody calls you when that stops being true.
        #         Not there yet? Return a Result with a time. Failed? Let the exception out, after you've said so.
        #         Failed for good? The same, with a TerminalError. And ``say()`` each time how it went.
        raise NotImplementedError("TODO 1: reconcile")

    def secret_is_there(self, webapp: Object) -> bool:
        """Whether the Secret that ``webapp`` depends on exists; True if it doesn't depend on one."""
        # TODO 2: ask for it with ``self.client``. Which error means that it isn't there?
        raise NotImplementedError("TODO 2: secret_is_there")

    def register(self, webapp: Object) -> None:
        """Make the record that ``webapp`` asks for. `TerminalError` if the service will never accept it."""
        # TODO 3: ``record_of`` says what's there. If it has another owner, raise something. If nothing is there,
        #         ``self.records.put(host, value)``. That raises ``HTTPError``, which has a ``code``, if it fails: which
        #         codes mean that no further try can help?
        raise NotImplementedError("TODO 3: register")

    def record_of(self, host: str) -> Object | None:
        """Given: the record of a host at the service, or None."""
        try:
            found: Object = self.records.get(host)
        except HTTPError as error:
            if error.code != 404:
                raise
            return None
        return found

    def say(self, webapp: Object, deployment: Object | None, reason: str, message: str) -> None:
        """Given: report how the pass went, and how the Deployment is if we got that far."""
        nothing = {"observedGeneration": webapp["metadata"]["generation"], "conditions": []}
        status = assess(webapp, deployment) if deployment else nothing
        status["conditions"].append(condition(webapp, "Reconciled", reason == DONE, reason, message))
        report(self.client, webapp, status)


def setup(manager: Manager) -> None:
    """Reconcile WebApps, with a queue whose delays start at BASE and end at CAP."""
    reconciler = WebAppReconciler(manager.client, Records(timeout=TIMEOUT))
    # TODO 4: the default queue's delays start at 5 ms and end at 1000 s. Give the controller another queue, with
    #         ``queue=…``; a WorkQueue takes its ``backoff=…`` by name.
    controller = manager.controller(reconciler).for_(*WEBAPP)
    controller.owns("apps/v1", "Deployment").owns("v1", "Service")
