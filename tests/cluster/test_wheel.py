"""An installed wheel needs no checkout: it carries the CRDs, the pinned modules and the solutions."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from wheel_install import ROOT, install, outside_environment


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a virtual environment of its own, with the wheel in it and the checkout out of sight."""
    return install(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[dict[str, str]]:
    """An environment whose cluster, if one starts, is the test's own."""
    state = Path("/tmp") / f"converge-wheel-{os.getpid()}"  # short: etcd and the proxies have sockets below it
    yield {**outside_environment(), "CONVERGE_STATE": str(state)}
    shutil.rmtree(state, ignore_errors=True)


@pytest.mark.cluster
@pytest.mark.slow
@pytest.mark.xdist_group("wheel")
def test_a_wheel_starts_a_cluster_far_from_the_checkout(
    installed: Path, outside: dict[str, str], tmp_path: Path
) -> None:
    def converge(*arguments: str) -> str:
        command = [installed / "converge", *arguments]
        ended = subprocess.run(command, cwd=tmp_path, env=outside, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, f"converge {' '.join(arguments)}:\n{ended.stdout}{ended.stderr}"
        return ended.stdout

    try:
        assert "up: Kubernetes" in converge("up", "--provider", "local")
        assert "kube-apiserver" in converge("status")
        crds = converge("kubectl", "get", "crds", "--output", "name").split()
        assert {"webapps", "databases"} <= {crd.rpartition("/")[2].partition(".")[0] for crd in crds}
    finally:
        converge("down")


@pytest.mark.slow
@pytest.mark.xdist_group("wheel")
def test_a_wheel_has_the_types_the_pins_and_the_solutions(
    installed: Path, outside: dict[str, str], tmp_path: Path
) -> None:
    look = (
        "from importlib.resources import files; from converge.cluster import programs; "
        "from converge.operators.lessons import lesson; "
        "print(files('converge').joinpath('py.typed').is_file(), lesson('06_idempotency').__file__)"
    )
    ended = subprocess.run(
        [installed / "python", "-c", look], cwd=tmp_path, env=outside, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    typed, where = ended.stdout.split()
    assert typed == "True"
    assert not Path(where).is_relative_to(ROOT), "that is the checkout's package, not the wheel's"
