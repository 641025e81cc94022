"""Server-side apply: finalizers are a set, so each writer applies its own. A note on the WebApp remembers the hosts."""

import json
from urllib.error import HTTPError

from converge.operators.records import Records
from converge.operators.webapp import WEBAPP, children_reconciler
from converge.runtime import Manager, NotFound, Request, Result

MINE, NOTE, MANAGER = "example.com/tidy-up", "example.com/hosts", "registrar"


class Registrar:
    def __init__(self, client) -> None:
        self.client = client
        self.records = Records()
        self.children = children_reconciler(client)

    def reconcile(self, request: Request) -> Result | None:
        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        except NotFound:
            return None
        going = webapp["metadata"].get("deletionTimestamp")
        wanted = None if going else webapp["spec"].get("register")
        noted = json.loads(webapp["metadata"].get("annotations", {}).get(NOTE, "[]"))
        bound = MINE in webapp["metadata"].get("finalizers", [])
        if wanted and not (bound and wanted in noted):
            noted = sorted({*noted, wanted})
            self.apply(webapp, {"finalizers": [MINE], "annotations": {NOTE: json.dumps(noted)}})
            bound = True
        answer = None if going else self.children.reconcile(request)
        if not bound:
            return answer
        for host in noted:
            if host != wanted:
                self.remove(host, webapp)
        if wanted:
            self.make(wanted, webapp)
        if not wanted:
            self.apply(webapp, {})
        elif noted != [wanted]:
            self.apply(webapp, {"finalizers": [MINE], "annotations": {NOTE: json.dumps([wanted])}})
        return answer

    def apply(self, webapp: dict, ours: dict) -> None:
        identity = {key: webapp["metadata"][key] for key in ("name", "namespace", "uid")}
        try:
            self.client.apply(
                {"apiVersion": WEBAPP[0], "kind": WEBAPP[1], "metadata": identity | ours}, MANAGER, force=True
            )
        except NotFound:
            pass

    def owner(self, host: str):
        try:
            found = self.records.get(host)
        except HTTPError as error:
            if error.code == 404:
                return None
            raise
        return found.get("owner", "no one") if isinstance(found, dict) else f"someone who stored {found!r}"

    def remove(self, host: str, webapp: dict) -> None:
        if self.owner(host) == webapp["metadata"]["uid"]:
            try:
                self.records.delete(host)
            except HTTPError as error:
                if error.code != 404:
                    raise

    def make(self, host: str, webapp: dict) -> None:
        owner = self.owner(host)
        if owner is None:
            self.records.put(host, {"owner": webapp["metadata"]["uid"]})
        elif owner != webapp["metadata"]["uid"]:
            raise ValueError(f"{host} belongs to {owner}")


def setup(manager: Manager) -> None:
    controller = manager.controller(Registrar(manager.client)).for_(*WEBAPP)
    controller.owns("apps/v1", "Deployment").owns("v1", "Service")
