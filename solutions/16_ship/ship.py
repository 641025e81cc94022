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


# --8<-- [start:election]
def make_election(client: Client) -> LeaderElection:
    """Return the election: one Lease for all replicas, and a different identity for each."""
    lease = float(os.environ.get("LEASE_SECONDS", "15"))
    return LeaderElection(
        client,
        "webapp-operator",
        identity=os.environ["POD_NAME"],
        lease_duration=lease,
        renew_deadline=lease * 2 / 3,  # the leader stops acting before anyone else may begin
        retry_period=lease * 2 / 15,
    )


# --8<-- [end:election]


# --8<-- [start:manager]
def make_manager() -> Manager:
    """Return the manager of one namespace: it acts only as the leader, answers probes, and stops patiently."""
    namespace = os.environ["POD_NAMESPACE"]
    client = Client(namespace=namespace)
    return Manager(
        client,
        namespace=namespace,
        leader_election=make_election(client),
        port=int(os.environ["PORT"]),
        host="0.0.0.0",  # the kubelet and Prometheus come from outside the Pod
        grace=10,
    )


# --8<-- [end:manager]


# --8<-- [start:main]
def main() -> int:
    """Run until SIGTERM and return the exit code. Not 0 if we can't go on: then the kubelet restarts us."""
    logs.configure("json")
    manager = make_manager()
    setup(manager)
    try:
        manager.run()
    except RuntimeProblem as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    return 0


# --8<-- [end:main]


if __name__ == "__main__":
    sys.exit(main())
