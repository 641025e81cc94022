"""The lab with each of its five bugs fixed where it is: caches, patches by replace, and a memory in an annotation."""

import copy
import json
from contextlib import suppress

from converge.operators.webapp import WEBAPP, assess, desired_children
from converge.runtime import Manager, NotFound, Object, Request

DEPLOYMENT, SERVICE = ("apps/v1", "Deployment"), ("v1", "Service")
MEMORY = "webapp.example/labels"  # which labels we have put there: in the cluster, where it survives us


class WebAppReconciler:
    def __init__(self, manager: Manager) -> None:
        self.client = manager.client
        self.caches = {kind: manager.cached(*kind) for kind in (WEBAPP, DEPLOYMENT, SERVICE)}

    def reconcile(self, request: Request) -> None:
        webapp, deployment, service = (cache.get(request.name, request.namespace) for cache in self.caches.values())
        if webapp is None or "deletionTimestamp" in webapp["metadata"]:
            self.remove(request)
            return
        wanted, wanted_service = desired_children(webapp)
        deployment = self.ensure(deployment, wanted, set_deployment)
        self.ensure(service, wanted_service, set_service)
        self.report(webapp, deployment)

    def ensure(self, live: Object | None, wanted: Object, change) -> Object:
        memory = {MEMORY: json.dumps(sorted(wanted["metadata"]["labels"]))}
        if live is None:
            return self.client.create({**wanted, "metadata": {**wanted["metadata"], "annotations": memory}})
        new = copy.deepcopy(live)
        ours = set(json.loads(live["metadata"].get("annotations", {}).get(MEMORY, "[]")))
        set_labels(new["metadata"], wanted["metadata"]["labels"], ours)
        new["metadata"].setdefault("annotations", {}).update(memory)
        change(new, wanted, ours)
        return live if new == live else self.client.replace(new)  # with the version that we read

    def remove(self, request: Request) -> None:
        try:  # the cache may be old: ask before anything is deleted
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
            if "deletionTimestamp" not in webapp["metadata"]:
                return
        except NotFound:
            pass
        for kind in (DEPLOYMENT, SERVICE):
            with suppress(NotFound):
                self.client.delete(*kind, request.name, request.namespace)

    def report(self, webapp: Object, deployment: Object) -> None:
        status, before = assess(webapp, deployment), webapp.get("status", {})
        ours = {each["type"] for each in status["conditions"]}
        status["conditions"] += [each for each in before.get("conditions", []) if each["type"] not in ours]
        if status != before:
            self.client.replace({**webapp, "status": status}, subresource="status")


def set_labels(metadata: Object, wanted: dict[str, str], ours: set[str]) -> None:
    kept = {key: value for key, value in metadata.get("labels", {}).items() if key not in ours}
    metadata["labels"] = {**kept, **wanted}


def set_deployment(new: Object, wanted: Object, ours: set[str]) -> None:
    template = new["spec"]["template"]
    set_labels(template["metadata"], wanted["metadata"]["labels"], ours)
    if "replicas" in wanted["spec"]:
        new["spec"]["replicas"] = wanted["spec"]["replicas"]
    mine = {each["name"]: each for each in wanted["spec"]["template"]["spec"]["containers"]}
    there = template["spec"]["containers"]
    template["spec"]["containers"] = [each for each in there if each["name"] != "logger" or "logger" in mine]
    for name, container in mine.items():
        found = next((each for each in there if each["name"] == name), None)
        if found is None:
            template["spec"]["containers"].append(container)
            continue
        found["image"] = container["image"]
        if [port["containerPort"] for port in found.get("ports", [])] != [
            port["containerPort"] for port in container.get("ports", [])
        ]:
            found["ports"] = container["ports"]


def set_service(new: Object, wanted: Object, ours: set[str]) -> None:
    new["spec"]["selector"] = wanted["spec"]["selector"]
    named = ("name", "port", "targetPort")
    if [{key: port.get(key) for key in named} for port in new["spec"]["ports"]] != wanted["spec"]["ports"]:
        new["spec"]["ports"] = wanted["spec"]["ports"]


def same_name(child: Object) -> list[Request]:
    ours = child["metadata"].get("labels", {}).get("app.kubernetes.io/name") == "webapp"
    return [Request(child["metadata"]["namespace"], child["metadata"]["name"])] if ours else []


def setup(manager: Manager) -> None:
    controller = manager.controller(WebAppReconciler(manager)).for_(*WEBAPP)
    controller.watches(*DEPLOYMENT, same_name).watches(*SERVICE, same_name)
