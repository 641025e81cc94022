"""Disks that are full and directories that cannot be written: one clear line each, never a traceback."""

import os
from pathlib import Path

import pytest
from terminal import Terminal

from converge.cluster import ClusterError, directories
from converge.cluster.providers.base import Options
from converge.cluster.providers.local import LocalProvider


def in_one_line(said: str) -> str:
    assert "Traceback" not in said
    assert len(said.strip().splitlines()) == 2, said  # what is wrong, and what to do
    return said


def test_a_state_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file is in the way")
    said = in_one_line(Terminal(tmp_path).converge("up", "--provider", "local", code=3))
    assert f"{tmp_path / 'state'} cannot be used: " in said
    assert "CONVERGE_STATE" in said


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_state_directory_that_is_read_only(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o555)
    said = in_one_line(Terminal(tmp_path).converge("up", "--provider", "local", code=3))
    assert "Permission denied" in said
    assert "CONVERGE_STATE" in said


def test_a_cache_directory_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").write_text("a file is in the way")
    monkeypatch.setenv("CONVERGE_CACHE", str(tmp_path / "cache"))
    said = in_one_line(Terminal(tmp_path).converge("up", "--provider", "local", code=3))
    assert f"{tmp_path / 'cache'}" in said
    assert "CONVERGE_CACHE" in said


def test_a_full_disk_is_named() -> None:
    with pytest.raises(OSError) as full, Path("/dev/full").open("w") as file:
        file.write("x")
    explained = directories.explain(full.value)
    assert explained is not None
    assert explained.what.startswith("the disk is full")


def test_an_error_about_something_else_is_not_explained_away(tmp_path: Path) -> None:
    with pytest.raises(OSError) as other:
        (tmp_path / "no" / "such").read_text()
    assert directories.explain(other.value) is None


def test_too_little_space_for_a_cluster_is_said_before_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONVERGE_STATE", str(tmp_path))
    monkeypatch.setattr(directories, "_NEEDED_BY_A_CLUSTER", 2**60)
    with pytest.raises(ClusterError, match="are free in") as failed:
        LocalProvider().start(Options(), lambda _: None)
    assert "CONVERGE_STATE" in failed.value.fix
