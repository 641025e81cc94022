"""A strategic merge patch, with what was last applied in an annotation, as ``kubectl apply`` does; polls to heal."""

import json

from converge.operators.webapp import WEBAPP, desired_deployment, desired_service
from converge.runtime import AlreadyExists, Manager, NotFound, Request, Result

LAST = "converge.example/last-applied"
KEYS = {"containers": "name", "ports": "port"}  # the merge keys of the lists that we write


def contains(live, wanted, field="") -> bool:
    """Whether ``live`` has all that ``wanted`` says."""
    if isinstance(wanted, dict):
        return isinstance(live, dict) and all(contains(live.get(key), value, key) for key, value in wanted.items())
    if isinstance(wanted, list) and wanted and isinstance(wanted[0], dict):
        key = key_of(field, wanted)
        by_key = {item.get(key): item for item in live or []}
        return all(contains(by_key.get(item[key]), item) for item in wanted)
    return live == wanted


def key_of(field: str, items: list) -> str:
    return "containerPort" if "containerPort" in items[0] else KEYS[field]


def removals(last, wanted, field=""):
    """A patch that removes what ``last`` says and ``wanted`` does not."""
    if isinstance(last, dict) and isinstance(wanted, dict):
        gone = {key: None for key in last if key not in wanted}
        inside = {key: removals(last[key], wanted[key], key) for key in last if key in wanted}
        return gone | {key: value for key, value in inside.items() if value}
    if isinstance(last, list) and isinstance(wanted, list) and last and isinstance(last[0], dict):
        key = key_of(field, last)
        new = {item[key]: item for item in wanted}
        gone = [{key: item[key], "$patch": "delete"} for item in last if item[key] not in new]
        for item in last:
            if item[key] in new and (inside := removals(item, new[item[key]])):
                gone.append({key: item[key], **inside})
        return gone
    return None


def merged(wanted, gone, field=""):
    if isinstance(wanted, dict) and isinstance(gone, dict):
        return wanted | {key: merged(wanted.get(key), value, key) for key, value in gone.items()}
    if isinstance(wanted, list) and isinstance(gone, list) and gone:
        key = key_of(field, wanted)
        changes = {item[key]: item for item in gone}
        kept = [merged(item, changes.pop(item[key], {})) for item in wanted]
        return kept + list(changes.values())
    return wanted if gone is None else gone if wanted is None else wanted


class Patcher:
    def __init__(self, client) -> None:
        self.client = client

    def reconcile(self, request: Request) -> Result | None:
        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        except NotFound:
            return None
        deployment = desired_deployment(webapp)
        self.settle(deployment, ignore_replicas=webapp["spec"].get("autoscaled", False))
        self.settle(desired_service(webapp))
        return Result(requeue_after=0.3)  # children are not watched here, so look again

    def settle(self, wanted: dict, ignore_replicas: bool = False) -> None:
        name, namespace = wanted["metadata"]["name"], wanted["metadata"]["namespace"]
        if ignore_replicas:
            del wanted["spec"]["replicas"]
        remembered = {"labels": wanted["metadata"]["labels"], "spec": wanted["spec"]}
        wanted["metadata"]["annotations"] = {LAST: json.dumps(remembered, sort_keys=True)}
        try:
            live = self.client.get(wanted["apiVersion"], wanted["kind"], name, namespace)
        except NotFound:
            try:
                self.client.create(wanted)
            except AlreadyExists:
                pass
            return
        if contains(live["metadata"], wanted["metadata"]) and contains(live["spec"], wanted["spec"]):
            return
        last = json.loads(live["metadata"].get("annotations", {}).get(LAST, "{}"))
        if ignore_replicas:
            last.get("spec", {}).pop("replicas", None)
        body = merged(remembered, removals(last, remembered) or {})
        body = {"metadata": wanted["metadata"] | {"labels": body["labels"]}, "spec": body["spec"]}
        if wanted["kind"] == "Service":  # a merge by number would leave a renumbered port beside ours
            body["spec"]["ports"] = [*wanted["spec"]["ports"], {"$patch": "replace"}]
        self.client.patch(wanted["apiVersion"], wanted["kind"], name, namespace, body, type="strategic")


def setup(manager: Manager) -> None:
    manager.controller(Patcher(manager.client)).for_(*WEBAPP)
