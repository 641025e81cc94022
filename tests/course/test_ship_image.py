"""The image of lesson 16, as far as that goes without a registry: its COPY lines bring all that the program reads."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FIRST_PASS = """
import converge, ship
from converge.operators.webapp import desired_children  # each lesson is loaded when it's first called
spec = {"image": "nginx:1", "replicas": 1, "port": 80}
desired_children({"metadata": {"name": "shop", "namespace": "default"}, "spec": spec})
print(converge.__file__)
"""


def copy_what_it_names(dockerfile: Path, app: Path) -> None:
    """Do what the COPY lines of a Dockerfile with one WORKDIR do."""
    app.mkdir()
    for line in dockerfile.read_text().splitlines():
        if not line.startswith("COPY "):
            continue
        *sources, target = shlex.split(line)[1:]
        for source in sources:
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, app / target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / source, app / target)


@pytest.mark.parametrize("folder", ["solutions", "labs"])
def test_the_program_finds_the_earlier_lessons_in_its_image(tmp_path, folder):
    app = tmp_path / "app"
    copy_what_it_names(ROOT / folder / "16_ship" / "Dockerfile", app)
    # As `pip install -e` puts it there; everything else comes from this environment.
    done = subprocess.run(
        [sys.executable, "-B", "-c", f"import sys; sys.path.insert(0, {str(app / 'src')!r})\n{FIRST_PASS}"],
        cwd=app,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(app)
