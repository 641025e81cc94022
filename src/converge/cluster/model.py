"""What the rest of the course knows of a cluster, whatever runs it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from converge.cluster.errors import ClusterError


@dataclass(frozen=True)
class Images:
    """Image names that work on a cluster. Checks ask for these instead of naming any."""

    web: tuple[str, str]  # two tags of one web server: a change from one to the other is a rollout
    bad: str  # cannot be pulled
    postgres: tuple[str, str]  # two versions, the second of which reads the files of the first


# Where KWOK plays the kubelet an image is only a name.
NAMES_ONLY = Images(
    web=("registry.example/web:1", "registry.example/web:2"),
    bad="registry.example/web:bad",
    postgres=("registry.example/postgres:17.5", "registry.example/postgres:17.6"),
)


@dataclass(frozen=True)
class Part:
    """One line of ``converge status``: a process or container of the cluster."""

    name: str
    alive: bool
    version: str = ""
    pid: int | None = None
    port: int | None = None
    memory: int = 0  # bytes resident
    log: Path | None = None


@dataclass(frozen=True)
class Cluster:
    """A cluster that is up."""

    provider: str
    kubeconfig: Path  # the administrator's
    server: str
    ca_file: Path
    version: str
    images: Images = NAMES_ONLY
    pods_are_real: bool = False
    parts: tuple[Part, ...] = field(default=(), compare=False)

    def restart(self, component: str) -> None:
        """Kill ``component`` of the control plane and wait until it serves again."""
        self._ours("restart a component").restart(component)

    def compact(self) -> int:
        """Make etcd forget its history up to now; return that revision.

        What is read from etcd itself then answers 410 for an older version: Events, which the API server does not
        cache. For every other kind its cache remembers, until the API server is started again.
        """
        return self._ours("compact etcd").compact()

    def _ours(self, to: str) -> "_Provider":
        from converge.cluster import kind, local

        providers: dict[str, _Provider] = {"local": local, "kind": kind}
        if self.provider not in providers:
            raise ClusterError(f"a cluster that is not ours cannot be asked to {to}", "use --provider local or kind")
        return providers[self.provider]


class _Provider(Protocol):
    def restart(self, component: str) -> None: ...

    def compact(self) -> int: ...
