"""Server-side apply, skipped while neither the wish nor the object's resourceVersion has moved since the last one.

What was applied is remembered in memory only: after a restart each child is applied once, which changes nothing.
Replicas are handed over by a second field manager, as the Kubernetes documentation describes it.
"""

import json

from converge.operators.webapp import WEBAPP, desired_deployment, desired_service
from converge.runtime import Invalid, Manager, NotFound, Request

OURS, HANDOVER = "webapps", "handover-to-autoscaler"


class Applier:
    def __init__(self, client) -> None:
        self.client = client
        self.settled: dict[tuple, tuple] = {}

    def reconcile(self, request: Request) -> None:
        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        except NotFound:
            return
        deployment = desired_deployment(webapp)
        if webapp["spec"].get("autoscaled"):
            self.let_go_of_replicas(deployment)
        for child in (desired_service(webapp), deployment):
            self.settle(child)

    def let_go_of_replicas(self, deployment: dict) -> None:
        del deployment["spec"]["replicas"]
        live = self.find(deployment)
        if live and any(
            entry["manager"] == OURS and "f:replicas" in entry["fieldsV1"].get("f:spec", {})
            for entry in live["metadata"]["managedFields"]
        ):
            keep = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": live["spec"]["replicas"]}}
            keep["metadata"] = {key: live["metadata"][key] for key in ("name", "namespace")}
            self.client.apply(keep, HANDOVER)

    def settle(self, wanted: dict) -> None:
        live = self.find(wanted)
        key = (wanted["kind"], wanted["metadata"]["namespace"], wanted["metadata"]["name"])
        wish = json.dumps(wanted, sort_keys=True)
        if live and self.settled.get(key) == (wish, live["metadata"]["resourceVersion"]):
            return
        try:
            after = self.client.apply(wanted, OURS, force=True)
        except Invalid:
            if not live or live["spec"].get("ports") == wanted["spec"].get("ports"):
                raise
            self.client.replace({**live, "spec": {**live["spec"], "ports": wanted["spec"]["ports"]}})
            after = self.client.apply(wanted, OURS, force=True)
        self.settled[key] = (wish, after["metadata"]["resourceVersion"])

    def find(self, obj: dict) -> dict | None:
        metadata = obj["metadata"]
        try:
            return self.client.get(obj["apiVersion"], obj["kind"], metadata["name"], metadata["namespace"])
        except NotFound:
            return None


def setup(manager: Manager) -> None:
    def same_name(obj):
        return [Request(obj["metadata"]["namespace"], obj["metadata"]["name"])]

    controller = manager.controller(Applier(manager.client)).for_(*WEBAPP)
    controller.watches("apps/v1", "Deployment", same_name).watches("v1", "Service", same_name)
