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


# --8<-- [start:lab]
def requests_for(deployment: Object) -> list[Request]:
    """Which WebApps to look at when one of our Deployments changed, whatever the change: the one with its name."""
    return [Request(deployment["metadata"]["namespace"], deployment["metadata"]["name"])]


class WebAppReconciler:
    """Brings the Deployment of one WebApp to its desired state, from wherever it is."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def reconcile(self, request: Request) -> None:
        """Make sure there is the Deployment that the WebApp asks for, or none if there is no WebApp."""
        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        except NotFound:
            self.remove(request)
        else:
            ensure_deployment(self.client, webapp)

    def remove(self, request: Request) -> None:
        """Make sure there is no Deployment with this name. If there is none already, that is fine."""
        try:
            self.client.delete(*DEPLOYMENT, request.name, request.namespace)
        except NotFound:
            pass

    # --8<-- [end:lab]


def setup(manager: Manager) -> None:
    """Given: hand out the name of each WebApp, and what ``requests_for`` returns for each of our Deployments.

    At the start that is all of them; afterwards, the ones that an event is about.
    """
    controller = manager.controller(WebAppReconciler(manager.client)).for_(*WEBAPP)
    controller.watches(*DEPLOYMENT, requests_for, label_selector=OURS)
