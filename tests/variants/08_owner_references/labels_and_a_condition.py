"""Read, compare, create or replace. Our own is known by its labels; a name that is taken is said in a condition.

Children are not watched: every WebApp is looked at again after a moment. Owners do not block its deletion.
"""

import copy
from datetime import UTC, datetime

from converge.operators.webapp import WEBAPP, desired_deployment, desired_service
from converge.runtime import Manager, NotFound, Request, Result


def sign(labels: dict) -> dict:
    """The labels that never change; the others come from the spec."""
    return {key: value for key, value in labels.items() if key.startswith("app.kubernetes.io/")}


class Reconciler:
    def __init__(self, client) -> None:
        self.client = client

    def reconcile(self, request: Request) -> Result | None:
        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        except NotFound:
            return None
        if webapp["metadata"].get("deletionTimestamp"):
            return None
        children = (desired_service(webapp), desired_deployment(webapp))
        taken = [child["kind"] for child in children if not self.settle(webapp, child)]
        self.say(webapp, taken)
        return Result(requeue_after=1.0)

    def settle(self, webapp: dict, child: dict) -> bool:
        """Make the child so; whether its name is ours."""
        metadata = webapp["metadata"]
        ours = {"apiVersion": WEBAPP[0], "kind": WEBAPP[1], "name": metadata["name"], "uid": metadata["uid"]}
        ours["controller"] = True
        child["metadata"]["ownerReferences"] = [ours]
        try:
            live = self.client.get(child["apiVersion"], child["kind"], metadata["name"], metadata["namespace"])
        except NotFound:
            self.client.create(child)  # who was faster meanwhile makes this fail, and the next pass look again
            return True
        references = live["metadata"].get("ownerReferences", [])
        others = [each for each in references if each["uid"] != metadata["uid"]]
        if any(each.get("controller") for each in others):
            return False
        labels = live["metadata"].get("labels", {})
        if others == references and not sign(child["metadata"]["labels"]).items() <= labels.items():
            return False
        new = copy.deepcopy(live)
        new["metadata"]["ownerReferences"] = [*others, ours]
        new["metadata"]["labels"] |= child["metadata"]["labels"]
        if child["kind"] == "Deployment":
            new["spec"]["replicas"] = child["spec"]["replicas"]
            web = new["spec"]["template"]["spec"]["containers"][0]
            web["image"], web["ports"][0]["containerPort"] = webapp["spec"]["image"], webapp["spec"]["port"]
        else:
            new["spec"]["ports"][0] |= child["spec"]["ports"][0]
        if new != live:
            self.client.replace(new)
        return True

    def say(self, webapp: dict, taken: list) -> None:
        conditions = webapp.get("status", {}).get("conditions", [])
        before = next((each for each in conditions if each["type"] == "NameTaken"), None)
        after = {"type": "NameTaken", "status": str(bool(taken)), "reason": "AsFound"}
        after["message"] = f"names that someone else has: {', '.join(taken) or 'none'}"
        if (before and before["message"] == after["message"]) or (not before and not taken):
            return
        after["lastTransitionTime"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        others = [each for each in conditions if each["type"] != "NameTaken"]
        metadata = webapp["metadata"]
        body = {
            "metadata": {"resourceVersion": metadata["resourceVersion"]},
            "status": {"conditions": [*others, after]},
        }
        self.client.patch(*WEBAPP, metadata["name"], metadata["namespace"], body, subresource="status")


def setup(manager: Manager) -> None:
    manager.controller(Reconciler(manager.client)).for_(*WEBAPP)
