"""Lab 10: two writers share one object, and nothing is lost.

Lesson:  docs/lessons/10_conflicts.md
Check:   make check LAB=10
Hint:    make hint LAB=10

A ticket is an annotation ``tickets.converge.example/ID`` on a WebApp; anyone may add one, or take it back. The operator
removes the tickets and adds their number to the annotation ``converge.example/served``. And the registry has moved:
where ``image`` or ``sidecar`` in the spec begins with ``registry.old.example/``, rewrite it to begin with
``registry.example/``.

You aren't alone. Another desk adds to the same counter, and users change the spec, at any moment, including between
your read and your write.
"""

import copy
from collections.abc import Callable

from converge.operators.webapp import WEBAPP
from converge.runtime import Client, Conflict, Manager, NotFound, Object, Request

TICKET = "tickets.converge.example/"
SERVED = "converge.example/served"
OLD, NEW = "registry.old.example/", "registry.example/"
ATTEMPTS = 5  # against other writers; after that, leave it to the work queue


# --8<-- [start:changes]
def serve_tickets(webapp: Object) -> None:
    """Take every ticket out of ``webapp`` and count it: both in one object, so one write stores both or neither."""
    annotations = webapp["metadata"].get("annotations", {})
    tickets = [key for key in annotations if key.startswith(TICKET)]
    for key in tickets:
        del annotations[key]
    if tickets:
        annotations[SERVED] = str(int(annotations.get(SERVED, "0")) + len(tickets))


def migrate_images(webapp: Object) -> None:
    """Rewrite ``image`` and ``sidecar`` where they still name the old registry; leave everything else alone."""
    for field in ("image", "sidecar"):
        if webapp["spec"].get(field, "").startswith(OLD):
            webapp["spec"][field] = NEW + webapp["spec"][field].removeprefix(OLD)


# --8<-- [end:changes]


# --8<-- [start:update]
def update(client: Client, request: Request, change: Callable[[Object], None]) -> None:
    """Read the WebApp, ``change`` it, write it; if another writer got in between, do all of that again.

    Writes nothing when ``change`` changes nothing. Raises `Conflict` when others were faster every time.
    """
    for attempt in range(1, ATTEMPTS + 1):
        webapp = client.get(*WEBAPP, request.name, request.namespace)  # in the loop: after a 409, read again
        before = copy.deepcopy(webapp)
        change(webapp)
        if webapp == before:
            return
        try:
            client.replace(webapp)  # carries the resourceVersion that was read: that's the whole protection
            return
        except Conflict:
            if attempt == ATTEMPTS:
                raise


# --8<-- [end:update]


class WebAppReconciler:
    """Serves the tickets of each WebApp and migrates its images."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def reconcile(self, request: Request) -> None:
        """One pass: make both changes, on what's there now."""
        try:
            update(self.client, request, serve_tickets)
            update(self.client, request, migrate_images)
        except NotFound:
            return


def setup(manager: Manager) -> None:
    """Given: reconcile every WebApp."""
    manager.controller(WebAppReconciler(manager.client)).for_(*WEBAPP)
