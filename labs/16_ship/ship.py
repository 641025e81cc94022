"""Lab 16: the operator as a program that a cluster runs.

Lesson:  docs/lessons/16_ship.md
Check:   make check LAB=16
Hint:    make hint LAB=16

Three files: this one is the program, ``manifest.yaml`` says how a cluster runs it and what it may do, ``Dockerfile``
builds its image. Two replicas run, one acts. The environment says the rest, and the manifest sets it:

POD_NAME, POD_NAMESPACE  who and where we are; we act in this namespace, and the Lease is in it
PORT                     where /healthz, /readyz and /metrics answer, on every address
LEASE_SECONDS            how long the others wait for a leader that has gone silent (default: 15)
OUTSIDE_URL              the service of lesson 12

After SIGTERM, a pass in hand has ten seconds to end. Then the program gives the Lease back and exits with 0.
"""

import os
import sys

from converge.operators.webapp import setup
from converge.runtime import Client, LeaderElection, Manager, RuntimeProblem, logs


def make_election(client: Client) -> LeaderElection:
    """Return the election: one Lease for all replicas, and a different identity for each."""
    # TODO 1: a LeaderElection. What is the same for all replicas, and what must differ? The first of its three times is
    #         LEASE_SECONDS; a leader that can't renew the Lease has to stop before the others may begin.
    raise NotImplementedError("TODO 1: make_election")


def make_manager() -> Manager:
    """Return the manager of one namespace: it acts only as the leader, answers probes, and stops patiently."""
    # TODO 2: a Client and a Manager. Besides the client, five of the Manager's arguments matter here: namespace,
    #         leader_election, port, host and grace. The lesson's "Your turn" has their defaults.
    raise NotImplementedError("TODO 2: make_manager")


def main() -> int:
    """Run until SIGTERM and return the exit code. Not 0 if we can't go on: then the kubelet restarts us."""
    # TODO 3: logs.configure("json"), make the manager, setup(manager), manager.run(). It raises RuntimeProblem if it
    #         can't go on: print that, and return 1. TODO 4 to 6 are in manifest.yaml, TODO 7 is in Dockerfile.
    raise NotImplementedError("TODO 3: main")


if __name__ == "__main__":
    sys.exit(main())
