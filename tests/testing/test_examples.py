"""The example projects pass as they are, and fail when their operator is broken on purpose."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from wheel_install import ROOT, install, outside_environment

from benchmarks import golang
from converge.cluster import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(900)]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def project(tmp_path: Path, cluster: Cluster) -> Callable[[str], Path]:
    """A copy of an example outside of the checkout."""

    def copy(name: str) -> Path:
        left_out = shutil.ignore_patterns("bin", ".converge", "__pycache__", ".pytest_cache")
        return Path(shutil.copytree(ROOT / "examples" / name, tmp_path / name, ignore=left_out))

    return copy


def run(project: Path, *arguments: str, python: Path = Path(sys.executable)) -> "subprocess.CompletedProcess[str]":
    """Run the tests of a project as its author does."""
    environment = outside_environment() | golang.environment()
    command = [python, "-m", "pytest", "-q", *arguments]
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)


def break_it(project: Path, file: str, right: str, wrong: str) -> None:
    source = project / file
    text = source.read_text()
    assert right in text, f"{file} has changed: what is there to break?"
    source.write_text(text.replace(right, wrong))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has the wheel, without a checkout and without the course's extras."""
    return install(tmp_path_factory.mktemp("wheel")) / "python"


@pytest.mark.xdist_group("wheel of the examples")  # one worker builds it, for all three
@pytest.mark.parametrize("name", ["kopf", "runtime", "go"])
def test_an_example_passes_with_an_installed_wheel(project: Callable[[str], Path], installed: Path, name: str) -> None:
    ended = run(project(name), python=installed)
    assert ended.returncode == 0, ended.stdout + ended.stderr


BROKEN = {
    "kopf": (
        "site_operator.py",
        "apply(client.CoreV1Api().patch_namespaced_config_map, namespace, page)",
        "client.CoreV1Api().create_namespaced_config_map(namespace, page)",
        "test_it_survives_a_crash_after_every_write",
    ),
    "runtime": (
        "site_operator.py",
        "if live is None or applied_fields(live, FIELD_MANAGER) != child:",
        "if child:",
        "test_nothing_is_written_at_rest",
    ),
    "go": (
        "main.go",
        "\t\t}\n\t\tserver.Spec.Replicas = &replicas\n",
        "\t\t\tserver.Spec.Replicas = &replicas\n\t\t}\n",
        "test_an_edit_of_a_child_is_undone",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_copy_fails(project: Callable[[str], Path], name: str) -> None:
    file, right, wrong, caught_by = BROKEN[name]
    broken = project(name)
    break_it(broken, file, right, wrong)
    ended = run(broken, "-k", f"test_a_site_is_served or {caught_by}")
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert f"FAILED test_site_operator.py::{caught_by}" in ended.stdout
    assert "1 failed, 1 passed" in ended.stdout
    [timeline] = (broken / ".converge").glob("*.html")
    assert timeline.name in ended.stdout


def test_the_page_shows_what_pytest_prints(project: Callable[[str], Path]) -> None:
    shown = (ROOT / "docs" / "test-your-operator.md").read_text().partition("```text\n")[2].partition("```")[0]
    broken = project("kopf")
    break_it(broken, "site_operator.py", ', field="spec"', "")
    ended = run(broken, "-k", "test_nothing_is_written_at_rest")
    missing = [line for line in shown.splitlines() if line not in ended.stdout.splitlines()]
    assert not missing, ended.stdout + ended.stderr


def test_the_examples_are_of_one_kind() -> None:
    for file in ("crd.yaml", "sample.yaml"):
        assert len({(ROOT / "examples" / name / file).read_text() for name in BROKEN}) == 1
