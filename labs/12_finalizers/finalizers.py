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


def own_hosts(there: dict[str, Any], webapp: Object) -> list[str]:
    """The hosts, out of all records ``there``, whose record names this WebApp as its owner."""
    # TODO 1: ``there`` is what the service keeps: {"shop.example.com": {"owner": "…"}, …}. Others can store anything.
    raise NotImplementedError("TODO 1: own_hosts")


def remove_record(records: Records, host: str) -> None:
    """Remove the record of a host. If it's already gone, that's fine."""
    # TODO 2: records.delete(host) raises HTTPError. Which of its codes is good news?
    raise NotImplementedError("TODO 2: remove_record")


def keep_record(records: Records, webapp: Object) -> None:
    """Make the record that the spec asks for, and remove every other one of this WebApp."""
    # TODO 3: records.all() once; then remove what's ours and no longer wanted, and put what's wanted and isn't there.
    #         If the wanted host has another owner, leave that record alone and raise something: we'll be called again.
    raise NotImplementedError("TODO 3: keep_record")


def holds(webapp: Object) -> bool:
    """Given: whether our finalizer is on the WebApp."""
    return FINALIZER in webapp["metadata"].get("finalizers", [])


def hold(client: Client, webapp: Object) -> Object:
    """Put our finalizer on the WebApp, leave all others alone, and return the WebApp as it is then."""
    # TODO 4: write_finalizers() with a longer list.
    raise NotImplementedError("TODO 4: hold")


def release(client: Client, webapp: Object) -> None:
    """Take our finalizer, and no other, off the WebApp."""
    # TODO 5: write_finalizers() with a shorter list. If the WebApp is already gone, that's fine.
    raise NotImplementedError("TODO 5: release")


def write_finalizers(client: Client, webapp: Object, finalizers: list[str]) -> Object:
    """Write the whole list, with the version we read, so that nobody else's change is lost (409)."""
    # TODO 6: a merge patch replaces a list as a whole. What if it was changed after you read it (lesson 10)?
    raise NotImplementedError("TODO 6: write_finalizers")


class WebAppReconciler:
    """Keeps the children and the record of each WebApp, and removes the record before the WebApp goes."""

    def __init__(self, client: Client, records: Records) -> None:
        self.client = client
        self.records = records
        self.children = children_reconciler(client)

    def reconcile(self, request: Request) -> Result | None:
        """One pass: promise, serve the children, register. Or, if the WebApp is being deleted, clean up and let go."""
        # TODO 7: five steps, and their order is the lesson. ``self.children.reconcile(request)`` looks after the
        #         children and the status; return its answer.
        raise NotImplementedError("TODO 7: reconcile")


def setup(manager: Manager) -> None:
    """Given: reconcile a WebApp when it or one of its children changes."""
    reconciler = WebAppReconciler(manager.client, Records())
    manager.controller(reconciler).for_(*WEBAPP).owns("apps/v1", "Deployment").owns("v1", "Service")
