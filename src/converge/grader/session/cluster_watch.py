"""Whether the cluster is to blame: asked before a check is called failed, and while a check waits.

An API server that has died makes the best operator look bad. That is our error, and waiting for it is a waste of time.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from converge.cluster import Cluster

LOOK_EVERY = 1.0  # seconds between two looks at the cluster's processes while a check waits


class ClusterProblemError(Exception):
    """The cluster broke while a check was running."""


def cluster_of(item: pytest.Item) -> Cluster | None:
    """The cluster that a check runs on; None for a check that needs none."""
    found: Cluster | None = getattr(item, "funcargs", {}).get("cluster")
    return found


def cluster_problem_parts(item: pytest.Item) -> dict[str, Any]:
    """What a report says when the cluster under a check is broken; nothing when it's fine or the check has none."""
    if "cluster" not in getattr(item, "fixturenames", ()):
        return {}
    from converge import cluster

    wrong = cluster.problem()
    return {"message": f"the cluster broke during this check: {wrong}"} if wrong else {}


class ClusterWatch:
    """An interruption for `eventually`: raises when a process of the cluster has ended."""

    def __init__(self, cluster: Cluster) -> None:
        self._pids = [part.pid for part in cluster.parts if part.pid]
        self._next = 0.0

    def __call__(self) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + LOOK_EVERY
        if all(map(runs, self._pids)):
            return
        from converge import cluster

        if wrong := cluster.problem():  # else it was restarted on purpose
            raise ClusterProblemError(wrong)


def runs(pid: int) -> bool:
    import psutil

    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False
