"""A namespace in which a check makes WebApps and Databases.

    app = namespace.webapp(replicas=3)               # a user creates a WebApp; the rest of its spec is random
    app.edit(image=namespace.images.web[1])          # and changes it

Names, images, ports and counts differ in every run: what a submission hard-codes is never right.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from converge.testing.objects import kinds
from converge.testing.objects.custom_resource import CustomResource
from converge.testing.objects.namespace import Namespace

if TYPE_CHECKING:
    from converge.cluster import Cluster
    from converge.runtime import Client

LABELS = ("tier", "team", "zone")

kinds.register("converge.example/v1", "WebApp")
kinds.register("converge.example/v1", "Database")


class CourseNamespace(Namespace):
    """One check's namespace."""

    def __init__(self, client: Client, name: str, cluster: Cluster) -> None:
        super().__init__(client, name)
        self.cluster = cluster
        #: Images that run on this cluster: `web` (two), `bad` (never ready), `postgres` (two versions).
        self.images = cluster.images
        self.runnable_images = self.images.web

    def webapp(self, name: str | None = None, **spec: Any) -> CustomResource:
        """Create a WebApp. What `spec` doesn't say is random; `field=None` leaves a field out."""
        return self.custom("WebApp", name or self.new_name(), {**self.random_webapp(), **spec})

    def database(self, name: str | None = None, **spec: Any) -> CustomResource:
        """Create a Database. What `spec` doesn't say is random; `field=None` leaves a field out."""
        return self.custom("Database", name or self.new_name(), {**self.random_database(), **spec})

    def random_webapp(self) -> dict[str, Any]:
        image = random.choice(self.images.web)
        return {"image": image, "replicas": random.randint(2, 4), "port": random.randint(1024, 9999)}

    def random_database(self) -> dict[str, Any]:
        version = self.images.postgres[0].rpartition(":")[2]
        return {"version": version, "replicas": random.randint(1, 3), "storage": {"size": f"{random.randint(1, 9)}Gi"}}

    def random_fields(self) -> dict[str, Callable[[], Any]]:
        images = self.images
        return {
            "image": lambda: random.choice(images.web),
            "replicas": lambda: random.randint(0, 4),
            "port": lambda: random.randint(1024, 9999),
            "labels": lambda: {key: random.choice(("a", "b", None)) for key in random.sample(LABELS, 2)},
            "sidecar": lambda: random.choice((*images.web, None)),
            "autoscaled": lambda: random.choice((True, False)),
            "version": lambda: random.choice(images.postgres).rpartition(":")[2],
            "parameters": lambda: {key: random.choice(("1", "2", None)) for key in ("max_connections", "work_mem")},
            "deletionPolicy": lambda: random.choice(("Retain", "Delete")),
        }
