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


def serve_tickets(webapp: Object) -> None:
    """Take every ticket out of ``webapp`` and count it: both in one object, so one write stores both or neither."""
    # TODO 1: which annotations are tickets? Change ``webapp`` in place, and only if there are any.
    raise NotImplementedError("TODO 1: serve_tickets")


def migrate_images(webapp: Object) -> None:
    """Rewrite ``image`` and ``sidecar`` where they still name the old registry; leave everything else alone."""
    # TODO 2: don't touch a field that isn't there or that names another registry.
    raise NotImplementedError("TODO 2: migrate_images")


def update(client: Client, request: Request, change: Callable[[Object], None]) -> None:
    """Read the WebApp, ``change`` it, write it; if another writer got in between, do all of that again.

    Writes nothing when ``change`` changes nothing. Raises `Conflict` when others were faster every time.
    """
    # TODO 3: ``client.replace(webapp)`` raises ``Conflict`` if the WebApp is no longer at the version that you read.
    #         Which steps do you have to repeat then? And how often, before it's the work queue's turn?
    raise NotImplementedError("TODO 3: update")


class WebAppReconciler:
    """Serves the tickets of each WebApp and migrates its images."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def reconcile(self, request: Request) -> None:
        """One pass: make both changes, on what's there now."""
        # TODO 4: make both changes with ``update``. A WebApp that's gone doesn't need any.
        raise NotImplementedError("TODO 4: reconcile")


def setup(manager: Manager) -> None:
    """Given: reconcile every WebApp."""
    manager.controller(WebAppReconciler(manager.client)).for_(*WEBAPP)
