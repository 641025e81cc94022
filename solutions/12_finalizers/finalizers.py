"""Lab 12: an operator that tidies up outside the cluster before its WebApp goes.

Lesson:  docs/lessons/12_finalizers.md
Check:   make check LAB=12
Hint:    make hint LAB=12

A WebApp with ``register: shop.example.com`` has a record of that host at the outside service, with the value
``{"owner": uid}``, where uid is the WebApp's. A record with another owner is never touched. When ``register`` changes,
the old record goes; and no WebApp is gone while a record of its own is left. The children are served as before, and
do not wait for the record.
"""

from typing import Any
from urllib.error import HTTPError

from converge.records import Records
from converge.runtime import Client, Manager, NotFound, Object, Request, Result
from converge.webapp import WEBAPP, children_reconciler

FINALIZER = "converge.example/record"  # our name in the list of those without whom the WebApp cannot go


# --8<-- [start:records]
def own_hosts(there: dict[str, Any], webapp: Object) -> list[str]:
    """The hosts, of all the records that are there, whose record says that it is this WebApp's."""
    uid = webapp["metadata"]["uid"]
    return [host for host, value in there.items() if isinstance(value, dict) and value.get("owner") == uid]


def remove_record(records: Records, host: str) -> None:
    """Remove the record of a host; one that is gone already is fine."""
    try:
        records.delete(host)
    except HTTPError as error:
        if error.code != 404:
            raise


def keep_record(records: Records, webapp: Object) -> None:
    """Make the record that the spec asks for, and remove every other one of this WebApp."""
    wanted, there = webapp["spec"].get("register"), records.all()
    ours = own_hosts(there, webapp)
    for host in ours:
        if host != wanted:
            remove_record(records, host)
    if wanted and wanted not in ours:
        if wanted in there:
            raise RuntimeError(f"the host {wanted} is taken")  # so that we look again, ever more rarely
        records.put(wanted, {"owner": webapp["metadata"]["uid"]})


# --8<-- [end:records]


# --8<-- [start:promise]
def holds(webapp: Object) -> bool:
    """Given: whether our finalizer is on the WebApp."""
    return FINALIZER in webapp["metadata"].get("finalizers", [])


def hold(client: Client, webapp: Object) -> Object:
    """Put our finalizer on the WebApp, leave those of others alone, and return the WebApp as it is then."""
    return write_finalizers(client, webapp, [*webapp["metadata"].get("finalizers", []), FINALIZER])


def release(client: Client, webapp: Object) -> None:
    """Take our finalizer, and no other, off the WebApp."""
    others = [each for each in webapp["metadata"]["finalizers"] if each != FINALIZER]
    try:
        write_finalizers(client, webapp, others)
    except NotFound:
        pass  # somebody has let it go by force


def write_finalizers(client: Client, webapp: Object, finalizers: list[str]) -> Object:
    """Write the whole list; with the version that we have read, so that nobody else's change is lost (409)."""
    metadata = webapp["metadata"]
    body = {"metadata": {"finalizers": finalizers, "resourceVersion": metadata["resourceVersion"]}}
    return client.patch(*WEBAPP, metadata["name"], metadata["namespace"], body)


# --8<-- [end:promise]


class WebAppReconciler:
    """Keeps the children and the record of each WebApp, and removes the record before the WebApp goes."""

    def __init__(self, client: Client, records: Records) -> None:
        self.client = client
        self.records = records
        self.children = children_reconciler(client)

    # --8<-- [start:reconcile]
    def reconcile(self, request: Request) -> Result | None:
        """One pass: promise, serve the children, register; or, when the WebApp is being deleted, tidy up and let go."""
        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        except NotFound:
            return None
        if "deletionTimestamp" in webapp["metadata"]:
            if holds(webapp):
                for host in own_hosts(self.records.all(), webapp):
                    remove_record(self.records, host)
                release(self.client, webapp)  # last: what fails before it is tried again, and the WebApp waits
            return None
        if webapp["spec"].get("register") and not holds(webapp):
            webapp = hold(self.client, webapp)  # first: from now on the WebApp cannot go without us
        answer = self.children.reconcile(request)
        if holds(webapp):
            keep_record(self.records, webapp)
        return answer

    # --8<-- [end:reconcile]


def setup(manager: Manager) -> None:
    """Given: reconcile a WebApp when it or a child of it changes."""
    reconciler = WebAppReconciler(manager.client, Records())
    manager.controller(reconciler).for_(*WEBAPP).owns("apps/v1", "Deployment").owns("v1", "Service")
