"""What the rest of the course knows of a cluster, whatever runs it. Data only: `providers` has what acts."""

from dataclasses import dataclass, field
from pathlib import Path

from converge.cluster.images import NAMES_ONLY, Images


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


@dataclass(frozen=True)
class DoctorLine:
    """One line of ``converge doctor``. ``needed`` says whether the course can do without it."""

    what: str
    good: bool
    found: str
    fix: str = ""
    needed: bool = True
