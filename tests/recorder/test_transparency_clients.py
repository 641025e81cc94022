"""Clients in Rust and Java can't tell the recorder from the API server. `make test-clients` builds and runs them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from built_clients import java, kube_rs
from transparency_stage import Side, Sides, two_sides

from converge.cluster import Cluster
from converge.recorder import Recorder
from converge.runtime import Client

pytestmark = [
    pytest.mark.clients,
    pytest.mark.slow,
    pytest.mark.timeout(3600),  # the first build compiles all of kube-rs
    pytest.mark.skipif("CONVERGE_TEST_CLIENTS" not in os.environ, reason="make test-clients runs this"),
]


@pytest.fixture(params=[False, True], ids=["http", "https"])
def sides(request: pytest.FixtureRequest, cluster: Cluster, admin: Client, tmp_path: Path) -> Iterator[Sides]:
    with two_sides(cluster, admin, tmp_path, tls=request.param) as made:
        yield made


def both_ways(sides: Sides, command: list[str]) -> Recorder:
    """Run a client both ways; it must get to its end and be recorded."""

    def work(side: Side) -> str:
        return side.run([*command, str(side.kubeconfig), side.namespace])

    printed = sides.agree(work)
    assert "saw a deletion" in printed, printed
    assert printed.endswith("exit status 0"), printed
    recorder = sides.recorder
    assert not [each for each in recorder.requests if each.note.startswith("the recorder failed")]
    return recorder


def followed(recorder: Recorder) -> set[str]:
    """What the recorder saw of the ConfigMap that an informer or a reflector followed."""
    return {each.type for each in recorder.delivered("ConfigMap", name="cm-later")}


def test_kube_rs(sides: Sides) -> None:
    recorder = both_ways(sides, kube_rs())
    assert followed(recorder) == {"ADDED", "MODIFIED", "DELETED"}
    assert [each for each in recorder.watches("ConfigMap") if "sendInitialEvents=true" in each.path]


def test_the_official_java_client(sides: Sides) -> None:
    recorder = both_ways(sides, java("Official"))
    assert followed(recorder) == {"ADDED", "MODIFIED", "DELETED"}


def test_fabric8(sides: Sides) -> None:
    """Its watches are WebSockets, so the recorder passes them on, and says that it hasn't read them."""
    recorder = both_ways(sides, java("Fabric8"))
    assert {each.note for each in recorder.watches("ConfigMap")} == {"passed on unread: websocket"}
