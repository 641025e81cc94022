"""Each pass takes one step, the Service first, and asks to be called again; what is there is found by lists."""

from converge.runtime import ApiError, Manager, Request, Result

WEBAPP = ("converge.example/v1", "WebApp")
KINDS = (("v1", "Service"), ("apps/v1", "Deployment"))


def build(kind: str, webapp: dict) -> dict:
    spec, name = webapp["spec"], webapp["metadata"]["name"]
    mine = {"webapp": webapp["metadata"]["uid"]}
    if kind == "Service":
        return {"selector": mine, "ports": [{"name": "http", "port": spec["port"], "targetPort": "main"}]}
    containers = {"web": {"image": spec["image"], "ports": [{"name": "main", "containerPort": spec["port"]}]}}
    if "sidecar" in spec:
        containers["logger"] = {"image": spec["sidecar"]}
    return {
        "replicas": spec["replicas"],
        "selector": {"matchLabels": mine},
        "template": {
            "metadata": {"labels": {**spec.get("labels", {}), **mine, "app": name}},
            "spec": {"containers": [{"name": name, **container} for name, container in containers.items()]},
        },
    }


class OneStep:
    def __init__(self, client) -> None:
        self.client = client

    def reconcile(self, request: Request) -> Result | None:
        found = [obj for obj in self.client.list(*WEBAPP, request.namespace) if obj["metadata"]["name"] == request.name]
        for webapp in found:
            for api_version, kind in KINDS:
                if not self.there(api_version, kind, request) and self.make(api_version, kind, webapp):
                    return Result(requeue_after=0)
        return None

    def there(self, api_version: str, kind: str, request: Request) -> bool:
        listed = self.client.list(api_version, kind, request.namespace, field_selector=f"metadata.name={request.name}")
        return len(listed) == 1

    def make(self, api_version: str, kind: str, webapp: dict) -> bool:
        """Whether it was made; it may have been there, and the list too old to say so."""
        labels = {**webapp["spec"].get("labels", {}), "webapp": webapp["metadata"]["uid"]}
        metadata = {key: webapp["metadata"][key] for key in ("name", "namespace")} | {"labels": labels}
        body = {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": build(kind, webapp)}
        try:
            self.client.create(body)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            return False
        return True


def setup(manager: Manager) -> None:
    manager.controller(OneStep(manager.client)).for_(*WEBAPP)
