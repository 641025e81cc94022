"""Reads from the manager's caches, and lets server-side apply make what is missing: an upsert cannot exist already."""

from converge.runtime import Manager, Request

OPERATOR = "webapps.converge.example"


def children(webapp):
    name, namespace, spec = webapp["metadata"]["name"], webapp["metadata"]["namespace"], webapp["spec"]
    identity = {"app.kubernetes.io/instance": name}
    labels = spec.get("labels", {}) | identity | {"app.kubernetes.io/managed-by": OPERATOR}
    pod = {"containers": [{"name": "web", "image": spec["image"], "ports": [{"containerPort": spec["port"]}]}]}
    if spec.get("sidecar"):
        pod["containers"].insert(0, {"name": "logger", "image": spec["sidecar"]})
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {
        ("v1", "Service"): {
            "metadata": metadata,
            "spec": {"selector": identity, "ports": [{"name": "http", "port": spec["port"]}]},
        },
        ("apps/v1", "Deployment"): {
            "metadata": metadata,
            "spec": {
                "replicas": spec["replicas"],
                "selector": {"matchLabels": identity},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        },
    }


class Reconciler:
    def __init__(self, manager: Manager) -> None:
        self.client = manager.client
        self.webapps = manager.cached("converge.example/v1", "WebApp")
        self.caches = {kind: manager.cached(*kind) for kind in (("apps/v1", "Deployment"), ("v1", "Service"))}

    def reconcile(self, request: Request) -> None:
        webapp = self.webapps.get(request.name, request.namespace)
        if webapp is None:
            return
        for (api_version, kind), body in children(webapp).items():
            if self.caches[api_version, kind].get(request.name, request.namespace) is None:
                self.client.apply({"apiVersion": api_version, "kind": kind, **body}, OPERATOR, force=True)


def setup(manager: Manager) -> None:
    manager.controller(Reconciler(manager)).for_("converge.example/v1", "WebApp")
