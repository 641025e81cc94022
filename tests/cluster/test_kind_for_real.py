"""A kind cluster in real containers: made, repaired, looked into, deleted. `make test-kind` runs it.

It has a state directory of its own, so it stands beside the cluster on which the contract suite runs.
"""

import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from terminal import Terminal

from converge import cluster as clusters
from converge.cluster import Cluster, ClusterError, engine
from converge.cluster.bootstrap import until
from converge.cluster.providers import kind
from converge.runtime import Client

pytestmark = [
    pytest.mark.kind,
    pytest.mark.xdist_group("kind"),
    pytest.mark.timeout(600),
    pytest.mark.skipif("CONVERGE_TEST_KIND" not in os.environ, reason="make test-kind runs this"),
]


@pytest.fixture(scope="module")
def runs_on() -> engine.Engine:
    found = engine.answering()
    assert found is not None, "no container engine answers"
    return found


def containers(runs_on: engine.Engine, name: str) -> list[str]:
    label = f"label=io.x-k8s.kind.cluster={name}"
    return runs_on.run("ps", "--all", "--filter", label, "--format", "{{.Names}} {{.State}}").stdout.splitlines()


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    made = Terminal(tmp_path_factory.mktemp("home"))
    made.converge("up", "--provider", "kind")
    yield made
    made.converge("down")


@pytest.fixture
def cluster(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setenv("CONVERGE_STATE", terminal.environment["CONVERGE_STATE"])
    return kind.KindProvider().describe()


def test_it_is_ours_alone(terminal: Terminal, cluster: Cluster, runs_on: engine.Engine) -> None:
    assert containers(runs_on, kind.cluster_name()) == [f"{kind.cluster_name()}-control-plane running"]
    assert cluster.server.startswith("https://127.0.0.1:")
    assert stat.S_IMODE(cluster.kubeconfig.stat().st_mode) == 0o600
    assert stat.S_IMODE(terminal.cluster.stat().st_mode) == 0o700
    assert not (terminal.home / ".kube").exists()


def test_a_second_start_changes_nothing(terminal: Terminal) -> None:
    before = terminal.status()
    terminal.converge("up")
    assert terminal.status()["node"]["pid"] == before["node"]["pid"]


def test_another_image_is_not_put_in_its_place(terminal: Terminal) -> None:
    assert "converge down" in terminal.converge("up", "--image", "kindest/node:v9", code=3)


def test_status_logs_and_kubectl_work(terminal: Terminal) -> None:
    assert "running" in terminal.converge("status")
    assert "control-plane" in terminal.converge("kubectl", "get", "nodes")
    assert terminal.converge("logs", "kube-apiserver", "-n", "2").count("\n") <= 4
    assert "kube-scheduler" in terminal.converge("logs", "-n", "1")
    assert "Creating cluster" in terminal.converge("logs", "kind", "-n", "100")


def test_the_images_of_the_labs_are_in_the_node(cluster: Cluster, runs_on: engine.Engine) -> None:
    here = [image for image in (*cluster.images.web, *cluster.images.postgres) if runs_on.has(image)]
    loaded = runs_on.run("exec", f"{kind.cluster_name()}-control-plane", "crictl", "images", "-o", "json").stdout
    assert [image for image in here if image.rpartition("/")[2] not in loaded] == []


def test_an_image_of_ones_own_is_loaded(terminal: Terminal, cluster: Cluster, runs_on: engine.Engine) -> None:
    mine = "localhost/built-here:7"
    assert f"has no image {mine}" in terminal.converge("load", mine, code=3)
    runs_on.run("tag", cluster.images.web[0], mine)
    try:
        terminal.converge("load", mine)
    finally:
        runs_on.run("rmi", mine)
    assert mine in runs_on.run("exec", f"{kind.cluster_name()}-control-plane", "crictl", "images", "-o", "json").stdout


@pytest.mark.parametrize("component", ["kube-apiserver", "kube-controller-manager"])
def test_a_component_is_started_again(cluster: Cluster, component: str) -> None:
    client = Client(kubeconfig=cluster.kubeconfig)
    clusters.restart(component)
    until("an answer", lambda: bool(client.list("v1", "Node")), within=60)


def test_a_component_that_is_not_there_is_named(cluster: Cluster) -> None:
    with pytest.raises(ClusterError, match="nginx is not a component"):
        clusters.restart("nginx")


def test_a_stopped_node_is_named_and_mended(terminal: Terminal, cluster: Cluster, runs_on: engine.Engine) -> None:
    client = Client(kubeconfig=cluster.kubeconfig)
    place = {"name": "kept", "namespace": "default"}
    client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": place})
    runs_on.run("stop", f"{kind.cluster_name()}-control-plane")
    assert "node ended" in terminal.converge("status", code=1)
    terminal.converge("up")
    assert client.get("v1", "ConfigMap", "kept", "default")


def test_a_removed_node_is_made_anew(terminal: Terminal, cluster: Cluster, runs_on: engine.Engine) -> None:
    runs_on.run("rm", "--force", "--volumes", f"{kind.cluster_name()}-control-plane")
    terminal.converge("status", code=1)
    terminal.converge("up")
    assert containers(runs_on, kind.cluster_name()) == [f"{kind.cluster_name()}-control-plane running"]


def test_down_leaves_nothing(terminal: Terminal, cluster: Cluster, runs_on: engine.Engine) -> None:
    terminal.converge("down")
    assert containers(runs_on, kind.cluster_name()) == []
    assert not terminal.cluster.exists()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
def test_a_start_that_was_cut_off_leaves_nothing(
    tmp_path: Path, runs_on: engine.Engine, monkeypatch: pytest.MonkeyPatch, how: signal.Signals
) -> None:
    terminal = Terminal(tmp_path)
    monkeypatch.setenv("CONVERGE_STATE", terminal.environment["CONVERGE_STATE"])
    process = terminal.begin("up", "--provider", "kind")
    until("a container", lambda: bool(containers(runs_on, kind.cluster_name())), within=60)
    process.send_signal(how)
    output, _ = process.communicate(timeout=120)
    if how == signal.SIGINT:
        assert process.returncode == 130, output
    else:
        terminal.converge("down")  # nobody was there to clean up, so this is the first to do it
    assert containers(runs_on, kind.cluster_name()) == []
    terminal.converge("status", code=1)
