"""The figures' logic, tested by node's own test runner: one file per figure, and every figure has one."""

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from places import ROOT

TESTS = sorted((Path(__file__).parent / "figures").glob("*.test.mjs"))
FIGURES = tomllib.loads((ROOT / "docs/assets/figures/figures.toml").read_text())


def test_the_logic_of_the_figures() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("not run: there is no Node.js here; install version 20 or newer")
    ran = subprocess.run([node, "--test", *TESTS], capture_output=True, text=True, check=False, cwd=ROOT)
    assert ran.returncode == 0, ran.stdout
    assert "# fail 0" in ran.stdout or "ℹ fail 0" in ran.stdout


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_has_logic_drawing_and_tests(name: str) -> None:
    folder = ROOT / "docs/assets/figures"
    assert (folder / f"{name}.mjs").exists()
    assert "document" not in (folder / f"{name}.logic.mjs").read_text(), "logic knows no page"
    assert (Path(__file__).parent / "figures" / f"{name}.test.mjs").exists()
