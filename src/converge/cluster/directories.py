"""Where Converge keeps things: programs in a cache that may be shared, a cluster's state in a directory of its own.

Neither is ever ``~/.kube``. Both can be moved by an environment variable, which is how tests run a cluster
of their own beside a learner's.
"""

import errno
import os
import shutil
from pathlib import Path

import platformdirs

from converge.cluster.errors import ClusterError

CACHE_VARIABLE = "CONVERGE_CACHE"
STATE_VARIABLE = "CONVERGE_STATE"
_NEEDED_BY_A_CLUSTER = 200 * 2**20  # etcd's log and the components' own, for a day of work


def cache_dir() -> Path:
    """Programs, built or downloaded once per version."""
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named).expanduser().absolute() if named else platformdirs.user_cache_path("converge")


def state_dir() -> Path:
    """The running cluster (keys, data, logs) and the recordings of runs. Progress is in the course's own directory."""
    named = os.environ.get(STATE_VARIABLE)
    return Path(named).expanduser().absolute() if named else platformdirs.user_state_path("converge")


def cluster_dir() -> Path:
    """What ``converge down`` removes: the cluster, and nothing that belongs to the learner."""
    return state_dir() / "cluster"


def private_dir(path: Path) -> Path:
    """Make ``path`` readable by its owner alone: it holds keys."""
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(0o700)
    return path


def check_space(place: Path) -> None:
    """Raise where a cluster would soon fill the disk: etcd dies of that, and does not say so."""
    free = shutil.disk_usage(place).free
    if free < _NEEDED_BY_A_CLUSTER:
        raise ClusterError(
            f"only {free >> 20} MB are free in {place}, and a cluster needs {_NEEDED_BY_A_CLUSTER >> 20} MB",
            f"free some space, or name another directory in {STATE_VARIABLE}",
        )


def explain(error: OSError) -> ClusterError | None:
    """An error of the disk as one clear line; None when it is about something else."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        where = f" ({error.filename})" if error.filename else ""
        return ClusterError(
            f"the disk is full{where}",
            f"free some space, or move {CACHE_VARIABLE} ({cache_dir()}) and {STATE_VARIABLE} ({state_dir()})",
        )
    if not isinstance(error.filename, str):
        return None
    path = Path(error.filename)
    for variable, place in ((CACHE_VARIABLE, cache_dir()), (STATE_VARIABLE, state_dir())):
        if path.is_relative_to(place) or place.is_relative_to(path):
            return ClusterError(
                f"{path} cannot be used: {error.strerror}", f"name a directory that is yours in {variable}"
            )
    return None
