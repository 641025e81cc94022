"""Secrets are watched, so nobody has to look for them; the service is spoken to without the course's client."""

import http.client
import json
import os
import urllib.parse

from converge.operators.webapp import WEBAPP, assess, condition, desired_children, ensure_owned, report
from converge.runtime import Backoff, Manager, Request, Result, TerminalError, WorkQueue


class Service:
    def __init__(self, url: str, timeout: float) -> None:
        self.address = urllib.parse.urlsplit(url).netloc
        self.timeout = timeout

    def keep(self, host: str, value: dict) -> None:
        status, text = self.ask("GET", host)
        if status == 404:
            status, text = self.ask("PUT", host, json.dumps(value))
            if status in (400, 422):
                raise TerminalError(f"{host} was refused with {status}")
        if status >= 300:
            raise ConnectionError(f"{host}: {status}")
        if json.loads(text) != value:
            raise PermissionError(f"{host} belongs to another owner")

    def ask(self, method: str, host: str, body: str | None = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.address, timeout=self.timeout)
        try:
            connection.request(method, f"/records/{host}", body)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


class Watcher:
    def __init__(self, client, webapps, secrets, service: Service, period: float) -> None:
        self.client, self.webapps, self.secrets = client, webapps, secrets
        self.service, self.period = service, period

    def waiting_for(self, secret) -> list[Request]:
        metadata = secret["metadata"]
        return [
            Request(metadata["namespace"], webapp["metadata"]["name"])
            for webapp in self.webapps.list(metadata["namespace"])
            if webapp["spec"].get("dependsOnSecret") == metadata["name"]
        ]

    def reconcile(self, request: Request) -> Result | None:
        webapp = self.webapps.get(request.name, request.namespace)
        if webapp is None or "deletionTimestamp" in webapp["metadata"]:
            return None
        secret, host = webapp["spec"].get("dependsOnSecret"), webapp["spec"].get("register")
        if secret and self.secrets.get(secret, request.namespace) is None:
            self.tell(webapp, {"conditions": []}, False, f"no Secret {secret}")
            return None
        deployment, _ = (ensure_owned(self.client, webapp, child) for child in desired_children(webapp))
        status = assess(webapp, deployment)
        if host:
            try:
                self.service.keep(host, {"owner": webapp["metadata"]["uid"]})
            except Exception as error:
                self.tell(webapp, status, False, str(error))
                raise
        self.tell(webapp, status, True, "")
        return Result(requeue_after=self.period) if host else None

    def tell(self, webapp, status: dict, well: bool, message: str) -> None:
        status["conditions"].append(condition(webapp, "Reconciled", well, "Well" if well else "NotWell", message))
        report(self.client, webapp, status)


def setup(manager: Manager) -> None:
    said = {name: float(os.environ[name]) for name in ("PERIOD", "BACKOFF_BASE", "BACKOFF_CAP", "TIMEOUT")}
    watcher = Watcher(
        manager.client,
        manager.cached(*WEBAPP),
        manager.cached("v1", "Secret"),
        Service(os.environ["OUTSIDE_URL"], said["TIMEOUT"]),
        said["PERIOD"],
    )
    queue = WorkQueue(backoff=Backoff(said["BACKOFF_BASE"], said["BACKOFF_CAP"], jitter=0.1))
    controller = manager.controller(watcher, queue=queue).for_(*WEBAPP)
    controller.owns("apps/v1", "Deployment").owns("v1", "Service").watches("v1", "Secret", watcher.waiting_for)
