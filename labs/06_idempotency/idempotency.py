"""Lab 06: an operator that can run any number of times, because twice is once.

Lesson:  docs/lessons/06_idempotency.md
Check:   make check LAB=06
Hint:    make hint LAB=06

A WebApp gets a Deployment and a Service, both with its name. The Pods run a container ``web`` and, when the spec names
a ``sidecar``, a container ``logger`` next to it. You write the builders, pure functions from a WebApp to the object it
asks for, and the pass that makes these objects exist. That pass will be called again: after a restart, a resync, a
retry, a duplicate event, and half a failure.
"""

from converge.runtime import AlreadyExists, Client, Manager, NotFound, Object, Request

WEBAPP = ("converge.example/v1", "WebApp")


def selector(webapp: Object) -> dict[str, str]:
    """Given: the labels that distinguish this WebApp's Pods from all others."""
    return {"app.kubernetes.io/name": "webapp", "app.kubernetes.io/instance": webapp["metadata"]["name"]}


def child_metadata(webapp: Object) -> Object:
    """Given: the name, namespace and labels of both children."""
    name, namespace = webapp["metadata"]["name"], webapp["metadata"]["namespace"]
    return {"name": name, "namespace": namespace, "labels": {**webapp["spec"].get("labels", {}), **selector(webapp)}}


def desired_deployment(webapp: Object) -> Object:
    """The Deployment that ``webapp`` asks for; the same WebApp always gives the same object."""
    # TODO 1: containers ``web`` (with its port) and, if the spec has a ``sidecar``, ``logger``. ``selector(webapp)`` is
    #         for ``matchLabels``; the template gets the labels of ``child_metadata(webapp)``, which include those.
    raise NotImplementedError("TODO 1: desired_deployment")


def desired_service(webapp: Object) -> Object:
    """The Service in front of this WebApp's Pods, and no others, on the port of the spec."""
    # TODO 2: one port, called ``http``; ``selector(webapp)`` says which Pods get its traffic.
    raise NotImplementedError("TODO 2: desired_service")


class WebAppReconciler:
    """Makes a Deployment and a Service exist for each WebApp."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def reconcile(self, request: Request) -> None:
        """One pass: create what is missing, leave alone what is there."""
        # TODO 3: get the WebApp (it may be gone), then ``ensure`` both children.
        raise NotImplementedError("TODO 3: reconcile")

    def ensure(self, child: Object) -> None:
        """Make ``child`` exist. Its name is fixed, so a second attempt meets the result of the first."""
        # TODO 4: look first, and create what isn't there. What you see can be out of date: what does ``AlreadyExists``
        #         tell you?
        raise NotImplementedError("TODO 4: ensure")


def setup(manager: Manager) -> None:
    """Given: reconcile every WebApp."""
    manager.controller(WebAppReconciler(manager.client)).for_(*WEBAPP)
