"""A merge patch of the whole status, others' conditions included, with the version that was read.

If someone was faster, that is a conflict, and the next pass starts from what is there then.
"""

import copy
from datetime import UTC, datetime

from converge.operators.webapp import WEBAPP, NameTaken, desired_children, ensure_owned
from converge.runtime import Manager, NotFound, Request


class Reconciler:
    def __init__(self, client) -> None:
        self.client = client

    def reconcile(self, request: Request) -> None:
        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        except NotFound:
            return
        if webapp["metadata"].get("deletionTimestamp"):
            return
        status = copy.deepcopy(webapp.get("status", {}))
        problem = None
        try:
            found = {child["kind"]: ensure_owned(self.client, webapp, child) for child in desired_children(webapp)}
        except NameTaken as taken:
            problem = taken
            status.pop("availableReplicas", None)
            status.pop("url", None)
            self.set(status, webapp, "Available", "False", "Blocked", str(taken))
            self.set(status, webapp, "Progressing", "False", "Blocked", str(taken))
            self.set(status, webapp, "Degraded", "True", "Blocked", str(taken))
        else:
            self.describe(status, webapp, found["Deployment"])
        status["observedGeneration"] = webapp["metadata"]["generation"]
        if status != webapp.get("status"):
            self.remark(webapp, status)
            gone = dict.fromkeys(webapp.get("status", {}).keys() - status.keys())
            read = {"resourceVersion": webapp["metadata"]["resourceVersion"]}
            body = {"metadata": read, "status": {**status, **gone}}
            self.client.patch(*WEBAPP, request.name, request.namespace, body, subresource="status")
        if problem:
            raise problem

    def describe(self, status: dict, webapp: dict, deployment: dict) -> None:
        seen, metadata = deployment.get("status", {}), webapp["metadata"]
        new = seen.get("observedGeneration", 0) >= deployment["metadata"]["generation"]
        counts = {seen.get(key, 0) for key in ("replicas", "updatedReplicas", "availableReplicas")}
        whole = new and counts == {deployment["spec"]["replicas"]}
        late = new and any(each.get("reason") == "ProgressDeadlineExceeded" for each in seen.get("conditions", []))
        status["availableReplicas"] = seen.get("availableReplicas", 0)
        status["url"] = f"http://{metadata['name']}.{metadata['namespace']}.svc:{webapp['spec']['port']}"
        self.set(status, webapp, "Available", str(whole), "Complete" if whole else "Incomplete", "")
        self.set(status, webapp, "Progressing", str(not whole and not late), "AsTheDeploymentSays", "")
        self.set(status, webapp, "Degraded", str(late and not whole), "Late" if late else "InTime", "")

    @staticmethod
    def set(status: dict, webapp: dict, type: str, value: str, reason: str, message: str) -> None:
        conditions = status.setdefault("conditions", [])
        mine = next((each for each in conditions if each["type"] == type), None)
        if mine is None:
            mine = {"type": type, "status": ""}
            conditions.append(mine)
        if mine["status"] != value:
            mine["lastTransitionTime"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        generation = webapp["metadata"]["generation"]
        mine |= {"status": value, "reason": reason, "message": message, "observedGeneration": generation}

    def remark(self, webapp: dict, status: dict) -> None:
        old, new = (
            next((each["status"] for each in one.get("conditions", []) if each["type"] == "Available"), "")
            for one in (webapp.get("status", {}), status)
        )
        if old == new:
            return
        metadata, now = webapp["metadata"], datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        about = {key: metadata[key] for key in ("name", "namespace", "uid")}
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": f"{metadata['name']}-", "namespace": metadata["namespace"]},
            "involvedObject": {"apiVersion": WEBAPP[0], "kind": WEBAPP[1], **about},
            "type": "Normal",
            "reason": "Available" if new == "True" else "NotAvailable",
            "message": f"Available: {new}",
            "firstTimestamp": now,
            "lastTimestamp": now,
        }
        self.client.create(event)


def setup(manager: Manager) -> None:
    controller = manager.controller(Reconciler(manager.client)).for_(*WEBAPP)
    controller.owns("apps/v1", "Deployment").owns("v1", "Service")
