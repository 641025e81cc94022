"""Lab 08: an operator whose children go when their WebApp goes, and come back when only they are deleted.

Lesson:  docs/lessons/08_owner_references.md
Check:   make check LAB=08
Hint:    make hint LAB=08

The Deployment and the Service name their WebApp as their controller, and get that reference back when someone removes
it. An object of the same name that belongs to someone else is neither changed nor owned; a Warning Event about the
WebApp, or a condition on it, says so and names the object's kind. How to tell the two apart: an object with another
controller isn't yours. One without a controller is yours only if you made it, and then it has your field manager and
the labels of lesson 06's ``selector``. While a WebApp is being deleted, nothing is created for it.
"""

from converge.operators.webapp import FIELD_MANAGER, WEBAPP, NameTaken, desired_children, ensure
from converge.runtime import Client, EventRecorder, Manager, NotFound, Object, Request, Result, applied_fields


def owner_reference(webapp: Object) -> Object:
    """What a child says about its owner. It has no namespace: an owner lives in the namespace of what it owns."""
    # TODO 1: say which object it is (which four fields does the garbage collector need?), and that it is the one
    #         owner that manages the child. ``blockOwnerDeletion`` is up to you: you have the right to update
    #         webapps/finalizers.
    raise NotImplementedError("TODO 1: owner_reference")


def controller_of(child: Object) -> Object | None:
    """Given: the reference to the one owner that manages ``child``, if there is one."""
    references = child["metadata"].get("ownerReferences", [])
    return next((each for each in references if each.get("controller")), None)


def is_controlled_by(child: Object, webapp: Object) -> bool:
    """Whether ``webapp`` manages ``child``. One that had this name yesterday was a different WebApp: check the uid."""
    # TODO 2: what distinguishes this WebApp from every other that ever had its name?
    raise NotImplementedError("TODO 2: is_controlled_by")


def ensure_owned(client: Client, webapp: Object, child: Object) -> Object:
    """Make ``child`` exist as ``webapp``'s own; raise `NameTaken` if its name belongs to someone else."""
    # TODO 3: look at what has this name, if anything. Does this WebApp control it? Does something else? Or nothing, but
    #         we made it? (``applied_fields(live, FIELD_MANAGER)`` is empty if we never applied a field to an object.)
    #         Then give ``child`` the reference and ``ensure`` it, which restores the reference like any other field.
    raise NotImplementedError("TODO 3: ensure_owned")


class WebAppReconciler:
    """Keeps the Deployment and the Service of each WebApp, and owns them."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.events = EventRecorder(client, "webapp-operator")

    def reconcile(self, request: Request) -> Result | None:
        """One pass: make every child exist, as wanted and as ours; report what belongs to someone else."""
        # TODO 4: as before, with ``ensure_owned``. What is there to do for a WebApp that is being deleted?
        #         When a name is taken, ``self.events.event(webapp, "NameTaken", str(taken), type="Warning")`` tells
        #         the user. Look again after a while, ``Result(requeue_after=30)``: when a stranger's object goes, no
        #         event brings you back.
        raise NotImplementedError("TODO 4: reconcile")


def setup(manager: Manager) -> None:
    """Reconcile a WebApp when it changes, and when a child that it controls changes."""
    # TODO 5: ``manager.controller(…).for_(…)`` as before, then ``.owns(apiVersion, kind)`` for each kind of child.
    raise NotImplementedError("TODO 5: setup")
