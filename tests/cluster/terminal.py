"""The ``converge`` command as a person types it, with a home and a state directory of a test's own."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from converge.cluster.directories import cache_dir

CONVERGE = str(Path(sys.executable).parent / "converge")


def hears_ctrl_c() -> None:
    """For a child: what a shell starts in the background is deaf to SIGINT, and so would be all below it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@dataclass(frozen=True)
class Terminal:
    """A home directory, and in it a state directory that no other cluster uses."""

    home: Path
    path: str = os.environ.get("PATH", os.defpath)

    @property
    def cluster(self) -> Path:
        """The directory of the cluster."""
        return self.home / "state" / "cluster"

    @property
    def environment(self) -> dict[str, str]:
        ours = {
            "HOME": str(self.home),
            "PATH": self.path,
            "CONVERGE_STATE": str(self.home / "state"),
            "CONVERGE_CACHE": str(cache_dir()),
        }
        kept = ("CONVERGE_BIN", "CONVERGE_KIND_IMAGE", "CONVERGE_WEB_IMAGES", "CONVERGE_POSTGRES_IMAGES", "DOCKER_HOST")
        return {**{name: os.environ[name] for name in kept if name in os.environ}, **ours}

    def begin(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start a command and do not wait for it."""
        return subprocess.Popen(
            [CONVERGE, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.environment,
            preexec_fn=hears_ctrl_c,
        )

    def converge(self, *arguments: str, code: int = 0) -> str:
        """Run a command to its end and return what it printed."""
        process = self.begin(*arguments)
        output, _ = process.communicate(timeout=300)
        assert process.returncode == code, f"converge {' '.join(arguments)}: {process.returncode}\n{output}"
        return output

    def status(self, code: int = 0) -> dict[str, Any]:
        """What ``converge status`` says of each part, by name."""
        said = json.loads(self.converge("status", "--json", code=code))
        return {part["name"]: part for part in said["parts"]}

    def processes(self) -> list[psutil.Process]:
        """Every process that has the state directory in its command line, whatever we remember of it."""
        mark = str(self.home / "state")
        everything = psutil.process_iter(["cmdline"])
        return [one for one in everything if any(mark in word for word in one.info["cmdline"] or [])]
