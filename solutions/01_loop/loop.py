"""Lab 01: one pass of the loop.

Lesson:  docs/lessons/01_loop.md
Check:   make check LAB=01
Hint:    make hint LAB=01

Every half second ``reconcile`` is called with the name of each WebApp. Each call is one pass, and it begins from
nothing: what is wished for is in the WebApp's spec, what is there is in the cluster. Nothing is remembered.
"""

from converge.runtime import Client, Manager, NotFound, Object, Poll, Request
from converge.webapp import WEBAPP, desired_deployment

DEPLOYMENT = ("apps/v1", "Deployment")


# --8<-- [start:reconcile]
def reconcile(client: Client, request: Request) -> None:
    """One pass for one WebApp: fetch the wish, observe the world, act on the difference, report."""
    try:
        webapp = client.get(*WEBAPP, request.name, request.namespace)
    except NotFound:
        return  # deleted since the list was made: nobody wishes for anything, and that is no failure
    actual = observe(client, request)
    actual = act(client, desired_deployment(webapp), actual)
    report(client, webapp, actual)
    # --8<-- [end:reconcile]


def observe(client: Client, request: Request) -> Object | None:
    """The Deployment as it is now, or ``None`` when there is none. It is named like its WebApp."""
    try:
        return client.get(*DEPLOYMENT, request.name, request.namespace)
    except NotFound:
        return None


def settings(deployment: Object) -> tuple[str | None, int]:
    """Given: what this lesson cares for in a Deployment: the image of its container ``web``, the number of Pods."""
    images = {each["name"]: each["image"] for each in deployment["spec"]["template"]["spec"]["containers"]}
    return images.get("web"), deployment["spec"]["replicas"]


def act(client: Client, desired: Object, actual: Object | None) -> Object:
    """Create what is missing, change what differs, leave what is right; the Deployment as it is afterwards."""
    if actual is None:
        return client.create(desired)
    if settings(actual) != settings(desired):
        name, namespace = desired["metadata"]["name"], desired["metadata"]["namespace"]
        # Merged into what is there: what others have set, and we say nothing about, stays.
        return client.patch(*DEPLOYMENT, name, namespace, desired, type="strategic")
    return actual


def report(client: Client, webapp: Object, deployment: Object) -> None:
    """Say in the WebApp's status how many Pods are available, unless it says so already."""
    available = deployment.get("status", {}).get("availableReplicas", 0)
    if webapp.get("status", {}).get("availableReplicas") != available:
        name, namespace = webapp["metadata"]["name"], webapp["metadata"]["namespace"]
        # Status has an address of its own; sent to the WebApp itself, it would be dropped without a word.
        client.patch(*WEBAPP, name, namespace, {"status": {"availableReplicas": available}}, subresource="status")


def setup(manager: Manager) -> None:
    """Given: list the WebApps, call ``reconcile`` for each, wait, and again."""
    manager.add(Poll(*WEBAPP, reconcile, every=0.5))
