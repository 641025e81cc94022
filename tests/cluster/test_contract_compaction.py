"""What every cluster of the course does with history that was compacted away: it says 410.

Compaction reaches the whole cluster, and other tests ask for old versions. So where a second control plane costs
seconds, this file has one of its own.
"""

from collections.abc import Iterator

import pytest
from contract import event

from converge import cluster as clusters
from converge.cluster import Cluster, ClusterError
from converge.runtime import Client, Gone


@pytest.fixture(scope="module")
def compacted(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The cluster to compact."""
    if cluster.provider != "local":
        yield cluster
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONVERGE_STATE", str(tmp_path_factory.mktemp("state")))
        yield clusters.up(provider="local")
        clusters.down()


@pytest.fixture(scope="module")
def client(compacted: Cluster) -> Iterator[Client]:
    """Its administrator."""
    made = Client(kubeconfig=compacted.kubeconfig)
    yield made
    made.close()


def test_a_version_that_was_compacted_is_gone(compacted: Cluster, client: Client, namespace: str) -> None:
    """Asked of Events, which the API server does not cache: for other kinds its memory outlives etcd's."""
    first = client.create(event(namespace, "first"))
    client.create(event(namespace, "second"))
    path = f"/api/v1/namespaces/{namespace}/events"
    page = client.connection.request("GET", path, {"limit": 1}, asked="list one page")
    client.create(event(namespace, "third"))
    try:
        revision = clusters.compact()
    except ClusterError as error:
        pytest.skip(str(error))
    old = first["metadata"]["resourceVersion"]
    assert revision > int(old)
    with client.watch("v1", "Event", namespace, resource_version=old, timeout=20) as watch, pytest.raises(Gone) as gone:
        next(watch)
    assert gone.value.status == 410
    next_page = {"limit": 1, "continue": page["metadata"]["continue"]}
    with pytest.raises(Gone):
        client.connection.request("GET", path, next_page, asked="list the next page")
    assert len(client.list("v1", "Event", namespace)) == 3, "a list from now on works"
