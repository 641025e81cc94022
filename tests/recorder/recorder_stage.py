"""Who takes part in the recorder's tests: an operator on a bare HTTP connection, and an outsider who bypasses it."""

import http.client
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from converge.runtime import Client
from converge.testing.access.identity import write_kubeconfig

MERGE = {"Content-Type": "application/merge-patch+json"}


@dataclass
class Identity:
    """The operator's namespace and token."""

    namespace: str
    token: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}

    def kubeconfig(self, server: str, path: Path) -> Path:
        return write_kubeconfig(path, server, self.token, self.namespace)


@dataclass
class Operator:
    """Plays an operator over one keep-alive connection, so that each test says exactly what is on the wire."""

    url: str
    identity: Identity
    connection: http.client.HTTPConnection = field(init=False)

    def __post_init__(self) -> None:
        self.connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=10)

    @property
    def configmaps(self) -> str:
        return f"/api/v1/namespaces/{self.identity.namespace}/configmaps"

    def send(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> None:
        data = None if body is None else json.dumps(body)
        self.connection.request(method, path, data, {**self.identity.headers, **(headers or {})})

    def receive(self) -> tuple[int, Any]:
        response = self.connection.getresponse()
        data = response.read()
        return response.status, json.loads(data) if data.startswith(b"{") else data

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        self.send(method, path, body, headers)
        return self.receive()

    def create(self, name: str, **data: str) -> tuple[int, Any]:
        return self.ask("POST", self.configmaps, {"metadata": {"name": name}, "data": data})

    def patch(self, name: str, **data: str) -> tuple[int, Any]:
        return self.ask("PATCH", f"{self.configmaps}/{name}", {"data": data}, MERGE)

    def get(self, name: str) -> tuple[int, Any]:
        return self.ask("GET", f"{self.configmaps}/{name}")

    def watch(self, query: str = "") -> "Watch":
        """A watch of all ConfigMaps but the one that every namespace has."""
        others = "fieldSelector=metadata.name!%3Dkube-root-ca.crt"
        return Watch(self.url, self.identity, f"{self.configmaps}?watch=true&{others}{query}")


class Watch:
    """An open watch, read event by event."""

    def __init__(self, url: str, identity: Identity, path: str) -> None:
        self.connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)
        self.connection.request("GET", path, headers=identity.headers)
        self.response = self.connection.getresponse()

    def next(self) -> dict[str, Any] | None:
        """The next event; None at the end of the watch."""
        line = self.response.readline()
        return json.loads(line) if line else None

    def names(self, count: int) -> list[str]:
        found = [self.next() for _ in range(count)]
        return [event["object"]["metadata"]["name"] for event in found if event]


@dataclass
class Outsider:
    admin: Client
    namespace: str

    def create(self, name: str, **data: str) -> dict[str, Any]:
        metadata = {"name": name, "namespace": self.namespace}
        return self.admin.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})

    def patch(self, name: str, **data: str) -> dict[str, Any]:
        return self.admin.patch("v1", "ConfigMap", name, self.namespace, {"data": data})

    def delete(self, name: str) -> None:
        self.admin.delete("v1", "ConfigMap", name, self.namespace)

    def get(self, name: str) -> dict[str, Any]:
        return self.admin.get("v1", "ConfigMap", name, self.namespace)

    def names(self) -> list[str]:
        found = self.admin.list("v1", "ConfigMap", namespace=self.namespace)
        return [item["metadata"]["name"] for item in found if item["metadata"]["name"].startswith("cm")]
