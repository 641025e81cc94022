"""What a Pod's environment tells an operator that runs in one: who it is, where, and on which port to answer."""

import secrets
import socket
from collections import deque

REPLICA_SET = "6d4cf56db9"  # what a ReplicaSet adds to its Deployment's name


def environment(namespace: str) -> dict[str, str]:
    """The variables of one more replica in ``namespace``. It keeps its name when it is started again, as in a Pod.

    The names are those of one Deployment's Pods: only the last five characters differ.
    """
    return {
        "POD_NAME": f"webapp-operator-{REPLICA_SET}-{secrets.token_hex(3)[1:]}",
        "POD_NAMESPACE": namespace,
        "PORT": str(free_port()),
    }


_given: deque[int] = deque(maxlen=100)


def free_port() -> int:
    """A port of this machine that nothing listens on right now, and that wasn't given to anyone a moment ago."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        if port not in _given:
            _given.append(port)
            return port
