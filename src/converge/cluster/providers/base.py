"""The one interface between the course and whatever runs a cluster.

A provider is a subclass in a file of its own and a line in `REGISTERED`. It has to start a cluster, describe it and
stop it; everything else has a default that fits a cluster that runs as files and processes of this machine. It keeps
what it knows in a state file of its own name: where that file is, a cluster of this provider is.
"""

import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from converge.cluster.directories import cluster_dir
from converge.cluster.errors import ClusterError
from converge.cluster.model import Cluster, DoctorLine

if TYPE_CHECKING:
    from converge.runtime import Client  # long to import

OnMessage = Callable[[str], None]


@dataclass(frozen=True)
class Options:
    """What the user may ask of a start. A provider uses what applies to it."""

    context: str | None = None
    image: str | None = None


class Provider(ABC):
    """Where a cluster comes from. Nothing is kept in memory: another process may have changed the cluster."""

    name: ClassVar[str]
    loads_images: ClassVar[bool] = False

    @abstractmethod
    def start(self, options: Options, progress: OnMessage) -> Cluster:
        """Start a cluster, or repair the one that is here, and wait until it is fit for work."""

    @abstractmethod
    def describe(self) -> Cluster:
        """The cluster as it stands, with the state of each part."""

    @abstractmethod
    def stop(self, on_message: OnMessage) -> str:
        """Remove the cluster; return what became of it, in a few words. ``on_message`` hears what had to stay."""

    @property
    def state_file(self) -> Path:
        """The file in the cluster's directory that says that this provider has a cluster here."""
        return cluster_dir() / f"{self.name}.json"

    def exists(self) -> bool:
        """Whether there is a cluster to describe, running or not."""
        return self.state_file.exists()

    def is_automatic(self) -> bool:
        """Whether it may be used on this machine when the user names no provider."""
        return False

    def consent(self, options: Options) -> str:
        """What the user has to agree to before a start; empty when there is nothing to ask."""
        return ""

    def remove_leftovers(self) -> None:
        """Clean up after a cluster whose state file is gone."""
        return

    def missing(self, client: "Client") -> list[str]:
        """What the course needs in the cluster and does not find there. Ask etcd, not a cache."""
        from converge.cluster import bootstrap

        return bootstrap.missing(client)

    def logs(self, component: str | None, lines: int, follow: bool) -> int:
        """Show what a component wrote, or all of them; return an exit code."""
        return tail(component, lines, follow)

    def load_images(self, images: Sequence[str], progress: OnMessage) -> None:
        """Bring images from this machine's container engine to where Pods find them."""
        raise ClusterError(f"a {self.name} cluster takes no images")

    def restart(self, component: str) -> None:
        """Kill a component of the control plane and wait until it serves again."""
        raise self._not_ours("restart a component")

    def compact(self) -> int:
        """Make etcd forget its history up to now; return that revision."""
        raise self._not_ours("compact etcd")

    def examine(self) -> list[DoctorLine]:
        """What this machine has and lacks for this provider."""
        return []

    def _not_ours(self, to: str) -> ClusterError:
        return ClusterError(f"a {self.name} cluster is not ours and cannot be asked to {to}", "use another provider")


def tail(component: str | None, lines: int, follow: bool) -> int:
    """Show the ends of the log files in the cluster's directory; also of a start that failed."""
    directory = cluster_dir() / "logs"
    files = sorted(directory.glob(f"{component or '*'}.log"))
    if not files:
        names = ", ".join(path.stem for path in sorted(directory.glob("*.log")))
        print(
            f"no log of {component or 'a cluster'} is here"
            + (f"; there are: {names}" if names else "; start one: converge up")
        )
        return 1
    return subprocess.run(["tail", f"-n{lines}", *(["-f"] if follow else []), *map(str, files)]).returncode
