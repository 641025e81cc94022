"""The container engine of this machine, Docker or Podman, through its own command line.

An engine counts only when it answers: a ``docker`` on the path whose daemon is down doesn't count. Nothing here waits
long for an answer, neither the daemon nor an image registry.
"""

import os
import queue
import shutil
import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from converge.cluster.errors import ClusterError

ANSWER_WITHIN = 5.0  # seconds: the daemon
REGISTRY_ANSWERS_WITHIN = 10.0  # seconds until a pull shows that the registry has the image
_PROBES = {"docker": ("version", "--format", "{{.Server.Version}}"), "podman": ("info",)}


@dataclass(frozen=True)
class Engine:
    """An engine that answered, ``docker`` or ``podman``."""

    name: str

    def run(self, *arguments: str, within: float = 60.0, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run one command of the engine; an error carries the engine's own last words."""
        try:
            result = subprocess.run([self.name, *arguments], capture_output=True, text=True, timeout=within)
        except subprocess.TimeoutExpired as error:
            raise ClusterError(f"{self.name} {arguments[0]} did not end in {within:.0f} s", self._mend()) from error
        except OSError as error:
            raise ClusterError(f"{self.name} cannot be run: {error.strerror}", self._mend()) from error
        if check and result.returncode != 0:
            raise ClusterError(f"{self.name} {arguments[0]}: {_last(result.stderr)}", self._mend())
        return result

    def _mend(self) -> str:
        return f"see whether `{self.name} info` answers"

    def has(self, image: str) -> bool:
        """Whether ``image`` is here already."""
        return self.run("image", "inspect", image, check=False).returncode == 0

    def pull(self, image: str, progress: Callable[[str], None]) -> None:
        """Get ``image`` from its registry, or say soon that it cannot be had."""
        short = image.split("@")[0]
        progress(f"getting the image {short}")
        process = subprocess.Popen(
            [self.name, "pull", image],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # ended by us, also when the user interrupts
        )
        lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        reader = threading.Thread(target=_read_lines, args=(process, lines), daemon=True)
        reader.start()
        said = ""
        answered = False
        try:
            # Once the registry has answered, a slow layer may be silent for minutes: no limit then but the user's.
            while (line := lines.get(timeout=None if answered else REGISTRY_ANSWERS_WITHIN)) is not None:
                said = line or said
                answered = answered or not line.startswith("Trying to pull")  # which Podman says before it asks
                progress(f"getting the image {short}: {line}")
        except queue.Empty:
            said = f"its registry did not answer within {REGISTRY_ANSWERS_WITHIN:.0f} s"
        finally:
            if process.poll() is None:
                process.terminate()
            code = process.wait()
            reader.join()
        if code != 0:
            raise ClusterError(
                f"the image {short} cannot be had: {said}",
                "connect to the network, or name an image that you have: --image IMAGE or CONVERGE_KIND_IMAGE; "
                "or use --provider local, which needs no image",
            )

    def save(self, images: Sequence[str], platform: str, archive: Path) -> None:
        """Write ``images`` to the file ``archive``.

        A Docker that keeps all platforms of an image must be told which one, or the archive names layers that it
        does not hold; an older one does not know the flag and has one platform only, and so has Podman.
        """
        if self.name == "podman":
            # It calls what was built here localhost/NAME, and a node would look for NAME where Docker has its images.
            names = [whole_name(image) for image in images]
            for image, name in zip(images, names, strict=True):
                if name != image:
                    self.run("tag", image, name)
            self.run("save", "--multi-image-archive", "-o", str(archive), *names, within=300)
            return
        told = self.run("save", "--platform", platform, "-o", str(archive), *images, within=300, check=False)
        if told.returncode != 0:
            self.run("save", "-o", str(archive), *images, within=300)


def whole_name(image: str) -> str:
    """The name of an image with its registry, as a node completes it: ``web:1`` is ``docker.io/library/web:1``."""
    first, slash, _ = image.partition("/")
    if not slash:
        return f"docker.io/library/{image}"
    return image if "." in first or ":" in first or first == "localhost" else f"docker.io/{image}"


def answering(named: str | None = None) -> Engine | None:
    """The engine that answers: ``named``, or the one that the user has chosen for kind, or the first of both."""
    only = named or os.environ.get("KIND_EXPERIMENTAL_PROVIDER")
    for name in [only] if only in _PROBES else _PROBES:
        if shutil.which(name) is None:
            continue
        try:
            answer = subprocess.run([name, *_PROBES[name]], capture_output=True, timeout=ANSWER_WITHIN)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if answer.returncode == 0:
            return Engine(name)
    return None


def _read_lines(process: subprocess.Popen[str], lines: "queue.SimpleQueue[str | None]") -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line.strip())
    lines.put(None)


def _last(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "it said nothing"
