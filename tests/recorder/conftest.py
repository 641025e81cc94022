"""A recorder in front of the real API server, and its clients. ``cluster`` and ``admin`` are the course's own."""

from collections.abc import Iterator

import pytest
from recorder_stage import Identity, Operator, Outsider

from converge.cluster import Cluster
from converge.recorder import Recorder
from converge.runtime import Client
from converge.testing.access.identity import drop_namespace, make_account, make_namespace


@pytest.fixture(scope="module")
def identity(admin: Client) -> Iterator[Identity]:
    """An operator that may do anything with ConfigMaps, in one namespace of its own."""
    namespace = make_namespace(admin)
    rights = {"group": "", "resources": ["configmaps", "secrets", "events"], "verbs": ["*"]}
    yield Identity(namespace, make_account(admin, namespace, (rights,)))
    drop_namespace(admin, namespace)


@pytest.fixture
def recorder(cluster: Cluster) -> Iterator[Recorder]:
    with Recorder(cluster.server, cluster.ca_file) as recorder:
        yield recorder


@pytest.fixture
def operator(recorder: Recorder, identity: Identity) -> Operator:
    return Operator(recorder.url, identity)


@pytest.fixture
def outsider(identity: Identity, admin: Client) -> Iterator[Outsider]:
    """Another client, which changes things without the recorder."""
    outsider = Outsider(admin, identity.namespace)
    yield outsider
    for name in outsider.names():
        admin.delete("v1", "ConfigMap", name, identity.namespace)
