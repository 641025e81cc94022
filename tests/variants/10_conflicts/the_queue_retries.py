"""No loop of its own: reads come from the cache, and a Conflict goes to the work queue, which tries again later."""

import copy

from converge.operators.webapp import WEBAPP
from converge.runtime import Manager, Request

TICKET, SERVED = "tickets.converge.example/", "converge.example/served"
OLD, NEW = "registry.old.example/", "registry.example/"


class Desk:
    def __init__(self, client, webapps) -> None:
        self.client = client
        self.webapps = webapps

    def reconcile(self, request: Request) -> None:
        found = self.webapps.get(request.name, request.namespace)
        if found is None:
            return
        wanted = copy.deepcopy(found)
        annotations = {k: v for k, v in found["metadata"].get("annotations", {}).items() if not k.startswith(TICKET)}
        count = len(found["metadata"].get("annotations", {})) - len(annotations)
        if count:
            wanted["metadata"]["annotations"] = annotations | {SERVED: str(int(annotations.get(SERVED, 0)) + count)}
        for field in {"image", "sidecar"} & wanted["spec"].keys():
            if wanted["spec"][field].startswith(OLD):
                wanted["spec"][field] = NEW + wanted["spec"][field][len(OLD) :]
        if wanted != found:
            self.client.replace(wanted)


def setup(manager: Manager) -> None:
    manager.controller(Desk(manager.client, manager.cached(*WEBAPP))).for_(*WEBAPP)
