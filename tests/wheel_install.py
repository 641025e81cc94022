"""The wheel of this checkout in a virtual environment of its own, with the checkout out of sight."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
UV = Path(sys.executable).with_name("uv")
HIDDEN = ("CONVERGE_COURSE", "PYTHONPATH", "VIRTUAL_ENV")


def install(folder: Path) -> Path:
    """Build the wheel and install it below `folder`; returns where the programs are."""
    # By an sdist, so that the sdist is complete as well. uv's cache first: without a network it is all there is.
    first_that_works(
        [UV, "build", "--offline", "--out-dir", folder],
        [UV, "build", "--out-dir", folder],
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder, ROOT],
    )
    [wheel] = folder.glob("*.whl")
    python = folder / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    pinned = ["-c", ROOT / "requirements.lock", wheel]
    first_that_works(
        [UV, "pip", "install", "--offline", "--python", python, *pinned],
        [UV, "pip", "install", "--python", python, *pinned],
        [sys.executable, "-m", "pip", "--python", python, "install", *pinned],
    )
    return python.parent


def first_that_works(*commands: list[object]) -> None:
    """Run the commands until one succeeds; fails with what all of them printed."""
    printed = ""
    for command in commands:
        ended = subprocess.run([*map(str, command)], cwd=ROOT, capture_output=True, text=True, check=False)
        if ended.returncode == 0:
            return
        printed += f"{ended.stdout}{ended.stderr}\n"
    raise AssertionError(printed)


def outside_environment() -> dict[str, str]:
    """This environment without what leads to the checkout."""
    return {**{name: value for name, value in os.environ.items() if name not in HIDDEN}, "NO_COLOR": "1"}
