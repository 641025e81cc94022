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


def reconcile(client: Client, request: Request) -> None:
    """One pass for one WebApp: fetch the wish, observe the world, act on the difference, report."""
    # TODO 1: get the WebApp. It may be gone by now: then nobody wishes for anything. Then call the three below;
    #         ``desired_deployment(webapp)`` is the Deployment that it asks for (you write it in lesson 06).
    raise NotImplementedError("TODO 1: reconcile")


def observe(client: Client, request: Request) -> Object | None:
    """The Deployment as it is now, or ``None`` when there is none. It is named like its WebApp."""
    # TODO 2: ask the API server. ``client.get`` raises ``NotFound`` for what is not there.
    raise NotImplementedError("TODO 2: observe")


def settings(deployment: Object) -> tuple[str | None, int]:
    """Given: what this lesson cares for in a Deployment: the image of its container ``web``, the number of Pods."""
    images = {each["name"]: each["image"] for each in deployment["spec"]["template"]["spec"]["containers"]}
    return images.get("web"), deployment["spec"]["replicas"]


def act(client: Client, desired: Object, actual: Object | None) -> Object:
    """Create what is missing, change what differs, leave what is right; the Deployment as it is afterwards."""
    # TODO 3: ``client.create(desired)``; or, if ``settings`` differ, ``client.patch(*DEPLOYMENT, name, namespace,
    #         desired, type="strategic")``, which merges ``desired`` into what is there. Both return the new object.
    raise NotImplementedError("TODO 3: act")


def report(client: Client, webapp: Object, deployment: Object) -> None:
    """Say in the WebApp's status how many Pods are available, unless it says so already."""
    # TODO 4: ``deployment["status"]["availableReplicas"]`` is the number; a young Deployment has no such field yet.
    #         Patch the WebApp with ``{"status": {"availableReplicas": …}}`` and ``subresource="status"``.
    raise NotImplementedError("TODO 4: report")


def setup(manager: Manager) -> None:
    """Given: list the WebApps, call ``reconcile`` for each, wait, and again."""
    manager.add(Poll(*WEBAPP, reconcile, every=0.5))
