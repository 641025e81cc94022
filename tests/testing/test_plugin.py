"""The plugin in a project of its own: what configures it, what it shows, and how it says that something is wrong."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from converge.cluster import Cluster, programs
from converge.testing import configuration
from converge.testing.configuration import ConfigurationError

CONFTEST = 'pytest_plugins = ["converge.testing"]\n'
Project = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Run pytest in a project with this [tool.converge] and these tests."""

    def run(said: str, tests: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        (tmp_path / "pyproject.toml").write_text(f"[tool.converge]\n{said}\n[tool.pytest.ini_options]\n")
        (tmp_path / "conftest.py").write_text(CONFTEST)
        (tmp_path / "test_it.py").write_text(tests)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    return run


def read(folder: Path, said: str) -> configuration.Configuration:
    (folder / "pyproject.toml").write_text(f"[tool.converge]\n{said}\n")
    return configuration.read(folder).check()


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ('comand = "x"', "pyproject.toml, [tool.converge]: there is no key comand; did you mean command?"),
        ("command = 3", "pyproject.toml, [tool.converge]: command must be a text or a list of texts, and is 3"),
        ('cluster = "minikube"', "cluster is 'minikube'; it can be kind, local, existing"),
        ('credentials = "token"', "credentials is 'token'; it can be kubeconfig, in-cluster"),
        ('starts-within = "soon"', "starts-within must be a number of seconds, and is 'soon'"),
        ('environment = "A=1"', "environment must be a table of names and values, and is 'A=1'"),
        ('crds = "none.yaml"', "none.yaml: there is no such file"),
        ('crds = "pyproject.toml"', "pyproject.toml, line 2: not YAML"),
        ('rights = "sample.yaml"', "sample.yaml: there is no Role and no ClusterRole in it"),
        ('crds = "sample.yaml"', "sample.yaml: there is no CustomResourceDefinition in it"),
        ("command = [", "pyproject.toml: "),
    ],
)
def test_a_mistake_in_the_configuration_is_one_line(tmp_path: Path, said: str, complaint: str) -> None:
    (tmp_path / "sample.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path, said)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_marker_changes_what_the_project_says(tmp_path: Path) -> None:
    said = read(tmp_path, 'command = "kopf run a.py"\nstarts-within = 5\nenvironment = {A = 1}')
    assert said.launch().on_kopf
    assert Path(said.launch().command[0]) == Path(sys.executable).with_name("kopf")
    changed = said.with_({"command": ["./b", "--x y"], "start": False}, "a test")
    assert (changed.command, changed.start, changed.starts_within) == (("./b", "--x y"), False, 5)
    assert changed.launch().environment == {"A": "1"}


def test_pytest_shows_such_a_line_and_nothing_else(project: Project) -> None:
    ended = project('comand = "x"', "def test_a(): ...")
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR
    [line] = ended.stderr.strip().splitlines()
    assert line == "ERROR: pyproject.toml, [tool.converge]: there is no key comand; did you mean command?"


@pytest.mark.cluster
@pytest.mark.slow
def test_what_is_wrong_with_one_test_is_said_there(cluster: Cluster, project: Project) -> None:
    ended = project(
        "",
        "import pytest\n"
        "def test_no_command(operator): ...\n"
        "@pytest.mark.operator(comand='x')\n"
        "def test_marker(operator): ...\n"
        "@pytest.mark.operator(command='sh -c \"echo out of order; exit 3\"')\n"
        "def test_dies(operator): ...\n"
        "def test_needs_no_operator(namespace): assert namespace.list('Pod') == []\n",
    )
    assert "3 errors" in ended.stdout
    assert "1 passed" in ended.stdout
    assert 'there is no operator to start: say command = "…" in [tool.converge]' in ended.stdout
    assert "there is no key comand; did you mean command?" in ended.stdout
    assert "the operator exited with status 3" in ended.stdout
    assert "out of order" in ended.stdout
    assert "Traceback" not in ended.stdout


@pytest.mark.cluster
@pytest.mark.slow
def test_tests_run_side_by_side_and_a_failed_one_names_its_timeline(
    cluster: Cluster, project: Project, tmp_path: Path
) -> None:
    kubectl = programs.obtain(["kubectl"], print)["kubectl"]
    ended = project(
        f'command = "{kubectl} get configmaps --watch --output name --namespace {{namespace}}"',
        "def test_sees(operator, namespace, recorder, eventually):\n"
        "    namespace.create({'kind': 'ConfigMap', 'metadata': {'name': 'one'}})\n"
        "    eventually(lambda: 'configmap/one' in operator.output, when='a ConfigMap was created')\n"
        "    assert recorder.delivered('ConfigMap', name='one')\n"
        "def test_does_not_write(operator, namespace, eventually):\n"
        "    eventually(lambda: namespace.get('ConfigMap', 'two'), within=1, when='the operator was started')\n",
        "-n",
        "2",
    )
    assert "1 failed, 1 passed" in ended.stdout, ended.stdout + ended.stderr
    assert "test_it.py:6: in test_does_not_write" in ended.stdout
    assert "when      the operator was started" in ended.stdout
    [timeline] = (tmp_path / ".converge").glob("*.html")
    assert ended.stdout.count(str(timeline)) == 2, "with the failure, and in the summary"
    assert "WATCH configmaps" in timeline.read_text()
