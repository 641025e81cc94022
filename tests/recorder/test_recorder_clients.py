"""The clients of real operators through the recorder: kopf, the official client, the runtime, client-go."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from kubernetes.client import Configuration
from kubernetes.client.rest import RESTClientObject
from recorder_stage import MERGE, Identity, Operator, Outsider

from converge.cluster import Cluster, programs
from converge.recorder import Recorder
from converge.runtime import Client, Conflict

KOPF = """
import kopf

@kopf.on.startup()
def no_cluster_rights(settings, **_):
    settings.scanning.disabled = True

@kopf.on.create("", "v1", "configmaps", field="data.k")
def created(name, patch, **_):
    patch.setdefault("data", {})["seen"] = "yes"
"""


@pytest.fixture
def kubeconfig(recorder: Recorder, identity: Identity, tmp_path: Path) -> Path:
    return identity.kubeconfig(recorder.url, tmp_path / "kubeconfig")


def test_kopf(recorder: Recorder, operator: Operator, outsider: Outsider, kubeconfig: Path, tmp_path: Path) -> None:
    source = tmp_path / "operator.py"
    source.write_text(KOPF)
    command = [sys.executable, "-m", "kopf", "run", str(source), "--standalone", "-n", operator.identity.namespace]
    process = subprocess.Popen(command, env={"KUBECONFIG": str(kubeconfig)}, stderr=subprocess.PIPE, text=True)
    try:
        assert recorder.wait_for(lambda: recorder.watches("ConfigMap"), deadline=20), str(recorder.recording)
        outsider.create("cm-kopf", k="v")
        patched = recorder.wait_for(lambda: recorder.writes("ConfigMap", name="cm-kopf", changed=True), deadline=10)
        assert patched
        assert patched[0].user_agent.startswith("kopf/")
        assert recorder.wait_for(lambda: outsider.get("cm-kopf")["data"].get("seen") == "yes", deadline=10)
    finally:
        process.terminate()
        process.communicate(timeout=10)


def test_the_official_client(recorder: Recorder, operator: Operator, outsider: Outsider) -> None:
    """Its transport: the models above it take seconds to import and send nothing of their own."""
    rest = RESTClientObject(Configuration(host=recorder.url))
    collection, one = (f"{recorder.url}{operator.configmaps}{name}" for name in ("", "/cm-official"))
    as_operator = operator.identity.headers
    made = {"metadata": {"name": "cm-official"}, "data": {"k": "1"}}
    rest.request("POST", collection, headers=as_operator, body=made).read()
    rest.request("PATCH", one, headers={**as_operator, **MERGE}, body={"data": {"k": "1"}}).read()
    query = "watch=true&fieldSelector=metadata.name%3Dcm-official"
    watch = rest.request("GET", f"{collection}?{query}", headers=as_operator).response
    assert json.loads(watch.readline())["object"]["metadata"]["name"] == "cm-official"
    watch.close()
    assert [str(request) for request in recorder.requests] == [
        "CREATE configmaps/cm-official",
        "PATCH configmaps/cm-official (changed nothing)",
        "WATCH configmaps",
    ]


def test_the_runtime(recorder: Recorder, operator: Operator, outsider: Outsider, kubeconfig: Path) -> None:
    client = Client(kubeconfig=kubeconfig)
    made = client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm-runtime"}})
    client.replace({**made, "data": {"k": "1"}})
    with pytest.raises(Conflict):
        client.replace({**made, "data": {"k": "2"}})
    client.close()
    assert [(request.verb, request.changed) for request in recorder.writes("ConfigMap")] == [
        ("create", True),
        ("update", True),
        ("update", False),
    ]


def test_client_go(cluster: Cluster, identity: Identity, outsider: Outsider, tmp_path: Path) -> None:
    """kubectl is client-go: discovery, server-side apply, and a wait that lists and watches."""
    with Recorder(cluster.server, cluster.ca_file, token=identity.token) as recorder:
        run_kubectl(recorder, identity.kubeconfig(recorder.url, tmp_path / "kubeconfig"))


def run_kubectl(recorder: Recorder, kubeconfig: Path) -> None:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm-go"}, "data": {"k": "1"}}

    def kubectl(*arguments: str) -> str:
        command = [str(programs.obtain(["kubectl"], print)["kubectl"]), "--kubeconfig", str(kubeconfig), *arguments]
        done = subprocess.run(command, input=yaml.safe_dump(manifest), capture_output=True, text=True, check=True)
        return done.stdout

    for _ in range(2):
        kubectl("apply", "--server-side", "-f", "-")
    kubectl("wait", "configmap/cm-go", "--for=jsonpath={.data.k}=1", "--timeout=5s")
    assert [(r.verb, r.changed) for r in recorder.writes("ConfigMap")] == [("apply", True), ("apply", False)]
    assert recorder.watches("ConfigMap")
    assert recorder.requests[0].user_agent.startswith("kubectl")
