"""Lab 16: the operator as a program that a cluster runs.

Lesson:  docs/lessons/16_ship.md
Check:   make check LAB=16
Hint:    make hint LAB=16

Three files: this one is the program, ``manifest.yaml`` says how a cluster runs it and what it may do, ``Dockerfile``
makes its image. Two replicas run, one acts. The environment says the rest, and the manifest sets it:

POD_NAME, POD_NAMESPACE  who and where we are; we act in this namespace, and the Lease is in it
PORT                     where /healthz, /readyz and /metrics answer, on every address
LEASE_SECONDS            how long the others wait for a leader that has fallen silent (15)
OUTSIDE_URL              the service of lesson 12

After SIGTERM a pass in hand has ten seconds to end. Then the Lease is given back, and the program exits with 0.
"""

import os
import sys

from converge.runtime import Client, LeaderElection, Manager, RuntimeProblem, logs
from converge.webapp import setup


def make_election(client: Client) -> LeaderElection:
    """One Lease for all replicas, under a name of their own for each."""
    # TODO 1: a LeaderElection. What is the same for all replicas, and what must differ? Of its three times the first is
    #         LEASE_SECONDS; a leader that cannot renew it has to stop before the others may begin.
    raise NotImplementedError("TODO 1: make_election")


def make_manager() -> Manager:
    """The manager of one namespace: elected, probed, and patient when it stops."""
    # TODO 2: a Client and a Manager. Its arguments are in src/converge/runtime/manager.py; five of them matter here.
    raise NotImplementedError("TODO 2: make_manager")


def main() -> int:
    """Run until SIGTERM; returns the exit code. Not 0 if we could not go on: then the kubelet starts us again."""
    # TODO 3: make the manager, setup(manager), manager.run(). TODO 4 to 6 are in manifest.yaml, 7 in Dockerfile.
    raise NotImplementedError("TODO 3: main")


if __name__ == "__main__":
    sys.exit(main())
