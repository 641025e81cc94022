"""JSON patches that test the list they change; one annotation remembers one host."""

from urllib.error import HTTPError

from converge.operators.records import Records
from converge.operators.webapp import WEBAPP, children_reconciler
from converge.runtime import Invalid, Manager, NotFound, Request, Result

OURS, SLOT = "converge.example/host", "converge.example/registered"


def missing(call, *arguments):
    """None in place of 404."""
    try:
        return call(*arguments)
    except HTTPError as error:
        if error.code == 404:
            return None
        raise


def owner_of(value):
    return value.get("owner") if isinstance(value, dict) else None


class Hosts:
    def __init__(self, client, records) -> None:
        self.client, self.records, self.children = client, records, children_reconciler(client)

    def reconcile(self, request: Request) -> Result | None:
        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        except NotFound:
            return None
        metadata = webapp["metadata"]
        finalizers = metadata.get("finalizers", [])
        noted = metadata.get("annotations", {}).get(SLOT, "")
        if metadata.get("deletionTimestamp"):
            if OURS in finalizers:
                self.forget(noted, metadata["uid"])
                self.write(request, finalizers, [each for each in finalizers if each != OURS])
            return None
        wanted = webapp["spec"].get("register", "")
        if wanted and OURS not in finalizers and not self.write(request, finalizers, [*finalizers, OURS]):
            return Result(requeue_after=0.05)
        answer = self.children.reconcile(request)
        if noted != wanted:
            self.forget(noted, metadata["uid"])
            note = {"metadata": {"annotations": {SLOT: wanted or None}}}
            self.client.patch(*WEBAPP, request.name, request.namespace, note)
        if wanted:
            there = missing(self.records.get, wanted)
            if there is None:
                self.records.put(wanted, {"owner": metadata["uid"], "name": str(request)})
            elif owner_of(there) != metadata["uid"]:
                return Result(requeue_after=1)
        return answer

    def forget(self, host: str, uid: str) -> None:
        if host and owner_of(missing(self.records.get, host)) == uid:
            missing(self.records.delete, host)

    def write(self, request: Request, before: list, after: list) -> bool:
        path = "/metadata/finalizers"
        test = {"op": "test", "path": path, "value": before or None}
        try:
            body = [test, {"op": "add", "path": path, "value": after}]
            self.client.patch(*WEBAPP, request.name, request.namespace, body, type="json")
        except Invalid:
            return False
        except NotFound:
            pass
        return True


def setup(manager: Manager) -> None:
    reconciler = Hosts(manager.client, Records())
    manager.controller(reconciler).for_(*WEBAPP).owns("apps/v1", "Deployment").owns("v1", "Service")
