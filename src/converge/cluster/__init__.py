"""A Kubernetes cluster for the course, from whichever provider this machine has.

``local`` runs a real control plane as processes of this machine; ``kind`` runs one in containers; ``existing`` uses a
cluster that somebody else runs. With nothing asked for, the cluster that is up is used, else kind where a
container engine answers, else local. One cluster belongs to one state directory (``CONVERGE_STATE``).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from converge.cluster.directories import cluster_dir, state_dir
from converge.cluster.errors import ClusterError
from converge.cluster.locking import locked
from converge.cluster.model import Cluster, Images, Part

__all__ = ["PROVIDERS", "Cluster", "ClusterError", "Images", "Part", "current", "down", "ensure", "load", "up"]

PROVIDERS = ("local", "kind", "existing")


def _quiet(_: str) -> None:
    pass


def _provider() -> str | None:
    """Which provider has a cluster here. Each writes what it knows into a file of its name: no need to import them."""
    return next((name for name in PROVIDERS if (cluster_dir() / f"{name}.json").exists()), None)


def current() -> Cluster | None:
    """The cluster of this state directory, whether or not all of it runs; None when there is none."""
    match _provider():
        case "local":
            from converge.cluster import local

            return local.cluster() if local.exists() else None
        case "kind":
            from converge.cluster import kind

            return kind.cluster()
        case "existing":
            from converge.cluster import existing

            return existing.cluster()
    return None


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
    """Start a cluster, or mend the one that is there. Safe to repeat, and to call from two terminals at once."""
    if provider is not None and provider not in PROVIDERS:
        raise ClusterError(f"there is no provider {provider!r}", f"--provider {'|'.join(PROVIDERS)}")
    with locked(state_dir() / "lock", lambda: progress("another converge is starting this cluster; waiting for it")):
        there = current()
        if there is not None and provider not in (None, there.provider):
            raise ClusterError(f"a {there.provider} cluster is up here", "stop it first: converge down")
        chosen = provider or (there.provider if there else None)
        if chosen == "existing":
            from converge.cluster import existing

            return existing.start(context, progress)
        if chosen == "kind":
            from converge.cluster import kind

            return kind.start(image, progress)
        from converge.cluster import engine, local

        if chosen is None and engine.answering() is not None:
            from converge.cluster import kind

            try:
                return kind.start(image, progress)
            except ClusterError as error:  # nobody asked for kind by name, so local serves as well
                progress(f"kind is not available ({error.what}); using the local control plane\n")
        return local.start(progress)


def down(say: Callable[[str], None] = _quiet) -> Cluster | None:
    """Stop and remove the cluster of this state directory; return what was there. ``say`` hears what had to stay."""
    from converge.cluster import existing, kind, local

    with locked(state_dir() / "lock"):
        there = current()
        if existing.exists():
            existing.stop(say)
        if kind.exists():
            kind.stop()
        local.stop()  # also when its state file is gone: processes are found by the directory they use
    return replace(there, parts=()) if there else None


def load(images: Sequence[str], progress: Callable[[str], None] = _quiet) -> None:
    """Bring images of the container engine into a cluster whose Pods are real and whose node is a container."""
    from converge.cluster import kind

    there = current()
    if there is None or there.provider != "kind":
        what = f"the cluster that is up is {there.provider}" if there else "no cluster is up"
        mend = "converge up --provider kind" if there is None else "converge down, then converge up --provider kind"
        raise ClusterError(f"images are loaded into a kind cluster only, and {what}", mend)
    kind.load(images, progress)


def directory() -> str:
    """Where the cluster lives, for messages."""
    return str(cluster_dir())
