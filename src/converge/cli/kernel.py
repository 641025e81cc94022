"""The Jupyter kernel named ``converge``: this virtual environment's Python, listed where Jupyter and VS Code look.

`make` writes it when it installs Jupyter.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from converge.files import write_whole

NAME = "converge"


def install() -> Path:
    """Write the kernel's specification below the virtual environment, and return its file.

    The interpreter is an absolute path: VS Code, or a Jupyter from elsewhere, has another ``python`` on its path.
    """
    specification = {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "Converge",
        "language": "python",
        "metadata": {"debugger": True},
    }
    file = Path(sys.prefix) / "share" / "jupyter" / "kernels" / NAME / "kernel.json"
    write_whole(file, json.dumps(specification, indent=1) + "\n")
    return file
