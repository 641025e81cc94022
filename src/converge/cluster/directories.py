"""Where Converge keeps things: programs in a cache that may be shared, a cluster's state in a directory of its own.

Neither is ever ``~/.kube``. Both can be moved by an environment variable, which is how tests run a cluster
of their own beside a learner's.
"""

import os
from pathlib import Path

import platformdirs

CACHE_VARIABLE = "CONVERGE_CACHE"
STATE_VARIABLE = "CONVERGE_STATE"


def cache_dir() -> Path:
    """Programs, built or downloaded once per version."""
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named).expanduser().absolute() if named else platformdirs.user_cache_path("converge")


def state_dir() -> Path:
    """The running cluster (keys, data, logs) and the learner's progress."""
    named = os.environ.get(STATE_VARIABLE)
    return Path(named).expanduser().absolute() if named else platformdirs.user_state_path("converge")


def cluster_dir() -> Path:
    """What ``converge down`` removes: everything of the cluster, nothing of the learner."""
    return state_dir() / "cluster"


def course_dir() -> Path:
    """The clone of the course: labs, CRDs and the pinned modules of the control plane."""
    return Path(__file__).resolve().parents[3]


def private_dir(path: Path) -> Path:
    """Make ``path`` readable by its owner alone: it holds keys."""
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(0o700)
    return path
