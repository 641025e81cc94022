"""Fixtures of the contract suite: a client of the cluster, and a namespace for each test."""

from collections.abc import Iterator

import pytest

from converge.cluster import Cluster
from converge.runtime import Client


@pytest.fixture(scope="session")
def client(cluster: Cluster) -> Iterator[Client]:
    """A client with the administrator's rights."""
    made = Client(kubeconfig=cluster.kubeconfig)
    yield made
    made.close()


@pytest.fixture
def namespace(client: Client) -> Iterator[str]:
    """A namespace of a test's own; its deletion is not waited for."""
    made = client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "contract-"}})
    name = made["metadata"]["name"]
    yield name
    client.delete("v1", "Namespace", name)
