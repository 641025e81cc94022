"""Server-side apply by two field managers, one of them for the reference alone; the owner's uid is in an annotation.

Children are watched by their name, no matter who owns them, so a name that becomes free is noticed at once. A name that
is taken is an error: an Event of the newer kind, and a retry with growing pauses.
"""

from datetime import UTC, datetime

from converge.operators.webapp import WEBAPP, desired_children, ensure
from converge.runtime import ApiError, Manager, NotFound, Request

UID = "converge.example/webapp-uid"


class TakenError(Exception):
    pass


class Owner:
    def __init__(self, client) -> None:
        self.client = client

    def reconcile(self, request: Request) -> None:
        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        except NotFound:
            return
        if "deletionTimestamp" in webapp["metadata"]:
            return
        problems = [problem for child in desired_children(webapp) if (problem := self.settle(webapp, child))]
        if problems:
            self.remark(webapp, "; ".join(problems))
            raise TakenError("; ".join(problems))

    def settle(self, webapp: dict, child: dict) -> str:
        """Make the child so, in two steps; or say why not."""
        uid, place = webapp["metadata"]["uid"], [child["metadata"][key] for key in ("name", "namespace")]
        identity = {"apiVersion": child["apiVersion"], "kind": child["kind"]}
        try:
            live = self.client.get(*identity.values(), *place)
        except NotFound:
            live = None
        if live and (problem := self.not_ours(live["metadata"], uid)):
            return f"the {child['kind']} {problem}"
        child["metadata"]["annotations"] = {UID: uid}
        live = ensure(self.client, child)
        mine = {"apiVersion": WEBAPP[0], "kind": WEBAPP[1], "name": webapp["metadata"]["name"], "uid": uid}
        mine |= {"controller": True, "blockOwnerDeletion": True}
        if mine not in live["metadata"].get("ownerReferences", []):
            metadata = dict(zip(("name", "namespace"), place, strict=True), ownerReferences=[mine])
            self.client.apply({**identity, "metadata": metadata}, "webapp-ownership", force=True)
        return ""

    @staticmethod
    def not_ours(metadata: dict, uid: str) -> str:
        controllers = [each for each in metadata.get("ownerReferences", []) if each.get("controller")]
        if controllers:
            return "" if controllers[0]["uid"] == uid else f"is managed by {controllers[0]['name']}"
        return "" if metadata.get("annotations", {}).get(UID) == uid else "was not made for this WebApp"

    def remark(self, webapp: dict, message: str) -> None:
        metadata = webapp["metadata"]
        regarding = {"apiVersion": WEBAPP[0], "kind": WEBAPP[1], "name": metadata["name"], "uid": metadata["uid"]}
        event = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"generateName": f"{metadata['name']}-", "namespace": metadata["namespace"]},
            "regarding": regarding | {"namespace": metadata["namespace"]},
            "type": "Warning",
            "reason": "Taken",
            "action": "Reconcile",
            "note": message,
            "reportingController": "example.com/webapps",
            "reportingInstance": "webapps-0",
            "eventTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        }
        try:
            self.client.create(event)
        except ApiError as error:
            print(f"no Event: {error}")


def setup(manager: Manager) -> None:
    def same_name(obj):
        return [Request(obj["metadata"]["namespace"], obj["metadata"]["name"])]

    controller = manager.controller(Owner(manager.client)).for_(*WEBAPP)
    controller.watches("apps/v1", "Deployment", same_name).watches("v1", "Service", same_name)
