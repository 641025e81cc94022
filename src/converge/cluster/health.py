"""Whether the cluster itself is well. A check asks before it blames an answer: see `converge.cluster.problem`."""

import time

from converge.cluster.model import Cluster
from converge.cluster.processes import is_ending
from converge.cluster.providers.base import Provider
from converge.runtime import Client, RuntimeProblem

_ANSWERS_WITHIN = 10.0  # seconds; a server that is well answers in milliseconds, on a busy machine in a few seconds
_ENDS_WITHIN = 2.0  # seconds; a killed process refuses connections a moment before its last thread has ended
_PAUSE = 0.02


def problem(provider: Provider) -> str:
    """One sentence about what is wrong with the provider's cluster, with the way out; empty when all is well."""
    there = provider.describe()
    if stopped := _stopped(there):
        return stopped
    try:
        client = Client(kubeconfig=there.kubeconfig, timeout=_ANSWERS_WITHIN, patience=_ANSWERS_WITHIN)
        try:
            missing = provider.missing(client)  # read from etcd, so this asks the API server and etcd at once
        finally:
            client.close()
    except (RuntimeProblem, OSError) as error:
        deadline = time.monotonic() + _ENDS_WITHIN
        while time.monotonic() < deadline:
            if stopped := _stopped(provider.describe()):
                return stopped
            time.sleep(_PAUSE)
        return f"the {there.provider} cluster doesn't answer ({error}): converge up, and converge logs says more"
    if missing:
        return f"the {there.provider} cluster has lost {', '.join(missing)}: converge up puts it back"
    return ""


def _stopped(there: Cluster) -> str:
    names = [part.name for part in there.parts if not part.alive or (part.pid and is_ending(part.pid))]
    if not names:
        return ""
    have = "has" if len(names) == 1 else "have"
    return f"{' and '.join(names)} of the {there.provider} cluster {have} stopped: converge up starts it again"
