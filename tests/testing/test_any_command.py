"""Any command is an operator: whatever it's written in, it gets credentials, its rights and a clean end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from converge.cluster import Cluster, programs
from converge.runtime import Client
from converge.testing.access import in_cluster, rights
from converge.testing.objects.namespace import Namespace
from converge.testing.operator import Launch
from converge.testing.testbed import Testbed, command_testbed
from converge.testing.verdicts.failure import Failure
from converge.testing.waits.waiting import eventually

pytestmark = pytest.mark.cluster
Make = Callable[..., Testbed[Namespace]]


@pytest.fixture(scope="session")
def kubectl() -> str:
    return str(programs.obtain(["kubectl"], print)["kubectl"])


@pytest.fixture
def bed(cluster: Cluster, admin: Client, tmp_path: Path) -> Iterator[Make]:
    """Testbeds of commands; nothing is left of them."""
    made: list[Testbed[Namespace]] = []

    def make(*command: str, granted: rights.Rights | None = None, **launch: object) -> Testbed[Namespace]:
        started = Launch(command, **launch)  # type: ignore[arg-type]
        directory = tmp_path / str(len(made))
        directory.mkdir()
        made.append(command_testbed(cluster, admin, directory, started, title="any command", rights=granted))
        return made[-1]

    yield make
    for each in made:
        each.close()


WATCH = ("get", "configmaps", "--watch", "--output", "name")


def test_a_program_in_go_is_up_when_it_watches(bed: Make, kubectl: str) -> None:
    made = bed(kubectl, *WATCH, "--namespace", "{namespace}")
    made.operator.start()
    made.namespace.create({"kind": "ConfigMap", "metadata": {"name": "seen"}})
    assert eventually(lambda: "configmap/seen" in made.operator.output, within=15)
    assert made.recorder.delivered("ConfigMap", name="seen")
    made.operator.crash()
    assert not made.operator.running
    made.operator.start()


def test_one_that_reads_only_the_usual_kubeconfig_finds_the_recorder(bed: Make, kubectl: str) -> None:
    made = bed("sh", "-c", f"unset KUBECONFIG; exec {kubectl} {' '.join(WATCH)}")
    made.operator.start()
    assert made.recorder.watches("ConfigMap")


def test_one_that_knows_nothing_but_a_pods_files(bed: Make, kubectl: str) -> None:
    if not in_cluster.can_run_in_pod():
        pytest.skip("not run: this machine doesn't allow mount namespaces")
    made = bed(kubectl, *WATCH, in_cluster=True)
    made.operator.start()
    made.operator.stop()
    assert made.recorder.watches("ConfigMap")


def test_all_that_it_started_ends_with_it(bed: Make, kubectl: str, tmp_path: Path) -> None:
    left = tmp_path / "left"
    made = bed("sh", "-c", f"setsid sleep 600 & echo $! > {left}; {kubectl} {' '.join(WATCH)}; wait")
    made.operator.start()
    assert eventually(left.exists)
    pid = int(left.read_text())
    made.operator.close()
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_its_environment_and_directory_are_its_own(bed: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTHORS_OWN", "value")
    look = "import os; print(os.getcwd(), os.environ['WATCH_NAMESPACE'], os.environ['AUTHORS_OWN'], os.environ['PORT'])"
    environment = {"WATCH_NAMESPACE": "{namespace}", "PORT": "{port}"}
    made = bed(sys.executable, "-c", look, directory=tmp_path, environment=environment)
    with pytest.raises(Failure, match="exited with status 0"):
        made.operator.start()
    directory, namespace, own, port = made.operator.output.split()
    assert (directory, namespace, own) == (str(tmp_path), made.namespace.name, "value")
    assert made.operator.another().launch.environment["PORT"] != port


def test_a_program_that_is_not_there_is_named(bed: Make) -> None:
    with pytest.raises(Failure, match="exited with status 127") as caught:
        bed("no-such-operator").operator.start()
    assert "cannot run no-such-operator: No such file or directory" in caught.value.seen[0]


def test_without_a_role_it_reads_everywhere_and_writes_at_home(bed: Make, kubectl: str) -> None:
    said = "; ".join(
        f"{kubectl} auth can-i {verb} {where} || true"
        for verb, where in (("create", "secrets"), ("list", "pods -A"), ("create", "secrets -n default"))
    )
    made = bed("sh", "-c", f"{said}; {kubectl} {' '.join(WATCH)}")
    made.operator.start()
    assert [line for line in made.operator.output.splitlines() if line in ("yes", "no")] == ["yes", "yes", "no"]


ROLES = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: manager}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: for-people}
rules: [{apiGroups: [""], resources: [secrets], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: leader-election, namespace: system}
rules: [{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: leader-election, namespace: system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: leader-election}
subjects: [{kind: ServiceAccount, name: manager, namespace: system}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: manager}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: manager}
subjects: [{kind: ServiceAccount, name: manager, namespace: system}]
"""


def test_with_its_own_role_it_may_do_just_that(bed: Make, kubectl: str, tmp_path: Path) -> None:
    (tmp_path / "role.yaml").write_text(ROLES)
    said = "; ".join(
        f"{kubectl} auth can-i {verb} {where} || true"
        for verb, where in (("list", "configmaps -A"), ("create", "leases"), ("create", "leases -n default"))
    )
    command = f"{said}; {kubectl} auth can-i get secrets || true; {kubectl} {' '.join(WATCH)} -A"
    made = bed("sh", "-c", command, granted=rights.read(tmp_path))
    made.operator.start()
    assert [line for line in made.operator.output.splitlines() if line in ("yes", "no")] == ["yes", "yes", "no", "no"]
