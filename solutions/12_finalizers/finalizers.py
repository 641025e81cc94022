"""Lab 12: an operator that cleans up outside the cluster before its WebApp goes.

Lesson:  docs/lessons/12_finalizers.md
Check:   make check LAB=12
Hint:    make hint LAB=12

A WebApp with ``register: shop.example.com`` has a record of that host at the outside service (at $OUTSIDE_URL), with
the value ``{"owner": uid}``, where uid is the WebApp's. Never touch a record with another owner. When ``register``
changes or is removed, the old record goes, even if the new host is taken. No WebApp may be gone while a record of its
own is left. A WebApp that has never had ``register`` gets no finalizer, so it can go while the operator is down. The
children are served as before, and don't wait for the record.
"""

from typing import Any
from urllib.error import HTTPError

from converge.operators.records import Records
from converge.operators.webapp import WEBAPP, children_reconciler
from converge.runtime import Client, Manager, NotFound, Object, Request, Result

FINALIZER = "converge.example/record"  # our name on the list: the WebApp can't go while it's there


# --8<-- [start:records]
def own_hosts(there: dict[str, Any], webapp: Object) -> list[str]:
    """The hosts, out of all records ``there``, whose record names this WebApp as its owner."""
    uid = webapp["metadata"]["uid"]
    return [host for host, value in there.items() if isinstance(value, dict) and value.get("owner") == uid]


def remove_record(records: Records, host: str) -> None:
    """Remove the record of a host. If it's already gone, that's fine."""
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
            raise RuntimeError(f"the host {wanted} is taken")  # so that we retry, less and less often
        records.put(wanted, {"owner": webapp["metadata"]["uid"]})


# --8<-- [end:records]


# --8<-- [start:promise]
def holds(webapp: Object) -> bool:
    """Given: whether our finalizer is on the WebApp."""
    return FINALIZER in webapp["metadata"].get("finalizers", [])


def hold(client: Client, webapp: Object) -> Object:
    """Put our finalizer on the WebApp, leave all others alone, and return the WebApp as it is then."""
    return write_finalizers(client, webapp, [*webapp["metadata"].get("finalizers", []), FINALIZER])


def release(client: Client, webapp: Object) -> None:
    """Take our finalizer, and no other, off the WebApp."""
    others = [each for each in webapp["metadata"]["finalizers"] if each != FINALIZER]
    try:
        write_finalizers(client, webapp, others)
    except NotFound:
        pass  # it was let go by force


def write_finalizers(client: Client, webapp: Object, finalizers: list[str]) -> Object:
    """Write the whole list, with the version we read, so that nobody else's change is lost (409)."""
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
        """One pass: promise, serve the children, register. Or, if the WebApp is being deleted, clean up and let go."""
        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        except NotFound:
            return None
        if "deletionTimestamp" in webapp["metadata"]:
            if holds(webapp):
                for host in own_hosts(self.records.all(), webapp):
                    remove_record(self.records, host)
                release(self.client, webapp)  # last: if anything above fails, the WebApp waits
            return None
        if webapp["spec"].get("register") and not holds(webapp):
            webapp = hold(self.client, webapp)  # first: from now on the WebApp can't go without us
        answer = self.children.reconcile(request)
        if holds(webapp):
            keep_record(self.records, webapp)
        return answer

    # --8<-- [end:reconcile]


def setup(manager: Manager) -> None:
    """Given: reconcile a WebApp when it or one of its children changes."""
    reconciler = WebAppReconciler(manager.client, Records())
    manager.controller(reconciler).for_(*WEBAPP).owns("apps/v1", "Deployment").owns("v1", "Service")
