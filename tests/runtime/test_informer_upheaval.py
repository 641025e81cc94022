"""The informer while its server is compacted and restarted.

On a control plane of this file's own: whatever else is tested at the same time must not meet a server that goes away.
"""

import pytest
from runtime_world import Gate, config_map

from converge import cluster as clusters
from converge.grader import eventually
from converge.runtime import Client, Informer

pytestmark = pytest.mark.xdist_group("upheaval")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A local control plane that only this file knows of."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONVERGE_STATE", str(tmp_path_factory.mktemp("state")))
        yield clusters.up(provider="local")
        clusters.down()


@pytest.fixture(scope="module")
def admin(cluster):
    """Its administrator."""
    client = Client(kubeconfig=cluster.kubeconfig)
    yield client
    client.close()


@pytest.fixture
def gate(cluster):
    """A way to the server, TLS and all, that can be shut."""
    with Gate(cluster.server) as gate:
        yield gate


@pytest.fixture
def gated(cluster, gate, tmp_path):
    """A client that goes through the gate."""
    kubeconfig = tmp_path / "gated"
    kubeconfig.write_text(cluster.kubeconfig.read_text().replace(cluster.server, gate.url))
    client = Client(kubeconfig=kubeconfig)
    yield client
    client.close()


def names(informer):
    return sorted(obj["metadata"]["name"] for obj in informer.list())


def test_a_real_410_after_a_real_compaction(cluster, admin, gate, gated, namespace):
    """With Events, which the server does not cache: of other kinds it remembers more than etcd does."""

    def event(name):
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": {"kind": "Pod", "name": "a", "namespace": namespace},
        }

    for name in ("a", "b"):
        admin.create(event(name))
    informer = Informer(gated, "v1", "Event", namespace)
    deleted = []
    informer.add_handler(lambda change: deleted.append(change.request.name) if change.new is None else None)
    informer.start()
    admin.create(event("c"))
    assert eventually(lambda: names(informer) == ["a", "b", "c"], within=20), "the watch is open"
    gate.shut()
    admin.delete("v1", "Event", "a", namespace)
    admin.create(event("d"))
    clusters.compact()
    gate.open()
    assert eventually(lambda: names(informer) == ["b", "c", "d"], within=30), names(informer)
    assert deleted == ["a"]
    assert informer.lists == 2
    informer.stop()


@pytest.mark.slow
def test_it_survives_a_restart_of_the_server(cluster, admin, gated, namespace):
    informer = Informer(gated, "v1", "ConfigMap", namespace, label_selector="app")
    informer.start()
    admin.create(config_map("a", namespace))
    assert eventually(lambda: names(informer) == ["a"], within=20), "the watch is open"
    clusters.restart("kube-apiserver")
    admin.create(config_map("b", namespace))
    assert eventually(lambda: names(informer) == ["a", "b"], within=60), informer.last_error
    assert informer.lists <= 2, "a server that has just started may have no history, and say 410; once"
    informer.stop()
