"""Lab 10: two write to one object, and nothing is lost.

Lesson:  docs/lessons/10_conflicts.md
Check:   make check LAB=10
Hint:    make hint LAB=10

A ticket is an annotation ``tickets.converge.example/ID`` of a WebApp; anybody may put one there. The operator takes the
tickets away and adds their number to the annotation ``converge.example/served``. And the registry has moved: an image
of the spec that begins with ``registry.old.example/`` is rewritten to begin with ``registry.example/``.

You are not alone. Another desk adds to the same counter, and users change the spec, at any moment: between your read
and your write, too.
"""

import copy
from collections.abc import Callable

from converge.runtime import Client, Conflict, Manager, NotFound, Object, Request
from converge.webapp import WEBAPP

TICKET = "tickets.converge.example/"
SERVED = "converge.example/served"
OLD, NEW = "registry.old.example/", "registry.example/"
ATTEMPTS = 5  # against other writers; after that the work queue has more patience than we


# --8<-- [start:changes]
def serve_tickets(webapp: Object) -> None:
    """Take every ticket out of ``webapp`` and count it. Both in one object, so that one write stores both or none."""
    annotations = webapp["metadata"].get("annotations", {})
    tickets = [key for key in annotations if key.startswith(TICKET)]
    for key in tickets:
        del annotations[key]
    if tickets:
        annotations[SERVED] = str(int(annotations.get(SERVED, "0")) + len(tickets))


def migrate_images(webapp: Object) -> None:
    """Rewrite ``image`` and ``sidecar`` where they still name the old registry; leave all else as it is."""
    for field in ("image", "sidecar"):
        if webapp["spec"].get(field, "").startswith(OLD):
            webapp["spec"][field] = NEW + webapp["spec"][field].removeprefix(OLD)


# --8<-- [end:changes]


# --8<-- [start:update]
def update(client: Client, request: Request, change: Callable[[Object], None]) -> None:
    """Read the WebApp, ``change`` it, write it; if somebody else wrote in between, all of that again.

    Writes nothing when ``change`` changes nothing. Raises `Conflict` when others were faster every time.
    """
    for attempt in range(1, ATTEMPTS + 1):
        webapp = client.get(*WEBAPP, request.name, request.namespace)  # in the loop: after a 409, what is there now
        before = copy.deepcopy(webapp)
        change(webapp)
        if webapp == before:
            return
        try:
            client.replace(webapp)  # carries the resourceVersion that was read: that is the whole protection
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
        """One pass: whatever is to be changed is changed, on what is there now."""
        try:
            update(self.client, request, serve_tickets)
            update(self.client, request, migrate_images)
        except NotFound:
            return


def setup(manager: Manager) -> None:
    """Given: reconcile every WebApp."""
    manager.controller(WebAppReconciler(manager.client)).for_(*WEBAPP)
