"""Lab 02: told a name, not an event.

Lesson:  docs/lessons/02_level_triggered.md
Check:   make check LAB=02
Hint:    make hint LAB=02

``src/converge/edge.py`` does what each event says, and counts along. Write the same operator so that it does not
matter which events came, how often, or in what order: it is told a name, and looks at the rest. No look at the type
of an event, nothing kept between two calls.
"""

from converge.runtime import Client, Manager, NotFound, Object, Request
from converge.webapp import WEBAPP, ensure_deployment

DEPLOYMENT = ("apps/v1", "Deployment")
OURS = "app.kubernetes.io/name=webapp"  # a label of every Deployment that we make


# --8<-- [start:lab]
def requests_for(deployment: Object) -> list[Request]:
    """Which WebApps to look at when one of our Deployments has changed, whatever the change: the one of its name."""
    return [Request(deployment["metadata"]["namespace"], deployment["metadata"]["name"])]


class WebAppReconciler:
    """Brings the Deployment of one WebApp to where it should be, from wherever it is."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def reconcile(self, request: Request) -> None:
        """Look, and make it so: the Deployment that the WebApp asks for, or none when there is no WebApp."""
        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        except NotFound:
            self.remove(request)
        else:
            ensure_deployment(self.client, webapp)

    def remove(self, request: Request) -> None:
        """Let there be no Deployment of this name. That there is none already is just as well."""
        try:
            self.client.delete(*DEPLOYMENT, request.name, request.namespace)
        except NotFound:
            pass

    # --8<-- [end:lab]


def setup(manager: Manager) -> None:
    """Given: hand out the name of each WebApp, and what ``requests_for`` says of each of our Deployments.

    At the start that is all of them; afterwards, those that an event is about.
    """
    controller = manager.controller(WebAppReconciler(manager.client)).for_(*WEBAPP)
    controller.watches(*DEPLOYMENT, requests_for, label_selector=OURS)
