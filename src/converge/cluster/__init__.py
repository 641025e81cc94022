"""A Kubernetes cluster for the course, from whichever provider this machine has.

``local`` runs a real control plane as processes of this machine; ``kind`` runs one in containers; ``existing`` uses a
cluster that someone else runs. With nothing asked for, the cluster that is up is used, else kind where a
container engine answers, else local. One cluster belongs to one state directory (``CONVERGE_STATE``).
"""

from collections.abc import Callable, Sequence

from converge.cluster import providers
from converge.cluster.directories import state_dir
from converge.cluster.errors import ClusterError
from converge.cluster.images import Images
from converge.cluster.locking import locked
from converge.cluster.model import Cluster, Part
from converge.cluster.providers.base import Options, Provider, tail

__all__ = [
    "Cluster",
    "ClusterError",
    "Images",
    "Options",
    "Part",
    "compact",
    "consent",
    "current",
    "down",
    "ensure",
    "load",
    "logs",
    "problem",
    "restart",
    "up",
]


def _quiet(_: str) -> None:
    pass


def current() -> Cluster | None:
    """The cluster of this state directory, whether or not all of it runs; None when there is none."""
    provider = providers.current()
    return provider.describe() if provider is not None and provider.exists() else None


def ensure(progress: Callable[[str], None] = _quiet) -> Cluster:
    """The cluster that is up, or one that is started now. Cheap when it is up."""
    cluster = current()
    if cluster is not None and all(part.alive for part in cluster.parts):
        return cluster
    return up(progress=progress)


def up(
    provider: str | None = None,
    *,
    context: str | None = None,
    image: str | None = None,
    progress: Callable[[str], None] = _quiet,
) -> Cluster:
    """Start a cluster, or repair the one that is there. Safe to repeat, and to call from two terminals at once."""
    options = Options(context=context, image=image)
    asked_for = providers.get(provider) if provider else None
    with locked(state_dir() / "lock", lambda: progress("another converge is starting this cluster; waiting for it")):
        there = providers.current()
        if there is not None and there.exists() and provider not in (None, there.name):
            raise ClusterError(f"a {there.name} cluster is up here", "stop it first: converge down")
        chosen = asked_for or there
        return chosen.start(options, progress) if chosen else _first_that_starts(options, progress)


def _first_that_starts(options: Options, progress: Callable[[str], None]) -> Cluster:
    """No provider was requested, so fall back to the next one when one fails to start."""
    *first, last = [each for each in providers.all_providers() if each.is_automatic()]
    for each in first:
        try:
            return each.start(options, progress)
        except ClusterError as error:
            progress(f"{each.name} is not available ({error.what}); trying the next provider\n")
    return last.start(options, progress)


def consent(provider: str | None, options: Options) -> str:
    """What the user has to agree to before ``up``; empty when there is nothing to ask."""
    return providers.get(provider).consent(options) if provider else ""


def down(on_message: Callable[[str], None] = _quiet) -> str:
    """Remove the cluster of this state directory; return what became of it. ``on_message`` hears what had to stay."""
    with locked(state_dir() / "lock"):
        there = providers.current()
        said = there.stop(on_message) if there else ""
        for each in providers.all_providers():
            if there is None or each.name != there.name:
                each.remove_leftovers()
    return said


def logs(component: str | None, lines: int, follow: bool) -> int:
    """Show what the components of the cluster wrote, or a start that failed; return an exit code."""
    there = providers.current()
    return there.logs(component, lines, follow) if there else tail(component, lines, follow)


def load(images: Sequence[str], progress: Callable[[str], None] = _quiet) -> None:
    """Bring images of the container engine into a cluster whose Pods are real and whose node is a container."""
    there = providers.current()
    if there is None or not there.loads_images:
        takes = next(each.name for each in providers.all_providers() if each.loads_images)
        what = f"the cluster that is up is {there.name}" if there else "no cluster is up"
        start = f"converge up --provider {takes}"
        raise ClusterError(
            f"images are loaded into a {takes} cluster only, and {what}",
            start if there is None else f"converge down, then {start}",
        )
    there.load_images(images, progress)


def restart(component: str) -> None:
    """Kill ``component`` of the control plane and wait until it serves again."""
    _running().restart(component)


def compact() -> int:
    """Make etcd forget its history up to now; return that revision.

    What is read from etcd itself then answers 410 for an older version: Events, which the API server does not
    cache. For every other kind its cache remembers, until the API server is started again.
    """
    return _running().compact()


def _running() -> Provider:
    there = providers.current()
    if there is None:
        raise ClusterError("no cluster is up", "converge up")
    return there


def problem() -> str:
    """What is wrong with the cluster itself, as one sentence with the way out; empty when it is well.

    For a check that is about to fail: a dead etcd is not the fault of the answer.
    """
    from converge.cluster import health

    there = providers.current()
    return "no cluster is up: converge up" if there is None or not there.exists() else health.problem(there)
