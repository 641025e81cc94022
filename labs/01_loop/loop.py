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


def reconcile(client: Client, request: Request) -> None:
    """One pass for one WebApp: fetch the desired state, observe the actual state, act on the difference, report."""
    # TODO 1: get the WebApp. If it is gone by now, there is nothing to do. Otherwise call the three functions below;
    #         ``desired_deployment(webapp)`` is the Deployment that it asks for (you write it in lesson 06).
    raise NotImplementedError("TODO 1: reconcile")


def observe(client: Client, request: Request) -> Object | None:
    """The Deployment as it is now, or ``None`` if there is none. It has the name of its WebApp."""
    # TODO 2: ask the API server. ``client.get`` raises ``NotFound`` if there is no such object.
    raise NotImplementedError("TODO 2: observe")


def settings(deployment: Object) -> tuple[str | None, int]:
    """Given: what this lesson compares: the image of the container ``web``, and the number of Pods."""
    images = {each["name"]: each["image"] for each in deployment["spec"]["template"]["spec"]["containers"]}
    return images.get("web"), deployment["spec"]["replicas"]


def act(client: Client, desired: Object, actual: Object | None) -> Object:
    """Create what is missing, change what differs, leave what is right. Return the Deployment that there is now."""
    # TODO 3: ``client.create(desired)``; or, if ``settings`` differ, ``client.patch(*DEPLOYMENT, name, namespace,
    #         desired, type="strategic")``, which merges ``desired`` into what is there. Both return the new object;
    #         if nothing differs, return ``actual``.
    raise NotImplementedError("TODO 3: act")


def report(client: Client, webapp: Object, deployment: Object) -> None:
    """Write the number of available Pods to the WebApp's status, unless it is there already."""
    # TODO 4: ``deployment["status"]["availableReplicas"]`` is the number; a new Deployment lacks that field.
    #         Patch the WebApp with ``{"status": {"availableReplicas": …}}`` and ``subresource="status"``.
    raise NotImplementedError("TODO 4: report")


def setup(manager: Manager) -> None:
    """Given: list the WebApps, call ``reconcile`` for each, wait, repeat."""
    manager.add(Poll(*WEBAPP, reconcile, every=0.5))
