"""The control plane on this machine as a person meets it: started, killed, repaired, stopped, and nothing left.

One cluster serves most tests, in the order of this file; those that need a first start have one of their own.
"""

import itertools
import json
import os
import signal
import socket
import ssl
import stat
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import yaml
from terminal import Terminal

from converge import cluster as clusters
from converge.cluster import bootstrap, etcd, health
from converge.cluster.bootstrap import until
from converge.cluster.pki import Pki
from converge.cluster.providers.local import COMPONENTS
from converge.runtime import Client

pytestmark = pytest.mark.xdist_group("local cluster")


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """A terminal whose cluster was started by two commands at once."""
    made = Terminal(tmp_path_factory.mktemp("home"))
    both = [made.begin("up", "--provider", "local") for _ in range(2)]
    outputs = [process.communicate(timeout=120)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    yield made
    made.converge("down")


def problem(terminal: Terminal) -> str:
    """What a check in that terminal would hear about the cluster."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONVERGE_STATE", terminal.environment["CONVERGE_STATE"])
        return clusters.problem()


def test_two_starts_at_once_make_one_cluster(terminal: Terminal) -> None:
    assert len(terminal.processes()) == len(COMPONENTS)


def test_a_second_start_changes_nothing(terminal: Terminal) -> None:
    before = terminal.status()
    terminal.converge("up")
    assert {name: part["pid"] for name, part in terminal.status().items()} == {
        name: part["pid"] for name, part in before.items()
    }


def test_status_tells_what_runs(terminal: Terminal) -> None:
    said = terminal.converge("status")
    for name, part in terminal.status().items():
        assert part["alive"]
        assert part["memory"] > 2**20
        assert f"{name} " in said
        assert part["version"] in said
        assert Path(part["log"]).exists()


def test_keys_are_for_their_owner_alone(terminal: Terminal) -> None:
    def mode(path: Path) -> int:
        return stat.S_IMODE(path.stat().st_mode)

    assert mode(terminal.cluster / "kubeconfig") == 0o600
    assert mode(terminal.cluster) == mode(terminal.cluster / "pki") == 0o700
    secret = [*terminal.cluster.rglob("*.key"), *(terminal.cluster / "identities").iterdir()]
    assert secret
    assert {path: oct(mode(path)) for path in secret if mode(path) != 0o600} == {}


def test_the_users_kubeconfig_is_never_touched(terminal: Terminal) -> None:
    assert "converge" in terminal.converge("kubectl", "get", "nodes")
    assert not (terminal.home / ".kube" / "config").exists()


def test_every_listener_is_on_loopback(terminal: Terminal) -> None:
    listeners = [
        (process.name(), connection.laddr)
        for process in terminal.processes()
        for connection in process.net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert len(listeners) >= 5
    assert [one for one in listeners if one[1].ip not in ("127.0.0.1", "::1")] == []


def test_etcd_talks_to_the_api_server_alone(terminal: Terminal) -> None:
    ports, pki = json.loads((terminal.cluster / "local.json").read_text())["ports"], Pki(terminal.cluster / "pki")
    assert etcd.on_loopback(ports["etcd-http"], pki)("kv/range", {"key": "AA=="})["header"]["revision"]
    nobody = ssl.create_default_context(cafile=str(pki.cert("etcd-ca")))
    administrator = ssl.create_default_context(cafile=str(pki.cert("etcd-ca")))
    administrator.load_cert_chain(pki.cert("admin"), pki.key("admin"))
    for listener, context in itertools.product(("etcd", "etcd-http", "etcd-peer"), (nobody, administrator)):
        url = f"https://127.0.0.1:{ports[listener]}/v3/kv/range"
        with pytest.raises(OSError) as refused:
            urllib.request.urlopen(url, b"{}", timeout=5, context=context)
        assert not isinstance(refused.value, urllib.error.HTTPError), "refused in the handshake, before any question"


def test_nobody_is_served_without_a_name(terminal: Terminal) -> None:
    port = terminal.status()["kube-apiserver"]["port"]
    context = ssl.create_default_context(cafile=str(terminal.cluster / "pki" / "ca.crt"))
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"https://127.0.0.1:{port}/api", timeout=5, context=context)
    refused.value.close()
    assert refused.value.code == 401


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_killed_component_is_named_and_mended(terminal: Terminal, component: str) -> None:
    before = {process.pid for process in terminal.processes()}
    victim = psutil.Process(terminal.status()[component]["pid"])
    victim.kill()
    until("the victim's end", lambda: not victim.is_running(), within=10)
    assert f"{component} ended" in terminal.converge("status", code=1)
    assert problem(terminal).startswith(f"{component} of the local cluster has stopped")
    terminal.converge("up")
    assert problem(terminal) == ""
    assert before - {process.pid for process in terminal.processes()} == {victim.pid}, "the others are left alone"
    assert terminal.status()[component]["alive"]


def test_a_suspended_server_is_trouble(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_ANSWERS_WITHIN", 1.0)
    etcd_process = psutil.Process(terminal.status()["etcd"]["pid"])
    etcd_process.suspend()
    try:
        assert "doesn't answer" in problem(terminal)
    finally:
        etcd_process.resume()
    until("the cluster's recovery", lambda: problem(terminal) == "", within=60)


def test_what_someone_deleted_is_noticed_and_put_back(terminal: Terminal) -> None:
    before = terminal.status()
    client = Client(kubeconfig=terminal.cluster / "kubeconfig")
    client.delete(*bootstrap.DEFINITION, "webapps.converge.example")
    client.delete("storage.k8s.io/v1", "StorageClass", "standard")
    client.delete("v1", "Node", "converge")
    lost = problem(terminal)
    assert "the kind webapps.converge.example" in lost
    assert "a Ready node" in lost
    assert "a default storage class" in lost
    assert "putting back the kind webapps.converge.example" in terminal.converge("up")
    assert problem(terminal) == ""
    replaced = {name for name, part in terminal.status().items() if part["pid"] != before[name]["pid"]}
    assert replaced == {"kube-controller-manager"}, "its garbage collector has to know the kind at once"
    bootstrap.wait_for_garbage_collector(client)
    client.close()


def test_a_cordoned_node_takes_pods_again(terminal: Terminal) -> None:
    terminal.converge("kubectl", "cordon", "converge")
    assert "a Ready node" in problem(terminal)
    terminal.converge("up")
    assert problem(terminal) == ""


def test_two_dashes_reach_kubectl(terminal: Terminal) -> None:
    made = terminal.converge("kubectl", "create", "job", "d", "--image=web", "-o=yaml", "--", "ls", "-l", "--", "x")
    assert yaml.safe_load(made)["spec"]["template"]["spec"]["containers"][0]["command"] == ["ls", "-l", "--", "x"]


def test_after_a_reboot_the_cluster_comes_back_with_its_objects(terminal: Terminal) -> None:
    terminal.converge("kubectl", "create", "configmap", "kept-through-reboot")
    processes = terminal.processes()
    for process in processes:
        process.kill()
    psutil.wait_procs(processes, timeout=10)
    terminal.converge("up")
    assert "kept-through-reboot" in terminal.converge("kubectl", "get", "configmap", "kept-through-reboot")


def test_logs_are_shown_by_name(terminal: Terminal) -> None:
    assert "kube-apiserver" not in terminal.converge("logs", "kube-scheduler", "-n", "5")
    assert "there are: etcd" in terminal.converge("logs", "nginx", code=1)


def test_another_provider_does_not_take_over(terminal: Terminal) -> None:
    assert "a local cluster is up here" in terminal.converge("up", "--provider", "kind", code=3)


def test_a_start_that_was_killed_before_it_wrote_down_a_process_is_no_obstacle(terminal: Terminal) -> None:
    state = terminal.cluster / "local.json"
    left = json.loads(state.read_text())
    forgotten = left["processes"].pop("kube-apiserver")
    state.write_text(json.dumps(left))
    terminal.converge("up")
    assert len(terminal.processes()) == len(COMPONENTS)
    assert forgotten["pid"] not in {process.pid for process in terminal.processes()}


def test_a_lost_kubeconfig_is_written_again(terminal: Terminal) -> None:
    before = {process.pid for process in terminal.processes()}
    (terminal.cluster / "kubeconfig").unlink()
    terminal.converge("up")
    assert "converge" in terminal.converge("kubectl", "get", "nodes")
    assert {process.pid for process in terminal.processes()} == before


def test_a_cluster_of_an_earlier_release_is_replaced(terminal: Terminal) -> None:
    state = terminal.cluster / "local.json"
    left = json.loads(state.read_text())
    del left["shape"]
    state.write_text(json.dumps(left))
    before = {process.pid for process in terminal.processes()}
    terminal.converge("up")
    assert not before & {process.pid for process in terminal.processes()}
    assert len(terminal.processes()) == len(COMPONENTS)


def test_down_leaves_nothing(terminal: Terminal) -> None:
    ports = json.loads((terminal.cluster / "local.json").read_text())["ports"].values()
    terminal.converge("down")
    assert terminal.processes() == []
    assert not terminal.cluster.exists()
    for port in ports:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=1)
    assert "there was no cluster" in terminal.converge("down")
    assert "no cluster is up" in terminal.converge("status", code=1)


def test_an_interrupted_first_start_leaves_nothing(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    process = terminal.begin("up", "--provider", "local")
    until("the API server's process", lambda: len(terminal.processes()) >= 2, within=60)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    assert terminal.processes() == []
    terminal.converge("status", code=1)


def test_a_first_start_that_was_killed_is_no_obstacle(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    process = terminal.begin("up", "--provider", "local")
    until("the API server's process", lambda: len(terminal.processes()) >= 2, within=60)
    process.kill()
    process.communicate()
    terminal.converge("up", "--provider", "local")
    assert len(terminal.processes()) == len(COMPONENTS)
    terminal.converge("down")
    assert terminal.processes() == []


def test_a_lost_state_file_does_not_lose_processes(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    terminal.converge("up", "--provider", "local")
    (terminal.cluster / "local.json").write_text("{half a fi")
    terminal.converge("down")
    assert terminal.processes() == []
    assert not os.path.lexists(terminal.cluster)
