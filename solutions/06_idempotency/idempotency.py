"""Lab 06: an operator that can run any number of times, because twice is once.

Lesson:  docs/lessons/06_idempotency.md
Check:   make check LAB=06
Hint:    make hint LAB=06

A WebApp gets a Deployment and a Service, both with its name. The Pods run a container ``web`` and, when the spec names
a ``sidecar``, a container ``logger`` next to it. You write the builders, pure functions from a WebApp to the object it
asks for, and the pass that makes these objects exist. That pass will be called again: after a restart, a resync, a
retry, a duplicate event, and half a failure.
"""

from contextlib import suppress

from converge.runtime import AlreadyExists, Client, Manager, NotFound, Object, Request

WEBAPP = ("converge.example/v1", "WebApp")


# --8<-- [start:builders]
def selector(webapp: Object) -> dict[str, str]:
    """Given: the labels that distinguish this WebApp's Pods from all others."""
    return {"app.kubernetes.io/name": "webapp", "app.kubernetes.io/instance": webapp["metadata"]["name"]}


def child_metadata(webapp: Object) -> Object:
    """Given: the name, namespace and labels of both children."""
    name, namespace = webapp["metadata"]["name"], webapp["metadata"]["namespace"]
    return {"name": name, "namespace": namespace, "labels": {**webapp["spec"].get("labels", {}), **selector(webapp)}}


def desired_deployment(webapp: Object) -> Object:
    """The Deployment that ``webapp`` asks for; the same WebApp always gives the same object."""
    spec = webapp["spec"]
    containers = [{"name": "web", "image": spec["image"], "ports": [{"containerPort": spec["port"]}]}]
    if "sidecar" in spec:
        containers.append({"name": "logger", "image": spec["sidecar"]})
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": child_metadata(webapp),
        "spec": {
            "replicas": spec["replicas"],
            "selector": {"matchLabels": selector(webapp)},
            "template": {"metadata": {"labels": child_metadata(webapp)["labels"]}, "spec": {"containers": containers}},
        },
    }


def desired_service(webapp: Object) -> Object:
    """The Service in front of this WebApp's Pods, and no others, on the port of the spec."""
    port = webapp["spec"]["port"]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": child_metadata(webapp),
        "spec": {"selector": selector(webapp), "ports": [{"name": "http", "port": port, "targetPort": port}]},
    }


# --8<-- [end:builders]


class WebAppReconciler:
    """Makes a Deployment and a Service exist for each WebApp."""

    def __init__(self, client: Client) -> None:
        self.client = client

    # --8<-- [start:reconcile]
    def reconcile(self, request: Request) -> None:
        """One pass: create what is missing, leave alone what is there."""
        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        except NotFound:
            return
        for child in (desired_deployment(webapp), desired_service(webapp)):
            self.ensure(child)

    def ensure(self, child: Object) -> None:
        """Make ``child`` exist. Its name is fixed, so a second attempt meets the result of the first."""
        metadata = child["metadata"]
        try:
            self.client.get(child["apiVersion"], child["kind"], metadata["name"], metadata["namespace"])
        except NotFound:
            with suppress(AlreadyExists):  # an earlier pass made it, and this read was too old to show it
                self.client.create(child)

    # --8<-- [end:reconcile]


def setup(manager: Manager) -> None:
    """Given: reconcile every WebApp."""
    manager.controller(WebAppReconciler(manager.client)).for_(*WEBAPP)
