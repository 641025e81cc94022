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


def serve_tickets(webapp: Object) -> None:
    """Take every ticket out of ``webapp`` and count it. Both in one object, so that one write stores both or none."""
    # TODO 1: which annotations are tickets? Change ``webapp`` in place, and only if there are any.
    raise NotImplementedError("TODO 1: serve_tickets")


def migrate_images(webapp: Object) -> None:
    """Rewrite ``image`` and ``sidecar`` where they still name the old registry; leave all else as it is."""
    # TODO 2: a field that is not there, or names another registry, is not touched.
    raise NotImplementedError("TODO 2: migrate_images")


def update(client: Client, request: Request, change: Callable[[Object], None]) -> None:
    """Read the WebApp, ``change`` it, write it; if somebody else wrote in between, all of that again.

    Writes nothing when ``change`` changes nothing. Raises `Conflict` when others were faster every time.
    """
    # TODO 3: ``client.replace(webapp)`` raises ``Conflict`` if the WebApp is not of the version that you read any more.
    #         Which of the steps have to be made again then? And how often, before it is the work queue's turn?
    raise NotImplementedError("TODO 3: update")


class WebAppReconciler:
    """Serves the tickets of each WebApp and migrates its images."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def reconcile(self, request: Request) -> None:
        """One pass: whatever is to be changed is changed, on what is there now."""
        # TODO 4: both changes, with ``update``. A WebApp that is gone needs none.
        raise NotImplementedError("TODO 4: reconcile")


def setup(manager: Manager) -> None:
    """Given: reconcile every WebApp."""
    manager.controller(WebAppReconciler(manager.client)).for_(*WEBAPP)
