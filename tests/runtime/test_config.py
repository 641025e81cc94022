"""Which cluster, and as whom; and one clear error when there is none."""

import json
import socket
import threading

import pytest
from runtime_world import config_map, pump, write_kubeconfig

from converge.runtime import (
    Client,
    ConfigError,
    Unavailable,
)
from converge.runtime.api.official import official


def test_no_kubeconfig_says_where_it_was_looked_for(monkeypatch, tmp_path):
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(
        ConfigError, match=r"no cluster to talk to: \$KUBECONFIG is not set, there is no .*/.kube/config"
    ):
        Client()


def test_a_kubeconfig_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigError, match=f"there is no kubeconfig at {tmp_path}/none"):
        Client(kubeconfig=tmp_path / "none")


@pytest.mark.parametrize("content", ["", "- a list", "clusters: [", "apiVersion: v1\nkind: Config\n"])
def test_a_broken_kubeconfig_is_one_clear_error(tmp_path, content):
    (tmp_path / "broken").write_text(content)
    with pytest.raises(ConfigError, match=f"the kubeconfig {tmp_path}/broken cannot be used"):
        Client(kubeconfig=tmp_path / "broken")


def test_an_unknown_context_is_named(tmp_path):
    path = write_kubeconfig(tmp_path / "config", "http://127.0.0.1:1", {})
    with pytest.raises(ConfigError, match="nowhere"):
        Client(kubeconfig=path, context="nowhere")


def test_the_environment_names_the_kubeconfig(monkeypatch, tmp_path):
    path = write_kubeconfig(tmp_path / "config", "http://127.0.0.1:1", {})
    monkeypatch.setenv("KUBECONFIG", str(path))
    assert Client().connection.server == "http://127.0.0.1:1"


def test_a_server_that_is_not_there_is_one_clear_error(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    path = write_kubeconfig(tmp_path / "config", f"https://127.0.0.1:{port}", {})
    with pytest.raises(Unavailable, match=rf"discover v1: no answer from https://127.0.0.1:{port}: .*refused"):
        Client(kubeconfig=path).list("v1", "ConfigMap")


def test_a_server_whose_certificate_is_unknown_is_not_trusted(cluster, tmp_path):
    path = write_kubeconfig(tmp_path / "config", cluster.server, {})
    with pytest.raises(Unavailable, match=r"(?i)certificate"):
        Client(kubeconfig=path).list("v1", "ConfigMap")


def test_a_proxy_is_used(cluster, admin, token, tmp_path, namespace):
    admin.create(config_map("a", namespace, x="1"))
    proxy = TunnelProxy()
    path = write_kubeconfig(
        tmp_path / "proxied",
        cluster.server,
        {"token": token},
        **{"certificate-authority": str(cluster.ca_file), "proxy-url": proxy.url},
    )
    assert Client(kubeconfig=path).get("v1", "ConfigMap", "a", namespace)["data"] == {"x": "1"}
    assert proxy.tunnels == [cluster.server.removeprefix("https://")]


class TunnelProxy:
    """An HTTP proxy that knows CONNECT."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.tunnels: list[str] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        near, _ = self._listener.accept()
        head = b""
        while b"\r\n\r\n" not in head:
            head += near.recv(4096)
        target = head.split()[1].decode()
        self.tunnels.append(target)
        host, _, port = target.partition(":")
        far = socket.create_connection((host, int(port)))
        near.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        for source, sink in ((near, far), (far, near)):
            threading.Thread(target=pump, args=(source, sink), daemon=True).start()


def test_in_a_pod_the_service_account_is_used_and_its_token_may_be_rotated(
    cluster, admin, token, tmp_path, monkeypatch, namespace
):
    host, _, port = cluster.server.removeprefix("https://").partition(":")
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    (tmp_path / "token").write_text(token)
    (tmp_path / "namespace").write_text(namespace)
    # Where a Pod has its files is written down in the official client, and here for the namespace.
    files = official().load_incluster_config.__globals__
    monkeypatch.setitem(files, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setitem(files, "SERVICE_CERT_FILENAME", str(cluster.ca_file))
    monkeypatch.setattr("converge.runtime.api.config._POD_NAMESPACE", tmp_path / "namespace")
    admin.create(config_map("a", namespace, x="1"))
    client = Client()
    assert client.get("v1", "ConfigMap", "a")["data"] == {"x": "1"}
    (tmp_path / "token").write_text("expired")
    stale = Client()
    (tmp_path / "token").write_text(token)
    assert stale.get("v1", "ConfigMap", "a")["data"] == {"x": "1"}


def test_a_pod_without_a_service_account_is_one_clear_error(monkeypatch):
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    with pytest.raises(ConfigError, match="the ServiceAccount of this Pod cannot be used: Service token file"):
        Client()


def test_a_credential_plugin_is_asked_and_asked_again_when_its_token_is_refused(
    cluster, admin, token, tmp_path, namespace
):
    admin.create(config_map("a", namespace, x="1"))
    answer = tmp_path / "answer.json"
    credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}
    answer.write_text(json.dumps({**credential, "status": {"token": "expired"}}))
    plugin = {
        "apiVersion": credential["apiVersion"],
        "command": "cat",
        "args": [str(answer)],
        "interactiveMode": "Never",
    }
    authority = {"certificate-authority": str(cluster.ca_file)}
    client = Client(kubeconfig=write_kubeconfig(tmp_path / "config", cluster.server, {"exec": plugin}, **authority))
    answer.write_text(json.dumps({**credential, "status": {"token": token}}))
    assert client.get("v1", "ConfigMap", "a", namespace)["data"] == {"x": "1"}
