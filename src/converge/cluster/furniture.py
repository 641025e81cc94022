"""What a control plane with KWOK needs before a check can begin: the course's kinds, a Ready node, a ServiceAccount."""

from collections.abc import Callable

from converge.cluster import setup
from converge.cluster.components import MANIFESTS
from converge.runtime import Client

_WITHIN = 60.0


def furnish(client: Client) -> None:
    """Put all of it in, and wait until it is there."""
    setup.until("the course's kinds", lambda: install(client), _WITHIN)
    wait_until_fit(client, lambda: True)


def install(client: Client) -> bool:
    """Put in what every local cluster has: the course's kinds, a node, a storage class."""
    setup.install_kinds(client)
    for manifest in ("node.yaml", "storage.yaml"):
        for document in setup.documents(MANIFESTS / manifest):
            client.apply(document, field_manager=setup.FIELD_MANAGER, force=True)
    return True


def wait_until_fit(client: Client, alive: Callable[[], bool]) -> None:
    """Wait for what the controllers add to it; ``alive`` complains when there is no use in waiting."""
    setup.until("a Ready node", lambda: alive() and setup.nodes_are_ready(client), _WITHIN)
    setup.until(
        "the first ServiceAccount",
        lambda: alive() and bool(client.get("v1", "ServiceAccount", "default", "default")),
        _WITHIN,
    )
