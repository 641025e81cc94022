"""A JSON patch whose `test` operations name what it was computed from: a comparison by value in place of a version."""

import time

from converge.operators.webapp import WEBAPP
from converge.runtime import Invalid, Manager, NotFound, Request

TICKET, SERVED = "tickets.converge.example/", "converge.example/served"
OLD, NEW = "registry.old.example/", "registry.example/"


def pointer(*parts: str) -> str:
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)


def operations(webapp: dict) -> list[dict]:
    annotations = webapp["metadata"].get("annotations", {})
    tickets = [key for key in annotations if key.startswith(TICKET)]
    body = []
    if tickets:
        counter = pointer("metadata", "annotations", SERVED)
        if SERVED in annotations:
            body.append({"op": "test", "path": counter, "value": annotations[SERVED]})
        else:  # nothing to compare with yet: the version has to do
            body.append(
                {"op": "test", "path": "/metadata/resourceVersion", "value": webapp["metadata"]["resourceVersion"]}
            )
        body += [{"op": "remove", "path": pointer("metadata", "annotations", key)} for key in tickets]
        count = int(annotations.get(SERVED, "0")) + len(tickets)
        body.append({"op": "add", "path": counter, "value": str(count)})
    for field in ("image", "sidecar"):
        image = webapp["spec"].get(field, "")
        if image.startswith(OLD):
            path = pointer("spec", field)
            body.append({"op": "test", "path": path, "value": image})
            body.append({"op": "replace", "path": path, "value": image.replace(OLD, NEW, 1)})
    return body


class Patcher:
    def __init__(self, client) -> None:
        self.client = client

    def reconcile(self, request: Request) -> None:
        for attempt in range(4):
            try:
                webapp = self.client.get(*WEBAPP, request.name, request.namespace)
                if body := operations(webapp):
                    self.client.patch(*WEBAPP, request.name, request.namespace, body, type="json")
                return
            except NotFound:
                return
            except Invalid:  # what a failed test is answered with
                time.sleep(0.01 * 2**attempt)  # the others also write: let them through, as client-go does
        raise RuntimeError(f"{request} is changed by others all the time")


def setup(manager: Manager) -> None:
    manager.controller(Patcher(manager.client)).for_(*WEBAPP)
