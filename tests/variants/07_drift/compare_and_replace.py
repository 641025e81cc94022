"""Read, change what differs, write the whole object with its resourceVersion; an annotation remembers our labels."""

import copy
import json

from converge.operators.webapp import WEBAPP, desired_deployment, desired_service
from converge.runtime import Manager, NotFound, Request

MEMORY = "converge.example/labels"


def labels(target: dict, wanted: dict, ours_before: list) -> None:
    have = target.setdefault("labels", {})
    for key in ours_before:
        if key not in wanted:
            have.pop(key, None)
    have.update(wanted)


def deployment(live: dict, wanted: dict, webapp: dict) -> None:
    if not webapp["spec"].get("autoscaled"):
        live["spec"]["replicas"] = wanted["spec"]["replicas"]
    pod = live["spec"]["template"]["spec"]
    by_name = {container["name"]: container for container in wanted["spec"]["template"]["spec"]["containers"]}
    pod["containers"] = [each for each in pod["containers"] if each["name"] != "logger" or "logger" in by_name]
    for name, container in by_name.items():
        mine = next((each for each in pod["containers"] if each["name"] == name), None)
        if mine is None:
            pod["containers"].append(container)
            continue
        mine["image"] = container["image"]
        if [port["containerPort"] for port in mine.get("ports", [])] != [
            port["containerPort"] for port in container.get("ports", [])
        ]:
            mine["ports"] = container.get("ports", [])


def service(live: dict, wanted: dict, webapp: dict) -> None:
    (want,) = wanted["spec"]["ports"]
    ports = live["spec"].setdefault("ports", [])
    mine = next((port for port in ports if port.get("name") == "http" or port["port"] == want["port"]), None)
    if mine is None:
        ports.append(want)
    else:
        mine.update(want)
    live["spec"]["selector"] = wanted["spec"]["selector"]


class Replacer:
    def __init__(self, client) -> None:
        self.client = client

    def reconcile(self, request: Request) -> None:
        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        except NotFound:
            return
        self.settle(desired_deployment(webapp), webapp, deployment)
        self.settle(desired_service(webapp), webapp, service)

    def settle(self, wanted: dict, webapp: dict, change) -> None:
        memory = {MEMORY: json.dumps(sorted(wanted["metadata"]["labels"]))}
        wanted["metadata"]["annotations"] = memory
        name, namespace = wanted["metadata"]["name"], wanted["metadata"]["namespace"]
        try:
            live = self.client.get(wanted["apiVersion"], wanted["kind"], name, namespace)
        except NotFound:
            self.client.create(wanted)
            return
        new = copy.deepcopy(live)
        annotations = new["metadata"].setdefault("annotations", {})
        before = json.loads(annotations.get(MEMORY, "[]"))
        annotations.update(memory)
        labels(new["metadata"], wanted["metadata"]["labels"], before)
        if wanted["kind"] == "Deployment":
            labels(new["spec"]["template"]["metadata"], wanted["spec"]["template"]["metadata"]["labels"], before)
        change(new, wanted, webapp)
        if new != live:
            self.client.replace(new)


def setup(manager: Manager) -> None:
    def same_name(obj):
        return [Request(obj["metadata"]["namespace"], obj["metadata"]["name"])]

    controller = manager.controller(Replacer(manager.client)).for_(*WEBAPP)
    controller.watches("apps/v1", "Deployment", same_name).watches("v1", "Service", same_name)
