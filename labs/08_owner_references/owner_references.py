"""Lab 08: an operator whose children go when their WebApp goes, and come back when they go alone.

Lesson:  docs/lessons/08_owner_references.md
Check:   make check LAB=08
Hint:    make hint LAB=08

The Deployment and the Service name their WebApp as their controller, and get that reference back when somebody removes
it. An object of the same name that is somebody else's is neither changed nor owned; a Warning Event about the WebApp,
or a condition of it, says so and names the kind. How to tell the two: who has another controller is not yours. Who has
none is yours only if you made it, and one that you made has your field manager, and the labels of lesson 06.
While a WebApp is being deleted, nothing is made for it.
"""

from converge.runtime import Client, EventRecorder, Manager, NotFound, Object, Request, Result, applied_fields
from converge.webapp import FIELD_MANAGER, WEBAPP, NameTaken, desired_children, ensure


def owner_reference(webapp: Object) -> Object:
    """What a child says of its owner. There is no namespace in it: an owner is in the namespace of what it owns."""
    # TODO 1: apiVersion, kind, name and uid of the WebApp, and that it is the one owner which manages the child.
    #         ``blockOwnerDeletion`` is as you like it: you have the right to update webapps/finalizers.
    raise NotImplementedError("TODO 1: owner_reference")


def controller_of(child: Object) -> Object | None:
    """Given: the owner reference of the one owner that manages ``child``, if it has one."""
    references = child["metadata"].get("ownerReferences", [])
    return next((each for each in references if each.get("controller")), None)


def is_controlled_by(child: Object, webapp: Object) -> bool:
    """Whether ``webapp`` manages ``child``. A WebApp that had this name yesterday was another one: ask for the uid."""
    # TODO 2: what tells this WebApp from every other that ever had its name?
    raise NotImplementedError("TODO 2: is_controlled_by")


def ensure_owned(client: Client, webapp: Object, child: Object) -> Object:
    """Make ``child`` exist as ``webapp``'s own and return it; raise `NameTaken` if its name is somebody else's."""
    # TODO 3: look at what is there under this name, if anything. Is it this WebApp's? Another one's? Nobody's, but made
    #         by us? (``applied_fields(live, FIELD_MANAGER)`` is empty for an object on which we never applied a field.)
    #         Then give ``child`` the reference and ``ensure`` it, which mends the reference as it mends every field.
    raise NotImplementedError("TODO 3: ensure_owned")


class WebAppReconciler:
    """Keeps the Deployment and the Service of each WebApp, as its own."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.events = EventRecorder(client, "webapp-operator")

    def reconcile(self, request: Request) -> Result | None:
        """One pass: every child is there, as wanted, and ours; what is somebody else's is reported."""
        # TODO 4: as before, with ``ensure_owned``. What is there to do for a WebApp that is being deleted?
        #         When a name is taken, ``self.events.event(webapp, "NameTaken", str(taken), type="Warning")`` tells
        #         people; look again after a while, ``Result(requeue_after=30)``: a stranger's going wakes nobody.
        raise NotImplementedError("TODO 4: reconcile")


def setup(manager: Manager) -> None:
    """Reconcile a WebApp when it changes, and when a child changes whose controller it is."""
    # TODO 5: ``manager.controller(…).for_(…)`` as before, and ``.owns(apiVersion, kind)`` for each kind of child.
    raise NotImplementedError("TODO 5: setup")
