"""Failures are counted here and answered with a time; the queue's own backoff is never used."""

import os
from urllib.error import HTTPError

from converge.operators.records import Records
from converge.operators.webapp import WEBAPP, assess, condition, desired_children, ensure_owned, report
from converge.runtime import ApiError, Manager, NotFound, Request, Result


class Patient:
    def __init__(self, client, records: Records) -> None:
        self.client = client
        self.records = records
        self.failures: dict[Request, int] = {}

    def reconcile(self, request: Request) -> Result | None:
        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        except NotFound:
            self.failures.pop(request, None)
            return None
        if webapp["metadata"].get("deletionTimestamp"):
            return None
        trouble, again = self.attempt(webapp, request)
        if again != "growing":
            self.failures.pop(request, None)
        status = {"conditions": []} if trouble.startswith("Secret") else assess(webapp, self.deployment(webapp))
        said = condition(webapp, "Reconciled", not trouble, "Trouble" if trouble else "Fine", trouble)
        status["conditions"].append(said)
        report(self.client, webapp, status)
        if again == "growing":
            before = self.failures.get(request, 0)
            self.failures[request] = before + 1
            base, cap = float(os.environ["BACKOFF_BASE"]), float(os.environ["BACKOFF_CAP"])
            return Result(requeue_after=min(cap, base * 2 ** min(before, 30)))
        return Result(requeue_after=float(os.environ["PERIOD"])) if again == "evenly" else None

    def attempt(self, webapp: dict, request: Request) -> tuple[str, str]:
        spec = webapp["spec"]
        if "dependsOnSecret" in spec:
            try:
                self.client.get("v1", "Secret", spec["dependsOnSecret"], request.namespace)
            except NotFound:
                return f"Secret {spec['dependsOnSecret']} is missing", "evenly"
            except ApiError as error:
                return f"Secret {spec['dependsOnSecret']} can't be read: {error}", "growing"
        for child in desired_children(webapp):
            ensure_owned(self.client, webapp, child)
        if "register" not in spec:
            return "", "never"
        try:
            self.register(spec["register"], {"owner": webapp["metadata"]["uid"]})
        except HTTPError as error:
            return f"{spec['register']}: {error}", "never" if error.code in (400, 422) else "growing"
        except OSError as error:
            return f"{spec['register']}: {error}", "growing"
        return "", "evenly"

    def register(self, host: str, own: dict) -> None:
        try:
            found = self.records.get(host)
        except HTTPError as error:
            if error.code != 404:
                raise
            self.records.put(host, own)
            return
        if found != own:
            raise FileExistsError(f"the record belongs to {found}")

    def deployment(self, webapp: dict) -> dict:
        metadata = webapp["metadata"]
        return self.client.get("apps/v1", "Deployment", metadata["name"], metadata["namespace"])


def setup(manager: Manager) -> None:
    patient = Patient(manager.client, Records(timeout=float(os.environ["TIMEOUT"])))
    manager.controller(patient).for_(*WEBAPP).owns("apps/v1", "Deployment").owns("v1", "Service")
