"""An operator on converge.runtime: a Site is a ConfigMap with the page and a Deployment that serves it."""

from converge.runtime import Client, Manager, NotFound, Object, Request, applied_fields

SITE = ("example.com/v1", "Site")
FIELD_MANAGER = "site-operator"


def children(site: Object) -> list[Object]:
    """What a Site consists of. Each child names its Site, so that it's collected with it."""
    name, spec = site["metadata"]["name"], site["spec"]
    owner = {"apiVersion": SITE[0], "kind": SITE[1], "name": name, "uid": site["metadata"]["uid"], "controller": True}
    metadata = {"name": name, "namespace": site["metadata"]["namespace"], "ownerReferences": [owner]}
    page = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"index.html": spec["text"]}}
    server = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": spec["replicas"],
            "selector": {"matchLabels": {"site": name}},
            "template": {
                "metadata": {"labels": {"site": name}},
                "spec": {
                    "containers": [
                        {
                            "name": "web",
                            "image": "nginx:1.29",
                            "volumeMounts": [{"name": "page", "mountPath": "/usr/share/nginx/html"}],
                        }
                    ],
                    "volumes": [{"name": "page", "configMap": {"name": name}}],
                },
            },
        },
    }
    return [page, server]


# --8<-- [start:reconcile]
class SiteReconciler:
    def __init__(self, client: Client) -> None:
        self.client = client

    def reconcile(self, request: Request) -> None:
        try:
            site = self.client.get(*SITE, request.name, request.namespace)
        except NotFound:
            return
        if "deletionTimestamp" in site["metadata"]:
            return
        for child in children(site):
            self.ensure(child)

    def ensure(self, child: Object) -> None:
        """Apply a child, unless all that we say about it is true already."""
        metadata = child["metadata"]
        try:
            live = self.client.get(child["apiVersion"], child["kind"], metadata["name"], metadata["namespace"])
        except NotFound:
            live = None
        if live is None or applied_fields(live, FIELD_MANAGER) != child:
            self.client.apply(child, FIELD_MANAGER, force=True)


def setup(manager: Manager) -> None:
    """A Site is looked at when it changes, and when a child of it does."""
    controller = manager.controller(SiteReconciler(manager.client)).for_(*SITE)
    controller.owns("v1", "ConfigMap").owns("apps/v1", "Deployment")


# --8<-- [end:reconcile]
