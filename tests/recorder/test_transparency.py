"""No client can tell the recorder from the API server: the same work with and without it, compared.

Each client prints what it got, errors in full. The two outputs must be equal, and so must what is left in the cluster.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest
import yaml
from transparency_stage import Side, Sides, two_sides

from benchmarks import golang
from converge.cluster import Cluster, programs
from converge.runtime import Client
from converge.testing.access import in_cluster
from converge.testing.waits import idle
from converge.testing.waits.waiting import eventually

PROTOBUF = "application/vnd.kubernetes.protobuf"


# Each client runs twice, and some import for seconds.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
def http(cluster: Cluster, admin: Client, tmp_path: Path) -> Iterator[Sides]:
    with two_sides(cluster, admin, tmp_path, tls=False) as made:
        yield made


@pytest.fixture
def https(cluster: Cluster, admin: Client, tmp_path: Path) -> Iterator[Sides]:
    with two_sides(cluster, admin, tmp_path, tls=True) as made:
        yield made


@pytest.fixture(scope="session")
def go_clients() -> str:
    return str(golang.build(golang.COURSE_MODULE, "./transparency", "transparency"))


@pytest.mark.parametrize(("listener", "asking"), [("https", ()), ("http", ("-content-type", PROTOBUF))])
def test_client_go(request: pytest.FixtureRequest, go_clients: str, listener: str, asking: tuple[str, ...]) -> None:
    """Typed, dynamic and metadata clients, with informers. Typed clients speak protobuf unless asked not to."""
    sides = request.getfixturevalue(listener)

    def work(side: Side) -> str:
        return side.run([go_clients, "-kubeconfig", str(side.kubeconfig), "-n", side.namespace, *asking])

    printed = sides.agree(work)
    assert "ended early" not in printed
    assert "exit status 0" in printed
    recorder = sides.recorder
    assert not [each for each in recorder.requests if each.note.startswith(("answer not read", "passed on unread"))]
    verbs = [(each.verb, each.changed) for each in recorder.writes("ConfigMap", name="cm-a")]
    assert verbs == [
        ("create", True),
        ("create", False),
        ("update", True),
        ("update", False),
        ("update", False),
        ("patch", True),
        ("patch", True),
        ("update", True),
    ]
    # Informers begin with a watch instead of a list, up to a bookmark that says so. That bookmark isn't a change.
    assert [each for each in recorder.watches("ConfigMap") if "sendInitialEvents=true" in each.path]
    # The typed informer still runs when the metadata informer's turn comes.
    types = sorted(each.type for each in recorder.delivered("ConfigMap", name="cm-later"))
    assert types == ["ADDED"] * 3 + ["DELETED"] * 3
    assert recorder.writes("Deployment")[0].reason.startswith("Invalid: spec.replicas: ")


def test_a_client_that_takes_nothing_but_protobuf_gets_it(https: Sides, go_clients: str) -> None:
    def work(side: Side) -> str:
        asking = ["-content-type", PROTOBUF, "-accept", PROTOBUF]
        return side.run([go_clients, "-kubeconfig", str(side.kubeconfig), "-n", side.namespace, *asking])

    https.agree(work)
    recorder = https.recorder
    created, again, generated, updated = recorder.writes("ConfigMap")[:4]
    assert str(created) == f"CREATE configmaps/cm-a (answer not read: {PROTOBUF})"
    assert again.reason == "AlreadyExists"
    assert generated.name.startswith("cm-gen-")
    assert updated.version_before == created.version_after != updated.version_after
    unread = [each for each in recorder.watches("ConfigMap") if each.note.startswith("passed on unread: ")]
    assert unread, "the typed informer's watch"


def test_a_client_that_prefers_cbor(https: Sides, go_clients: str) -> None:
    """A server whose feature gate is off refuses such a body with 415, and the client hears just that."""
    asking = {"KUBE_FEATURE_ClientsAllowCBOR": "true", "KUBE_FEATURE_ClientsPreferCBOR": "true"}

    def work(side: Side) -> str:
        command = [go_clients, "-kubeconfig", str(side.kubeconfig), "-n", side.namespace]
        return side.run(command, environment={**os.environ, **asking})

    assert "exit status 0" in https.agree(work)
    assert [each for each in https.recorder.writes("ConfigMap") if each.status == 415]


def test_in_cluster_credentials(https: Sides, go_clients: str, tmp_path: Path) -> None:
    """An operator that knows nothing but what a Pod has."""
    if not in_cluster.can_run_in_pod():
        pytest.skip("not run: this machine doesn't allow mount namespaces")

    def work(side: Side) -> str:
        assert side.ca_file is not None
        files = in_cluster.write_service_account(tmp_path / side.namespace, side.token, side.ca_file, side.namespace)
        environment = {**os.environ, **in_cluster.environment(side.server)}
        return side.run(in_cluster.in_pod([go_clients, "-n", side.namespace], files), environment=environment)

    assert "exit status 0" in https.agree(work)
    assert https.recorder.writes("ConfigMap")


WEBAPP = {
    "apiVersion": "converge.example/v1",
    "kind": "WebApp",
    "metadata": {"name": "web"},
    "spec": {"image": "nginx:1", "replicas": 2, "port": 8080},
}


class running:  # noqa: N801
    """A program that runs for the length of a block."""

    def __init__(
        self, command: list[str], environment: dict[str, str] | None = None, stdout: IO[str] | int = subprocess.PIPE
    ) -> None:
        self._process = subprocess.Popen(command, env=environment, stdout=stdout, stderr=subprocess.STDOUT, text=True)
        self._log = ""

    def __enter__(self) -> "running":
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._log, _ = self._process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._log, _ = self._process.communicate()

    def log(self) -> str:
        return self._log


@pytest.fixture(scope="session")
def controller_runtime() -> str:
    return str(golang.build(golang.COURSE_MODULE, "./benchmark", "webapp-operator"))


def test_controller_runtime(https: Sides, controller_runtime: str) -> None:
    """A whole operator: caches, owned children, status. One child is deleted while it runs."""
    admin = https.admin

    def work(side: Side) -> str:
        def ready() -> bool:
            status = admin.get("converge.example/v1", "WebApp", "web", side.namespace).get("status", {})
            return any(
                each["type"] == "Available" and each["status"] == "True" for each in status.get("conditions", [])
            )

        def replaced() -> bool:
            services = admin.list("v1", "Service", side.namespace)
            return bool(services) and services[0]["metadata"]["uid"] != first

        command = [controller_runtime, "-n", side.namespace]
        with running(command, {**os.environ, "KUBECONFIG": str(side.kubeconfig)}) as operator:
            admin.create({**WEBAPP, "metadata": {"name": "web", "namespace": side.namespace}})
            assert eventually(ready, within=60), operator.log()
            first = admin.get("v1", "Service", "web", side.namespace)["metadata"]["uid"]
            admin.delete("v1", "Service", "web", side.namespace)
            assert eventually(replaced, within=30), operator.log()
        return "reconciled"

    https.agree(work)
    assert not [each for each in https.recorder.requests if each.note.startswith("the recorder failed")]


KOPF = """
import kopf

@kopf.on.startup()
def no_cluster_rights(settings, **_):
    settings.scanning.disabled = True
    settings.posting.enabled = False

@kopf.on.create("webapps")
def created(spec, name, patch, **_):
    patch.status["url"] = f"http://{name}:{spec['port']}"
"""


def test_kopf(http: Sides, tmp_path: Path) -> None:
    source = tmp_path / "operator.py"
    source.write_text(KOPF)

    def work(side: Side) -> str:
        command = [sys.executable, "-m", "kopf", "run", str(source), "--standalone", "-n", side.namespace]
        with running(command, {**os.environ, "KUBECONFIG": str(side.kubeconfig)}):
            app = http.admin.create({**WEBAPP, "metadata": {"name": "web", "namespace": side.namespace}})

            def handled() -> bool:
                found = http.admin.get(app["apiVersion"], "WebApp", "web", side.namespace)
                return "url" in found.get("status", {}) and "kopf.zalando.org/last-handled-configuration" in found[
                    "metadata"
                ].get("annotations", {})

            assert eventually(handled, within=30)
        return "handled"

    http.agree(work)


PYTHON_CLIENT = """
import sys
from kubernetes import client, config, watch

config.load_kube_config(sys.argv[1])
namespace, api = sys.argv[2], client.CoreV1Api()

def say(step, act):
    try:
        print(step, act())
    except client.ApiException as error:
        print(step, error.status, error.reason, error.body)

def configmap(name, **data):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name), data=data)

say("create", lambda: api.create_namespaced_config_map(namespace, configmap("cm-a", k="1")).data)
say("create again", lambda: api.create_namespaced_config_map(namespace, configmap("cm-a", k="1")).data)
say("create with a bad name", lambda: api.create_namespaced_config_map(namespace, configmap("Not Good")).data)
made = api.read_namespaced_config_map("cm-a", namespace)
say("patch", lambda: api.patch_namespaced_config_map("cm-a", namespace, {"data": {"k": "2"}}).data)
say("replace an old version", lambda: api.replace_namespaced_config_map("cm-a", namespace, made).data)
say("create", lambda: api.create_namespaced_config_map(namespace, configmap("cm-b", k="1")).data)
page = api.list_namespaced_config_map(namespace, limit=1)
names = [each.metadata.name for each in page.items]
while page.metadata._continue:
    page = api.list_namespaced_config_map(namespace, limit=1, _continue=page.metadata._continue)
    names += [each.metadata.name for each in page.items]
print("pages", names)
stream = watch.Watch()
for event in stream.stream(api.list_namespaced_config_map, namespace, timeout_seconds=30):
    print("event", event["type"], event["object"].metadata.name)
    if event["object"].metadata.name == "cm-b" and event["type"] == "ADDED":
        api.delete_namespaced_config_map("cm-b", namespace)
    if event["type"] == "DELETED":
        stream.stop()
say("logs", lambda: api.read_namespaced_pod_log("none", namespace))
say("follow logs", lambda: api.read_namespaced_pod_log("none", namespace, follow=True))
say("nodes", lambda: api.list_node())
"""


def test_kubernetes_client(http: Sides) -> None:
    def work(side: Side) -> str:
        return side.run([sys.executable, "-c", PYTHON_CLIENT, str(side.kubeconfig), side.namespace])

    printed = http.agree(work)
    assert "event DELETED cm-b" in printed
    assert "exit status 0" in printed


MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm-k"}, "data": {"k": "1"}}


@pytest.fixture(scope="session")
def kubectl() -> Callable[..., str]:
    program = str(programs.obtain(["kubectl"], print)["kubectl"])

    def run(side: Side, *arguments: str, stdin: object = None) -> str:
        command = [program, "--kubeconfig", str(side.kubeconfig), *arguments]
        text = side.run(command, stdin=yaml.safe_dump(stdin) if stdin else "")
        return f"$ kubectl {' '.join(arguments)}\n{side.plain(text)}\n"

    return run


DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "nginx"}]},
        },
    },
}


def test_kubectl(http: Sides, kubectl: Callable[..., str], tmp_path: Path) -> None:
    """A day's work: apply, change, conflict, scale, roll out, delete, and what it's refused."""

    def work(side: Side) -> str:
        def rolled_out() -> bool:
            return idle.rolled_out(http.admin.get("apps/v1", "Deployment", "web", side.namespace))

        changed = {**MAP, "data": {"k": "2"}}
        steps = [
            kubectl(side, "apply", "-f", "-", stdin=MAP),
            kubectl(side, "apply", "-f", "-", stdin=MAP),
            kubectl(side, "diff", "-f", "-", stdin=MAP),
            kubectl(side, "apply", "-f", "-", stdin=changed),
            kubectl(side, "create", "-f", "-", stdin=MAP),
            kubectl(side, "apply", "-f", "-", stdin={**MAP, "metadata": {"name": "Not Good"}}),
            kubectl(side, "apply", "--server-side", "-f", "-", stdin=MAP),
            kubectl(side, "apply", "--server-side", "--field-manager", "me", "--force-conflicts", "-f", "-", stdin=MAP),
            kubectl(side, "apply", "--server-side", "--field-manager", "other", "-f", "-", stdin=changed),
            kubectl(side, "label", "configmap", "cm-k", "a=b"),
            kubectl(side, "annotate", "configmap", "cm-k", "a=b"),
            kubectl(side, "patch", "configmap", "cm-k", "--type=json", '--patch=[{"op":"remove","path":"/data/k"}]'),
            kubectl(side, "patch", "configmap", "cm-k", "--type=json", '--patch=[{"op":"remove","path":"/data/k"}]'),
            kubectl(side, "get", "configmap", "cm-k", "--output", "jsonpath={.metadata.labels}"),
            kubectl(side, "apply", "-f", "-", stdin=DEPLOYMENT),
        ]
        assert eventually(rolled_out, within=60)
        steps += [
            kubectl(side, "rollout", "status", "deployment/web"),
            kubectl(side, "get", "deployments"),
            kubectl(side, "scale", "deployment", "web", "--replicas=1"),
            kubectl(side, "set", "image", "deployment/web", "web=nginx:2"),
            kubectl(side, "get", "nodes"),
            kubectl(side, "logs", "none"),
            kubectl(side, "logs", "none", "--follow"),
            kubectl(side, "exec", "none", "--", "true"),
            kubectl(side, "delete", "configmap", "cm-k"),
            kubectl(side, "delete", "configmap", "cm-k"),
        ]
        assert eventually(rolled_out, within=60)
        return "".join(steps)

    http.agree(work)


def test_kubectl_watches(http: Sides, kubectl: Callable[..., str]) -> None:
    program = str(programs.obtain(["kubectl"], print)["kubectl"])

    def work(side: Side) -> str:
        command = [
            program,
            "--kubeconfig",
            str(side.kubeconfig),
            "get",
            "configmaps",
            "--watch",
            "--output-watch-events",
        ]
        output = side.directory / f"{side.namespace}.watch"
        with output.open("w") as file, running([*command, "--output=name"], stdout=file):
            kubectl(side, "create", "configmap", "cm-w")
            assert eventually(lambda: "cm-w" in output.read_text(), within=30)
            kubectl(side, "delete", "configmap", "cm-w")
            assert eventually(lambda: output.read_text().count("cm-w") == 2, within=30), output.read_text()
        return "".join(sorted(line for line in output.read_text().splitlines(True) if "cm-w" in line))

    http.agree(work)


def test_kubectl_get_is_a_table(http: Sides, kubectl: Callable[..., str]) -> None:
    http.agree(lambda side: kubectl(side, "apply", "-f", "-", stdin=MAP) and kubectl(side, "get", "configmap", "cm-k"))
    shown = http.recorder.reads("ConfigMap", name="cm-k")[-1]
    assert shown.answer["kind"] == "Table"
    assert (shown.kind, shown.version_after != "") == ("", True)
