"""Lab 01: one pass of the loop.

Lesson:  docs/lessons/01_loop.md
Check:   make check LAB=01
Hint:    make hint LAB=01

Every half second ``reconcile`` is called with the name of each WebApp. Each call is one pass, and it starts from
nothing: the desired state is in the WebApp's spec, the actual state is in the cluster. Remember nothing in between.
"""

from converge.operators.webapp import WEBAPP, desired_deployment
from converge.runtime import Client, Manager, NotFound, Object, Poll, Request

DEPLOYMENT = ("apps/v1", "Deployment")


# --8<-- [start:reconcile]
def reconcile(client: Client, request: Request) -> None:
    """One pass for one WebApp: fetch the desired state, observe the actual state, act on the difference, report."""
    try:
        webapp = client.get(*WEBAPP, request.name, request.namespace)
    except NotFound:
        return  # deleted since it was listed: there is nothing to do, and nothing has failed
    actual = observe(client, request)
    actual = act(client, desired_deployment(webapp), actual)
    report(client, webapp, actual)
    # --8<-- [end:reconcile]


def observe(client: Client, request: Request) -> Object | None:
    """The Deployment as it is now, or ``None`` if there is none. It has the name of its WebApp."""
    try:
        return client.get(*DEPLOYMENT, request.name, request.namespace)
    except NotFound:
        return None


def settings(deployment: Object) -> tuple[str | None, int]:
    """Given: what this lesson compares: the image of the container ``web``, and the number of Pods."""
    images = {each["name"]: each["image"] for each in deployment["spec"]["template"]["spec"]["containers"]}
    return images.get("web"), deployment["spec"]["replicas"]


def act(client: Client, desired: Object, actual: Object | None) -> Object:
    """Create what is missing, change what differs, leave what is right. Return the Deployment that there is now."""
    if actual is None:
        return client.create(desired)
    if settings(actual) != settings(desired):
        name, namespace = desired["metadata"]["name"], desired["metadata"]["namespace"]
        # Merged into what is there: fields that others have set, and we don't mention, stay.
        return client.patch(*DEPLOYMENT, name, namespace, desired, type="strategic")
    return actual


def report(client: Client, webapp: Object, deployment: Object) -> None:
    """Write the number of available Pods to the WebApp's status, unless it is there already."""
    available = deployment.get("status", {}).get("availableReplicas", 0)
    if webapp.get("status", {}).get("availableReplicas") != available:
        name, namespace = webapp["metadata"]["name"], webapp["metadata"]["namespace"]
        # Status has its own address; sent to the WebApp itself, it would be dropped silently.
        client.patch(*WEBAPP, name, namespace, {"status": {"availableReplicas": available}}, subresource="status")


def setup(manager: Manager) -> None:
    """Given: list the WebApps, call ``reconcile`` for each, wait, repeat."""
    manager.add(Poll(*WEBAPP, reconcile, every=0.5))
