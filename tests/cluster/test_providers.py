"""A provider is one file and one line: a toy one, registered here, works through the whole command line."""

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from converge import cluster
from converge.cli import app
from converge.cluster import ClusterError, doctor, providers
from converge.cluster.bootstrap import until
from converge.cluster.directories import cluster_dir


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one line, in a state directory of its own."""
    monkeypatch.setenv("CONVERGE_STATE", str(tmp_path / "state"))
    monkeypatch.setitem(providers.REGISTERED, "toy", "toy_provider:ToyProvider")


def converge(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, f"{result.output}\n{result.exception!r}"
    return result.output


@pytest.mark.usefixtures("toy")
def test_a_toy_provider_goes_up_and_down(capfd: pytest.CaptureFixture[str]) -> None:
    assert "(toy) at https://toy.example" in converge("up", "--provider", "toy")
    assert "greeter" in converge("status")
    greeter = psutil.Process(json.loads(converge("status", "--json"))["parts"][0]["pid"])

    def hello_is_logged() -> bool:
        converge("logs", "greeter")
        return "hello from the toy" in capfd.readouterr().out

    until("the greeting", hello_is_logged, within=20)
    assert "toy, Kubernetes v0" in [one.found for one in doctor.examine()]
    greeter.kill()
    greeter.wait(10)
    assert "greeter ended" in converge("status", code=1)
    assert cluster.problem().startswith("greeter of the toy cluster has stopped")
    assert "the toy is back in its box" in converge("down")
    assert "no cluster is up" in converge("status", code=1)


@pytest.mark.usefixtures("toy")
def test_what_a_provider_does_not_offer_is_refused_in_its_name() -> None:
    cluster.up("toy")
    try:
        with pytest.raises(ClusterError, match="a toy cluster is up here"):
            cluster.up("local")
        with pytest.raises(ClusterError, match="the cluster that is up is toy"):
            cluster.load(["web:1"])
        with pytest.raises(ClusterError, match="a toy cluster is not ours"):
            cluster.restart("etcd")
    finally:
        cluster.down()


@pytest.mark.usefixtures("toy")
def test_a_provider_may_name_its_state_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toy_provider.ToyProvider.state_file", cluster_dir() / "box" / "state.json")
    cluster.up("toy")
    there = providers.current()
    assert there is not None
    assert there.name == "toy"
    cluster.down()
    assert providers.current() is None


def test_an_unknown_provider_is_refused_with_those_that_exist() -> None:
    with pytest.raises(ClusterError, match="no provider 'minikube'") as refused:
        cluster.up("minikube")
    assert "kind|local|existing" in refused.value.fix


def test_a_command_does_not_import_a_provider_that_it_does_not_need(tmp_path: Path) -> None:
    script = (
        "import sys; from converge import cluster; cluster.current();"
        "print([name for name in sys.modules if 'converge.cluster.providers.' in name])"
    )
    said = subprocess.run(
        [sys.executable, "-c", script],
        env={"CONVERGE_STATE": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.strip() == "['converge.cluster.providers.base']"
