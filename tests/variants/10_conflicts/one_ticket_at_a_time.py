"""Merge patches that carry the version, one ticket each; the image has a patch of its own."""

from converge.operators.webapp import WEBAPP
from converge.runtime import Client, Conflict, Manager, NotFound, Request

PREFIX, COUNTER = "tickets.converge.example/", "converge.example/served"


def next_patch(webapp: dict) -> dict | None:
    marks, spec = webapp["metadata"].get("annotations", {}), webapp["spec"]
    ticket = next((key for key in sorted(marks) if key.startswith(PREFIX)), None)
    if ticket is not None:
        return {"metadata": {"annotations": {ticket: None, COUNTER: f"{int(marks.get(COUNTER, 0)) + 1}"}}}
    for field in ("image", "sidecar"):
        old, moved, rest = spec.get(field, "").partition("registry.old.example/")
        if moved and not old:
            return {"spec": {field: f"registry.example/{rest}"}}
    return None


class OneByOne:
    def __init__(self, client: Client) -> None:
        self.client = client

    def reconcile(self, request: Request) -> None:
        conflicts = 0
        while True:
            try:
                webapp = self.client.get(*WEBAPP, request.name, request.namespace)
                patch = next_patch(webapp)
                if patch is None:
                    return
                patch.setdefault("metadata", {})["resourceVersion"] = webapp["metadata"]["resourceVersion"]
                self.client.patch(*WEBAPP, request.name, request.namespace, patch)
            except NotFound:
                return
            except Conflict:
                conflicts += 1
                if conflicts > 2:
                    raise


def setup(manager: Manager) -> None:
    manager.controller(OneByOne(manager.client), workers=2).for_(*WEBAPP)
