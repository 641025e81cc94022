"""When kind is used and when not: engines that do not answer, images that cannot be had.

`docker` is a script here that fails as the real one does; test_kind_for_real.py has the real one.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from terminal import Terminal

from converge.cluster import ClusterError, engine, kind_cli
from converge.cluster.processes import mentioning
from converge.cluster.providers import kind
from converge.cluster.providers.base import Options

provider = kind.KindProvider()


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Put a `docker` on the path that runs a script for each command, and a `podman` that is none; return that path."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.delenv("KIND_EXPERIMENTAL_PROVIDER", raising=False)
    (directory / "podman").write_text("#!/bin/sh\nexit 125\n")
    (directory / "podman").chmod(0o755)

    def install(version: str = "echo 28.0.0", image: str = "exit 1", pull: str = "exit 1") -> str:
        program = directory / "docker"
        program.write_text(
            f'#!/bin/sh\ncase "$1" in\nversion) {version};;\nimage) {image};;\npull) {pull};;\n*) exit 1;;\nesac\n'
        )
        program.chmod(0o755)
        path = f"{directory}{os.pathsep}{os.defpath}"
        monkeypatch.setenv("PATH", path)
        return path

    return install


def test_no_engine_is_said_with_the_way_out(tmp_path: Path) -> None:
    said = Terminal(tmp_path, path="/nonexistent").converge("up", "--provider", "kind", code=3)
    assert "no container engine answers" in said
    assert "--provider local" in said


def test_images_are_loaded_where_containers_run(tmp_path: Path) -> None:
    assert "no cluster is up" in Terminal(tmp_path).converge("load", "web:1", code=3)


def test_a_daemon_that_is_down_is_no_engine(docker: Callable[..., str]) -> None:
    docker(version="echo 'Cannot connect to the Docker daemon' >&2; exit 1")
    assert engine.answering() is None


def test_a_daemon_that_hangs_is_no_engine(
    docker: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "never")
    docker(version=f"exec cat {tmp_path / 'never'}")
    monkeypatch.setattr(engine, "ANSWER_WITHIN", 0.2)
    assert engine.answering() is None


def test_podman_is_not_asked_when_docker_is_chosen(docker: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    docker()
    assert engine.answering() == engine.Engine("docker")
    monkeypatch.setenv("KIND_EXPERIMENTAL_PROVIDER", "podman")
    assert engine.answering() is None


def test_a_registry_that_does_not_answer_is_not_waited_for(
    docker: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "never")
    docker(pull=f"exec cat {tmp_path / 'never'}")
    monkeypatch.setenv("CONVERGE_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(engine, "REGISTRY_ANSWERS_WITHIN", 0.2)
    with pytest.raises(ClusterError, match="did not answer") as failed:
        provider.start(Options(image="registry.example/node:1"), lambda _: None)
    assert "CONVERGE_KIND_IMAGE" in failed.value.fix
    assert mentioning(str(tmp_path / "never"), ("cat",)) == [], "the pull was ended"
    assert not provider.exists()


def test_the_engines_reason_is_passed_on(
    docker: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker(pull="echo 'lookup registry.example: no such host' >&2; exit 1")
    monkeypatch.setenv("CONVERGE_STATE", str(tmp_path / "state"))
    with pytest.raises(ClusterError, match="no such host"):
        provider.start(Options(), lambda _: None)


@pytest.mark.xdist_group("local cluster")
def test_if_nobody_asked_for_kind_the_local_cluster_serves(docker: Callable[..., str], tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, path=docker(pull="echo 'no such host' >&2; exit 1"))
    said = terminal.converge("up")
    assert "kind is not available (the image " in said
    assert "(local)" in said
    terminal.converge("down")
    assert "no such host" in terminal.converge("up", "--provider", "kind", code=3)


@pytest.mark.parametrize(
    ("image", "whole"),
    [
        ("web:1", "docker.io/library/web:1"),
        ("team/web:1", "docker.io/team/web:1"),
        ("registry.example/web:1", "registry.example/web:1"),
        ("localhost/web:1", "localhost/web:1"),
        ("here:5000/web", "here:5000/web"),
    ],
)
def test_podman_saves_an_image_under_the_name_that_a_node_looks_for(
    image: str, whole: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = tmp_path / "said"
    (tmp_path / "podman").write_text(f'#!/bin/sh\necho "$@" >> {said}\n')
    (tmp_path / "podman").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.defpath}")
    engine.Engine("podman").save([image], "linux/amd64", tmp_path / "images.tar")
    *tagged, saved = said.read_text().splitlines()
    assert tagged == ([f"tag {image} {whole}"] if whole != image else [])
    assert saved == f"save --multi-image-archive -o {tmp_path / 'images.tar'} {whole}"


def test_a_cluster_whose_engine_is_gone_is_named(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, path="/nonexistent")
    terminal.cluster.mkdir(parents=True)
    state = {"engine": "docker", "image": kind.IMAGE, "server": "https://127.0.0.1:9", "version": "v1", "ready": True}
    (terminal.cluster / "kind.json").write_text(json.dumps(state))
    assert "node ended" in terminal.converge("status", code=1)
    for command in ("up", "down"):
        said = terminal.converge(command, code=3)
        assert "docker does not answer" in said
        assert "start docker" in said


def test_two_state_directories_have_two_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONVERGE_STATE", "/one")
    one = kind.cluster_name()
    monkeypatch.setenv("CONVERGE_STATE", "/two")
    assert one != kind.cluster_name()


def test_the_configuration_is_loopback_with_arguments_as_lists() -> None:
    config = yaml.safe_load(kind_cli._configuration(kind.IMAGE))
    assert config["networking"] == {"apiServerAddress": "127.0.0.1"}
    assert [node["image"] for node in config["nodes"]] == [kind.IMAGE]
    patch = yaml.safe_load(config["kubeadmConfigPatches"][0])
    assert patch["etcd"]["local"]["extraArgs"] == [{"name": "unsafe-no-fsync", "value": "true"}]


def test_the_default_image_is_pinned_by_digest() -> None:
    name, _, digest = kind.IMAGE.partition("@sha256:")
    assert name.startswith("kindest/node:v1.36.")
    assert len(digest) == 64
