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

    # --8<-- [start:reconcile]
    def reconcile(self, request: Request) -> Result | None:
        """One pass, and one of the four answers."""
        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        except NotFound:
            return None  # done: what's gone needs nothing
        if "deletionTimestamp" in webapp["metadata"]:
            return None
        deployment = None
        try:
            if not self.secret_is_there(webapp):
                waiting = f"Secret {webapp['spec']['dependsOnSecret']} is not there yet"
                self.say(webapp, None, "WaitingForSecret", waiting)
                return Result(requeue_after=PERIOD)  # later: nothing has failed, and nobody will call us
            deployment, _ = [ensure_owned(self.client, webapp, child) for child in desired_children(webapp)]
            self.register(webapp)
        except TerminalError as error:
            self.say(webapp, deployment, "Refused", str(error))
            raise  # failed for good: no retry until the spec changes
        except Exception as error:
            self.say(webapp, deployment, "Failed", str(error))
            raise  # failed: again, after a delay that grows
        self.say(webapp, deployment, DONE, "all that the spec asks for is there")
        return Result(requeue_after=PERIOD) if "register" in webapp["spec"] else None  # done; records send no events

    # --8<-- [end:reconcile]

    # --8<-- [start:steps]
    def secret_is_there(self, webapp: Object) -> bool:
        """Whether the Secret that ``webapp`` depends on exists; True if it doesn't depend on one."""
        name = webapp["spec"].get("dependsOnSecret")
        if name is None:
            return True
        try:
            self.client.get("v1", "Secret", name, webapp["metadata"]["namespace"])
        except NotFound:
            return False  # and only then: any other error says nothing about the Secret
        return True

    def register(self, webapp: Object) -> None:
        """Make the record that ``webapp`` asks for. `TerminalError` if the service will never accept it."""
        host, own = webapp["spec"].get("register"), {"owner": webapp["metadata"]["uid"]}
        if host is None:
            return
        found = self.record_of(host)
        if found is None:
            try:
                self.records.put(host, own)
            except HTTPError as error:
                if error.code in (400, 422):  # ask again, and the answer is the same
                    raise TerminalError(f"the service refuses the host {host}: {error}") from error
                raise
        elif found != own:
            raise RuntimeError(f"the host {host} is taken")

    # --8<-- [end:steps]

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


# --8<-- [start:setup]
def setup(manager: Manager) -> None:
    """Reconcile WebApps, with a queue whose delays start at BASE and end at CAP."""
    reconciler = WebAppReconciler(manager.client, Records(timeout=TIMEOUT))
    queue: WorkQueue[Request] = WorkQueue(backoff=Backoff(base=BASE, cap=CAP))
    controller = manager.controller(reconciler, queue=queue).for_(*WEBAPP)
    controller.owns("apps/v1", "Deployment").owns("v1", "Service")


# --8<-- [end:setup]
