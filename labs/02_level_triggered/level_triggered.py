"""Lab 02: a name, not an event.

Lesson:  docs/lessons/02_level_triggered.md
Check:   make check LAB=02
Hint:    make hint LAB=02

``src/converge/operators/edge.py`` does what each event says, and keeps count. Write the same operator so that it
doesn't matter which events came, how often, or in what order: it gets a name, and looks up the rest. It never looks at
the type of an event, and it keeps nothing between two calls.
"""

from converge.operators.webapp import WEBAPP, ensure_deployment
from converge.runtime import Client, Manager, NotFound, Object, Request

DEPLOYMENT = ("apps/v1", "Deployment")
OURS = "app.kubernetes.io/name=webapp"  # the label of every Deployment that we make


def requests_for(deployment: Object) -> list[Request]:
    """Which WebApps to look at when one of our Deployments changed, whatever the change: the one with its name."""
    # TODO 1: a Request is a namespace and a name. It has no room for an event.
    raise NotImplementedError("TODO 1: requests_for")


class WebAppReconciler:
    """Brings the Deployment of one WebApp to its desired state, from wherever it is."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def reconcile(self, request: Request) -> None:
        """Make sure there is the Deployment that the WebApp asks for, or none if there is no WebApp."""
        # TODO 2: the branches of ``edge.handle`` become one question: is there a WebApp with this name now?
        #         ``ensure_deployment(self.client, webapp)`` does what you wrote in lab 01: observe, compare, act.
        raise NotImplementedError("TODO 2: WebAppReconciler.reconcile")

    def remove(self, request: Request) -> None:
        """Make sure there is no Deployment with this name. If there is none already, that is fine."""
        # TODO 3: ``self.client.delete``; it raises ``NotFound`` if there is no such object.
        raise NotImplementedError("TODO 3: WebAppReconciler.remove")


def setup(manager: Manager) -> None:
    """Given: hand out the name of each WebApp, and what ``requests_for`` returns for each of our Deployments.

    At the start that is all of them; afterwards, the ones that an event is about.
    """
    controller = manager.controller(WebAppReconciler(manager.client)).for_(*WEBAPP)
    controller.watches(*DEPLOYMENT, requests_for, label_selector=OURS)
