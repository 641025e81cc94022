"""Credentials as a Pod has them, for an operator that knows no kubeconfig: files of a ServiceAccount and two variables.

Clients read the files from one fixed path. ``in_pod`` starts a command that finds them there, in a mount namespace of
its own (Linux); nothing outside of it changes. Such clients insist on https: ``Recorder(…, tls=True)``.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

MOUNT_PATH = Path("/var/run/secrets/kubernetes.io/serviceaccount")

# /run is rebuilt on a tmpfs from what was in it, so that there's room for one more directory without being root.
_MOUNT = f"""
set -e
files=$1 old=$(mktemp -d); shift
mount --rbind /run "$old"
mount -t tmpfs tmpfs /run
for entry in "$old"/* "$old"/.[!.]*; do
  here=/run/${{entry##*/}}
  if [ -L "$entry" ]; then cp -P "$entry" "$here"
  elif [ -d "$entry" ]; then mkdir -p "$here" && mount --rbind "$entry" "$here"
  elif [ -e "$entry" ]; then touch "$here" && mount --bind "$entry" "$here"
  fi
done
mkdir -p {MOUNT_PATH}
mount --bind "$files" {MOUNT_PATH}
exec "$@"
"""


def write_service_account(directory: Path, token: str, ca_file: Path, namespace: str) -> Path:
    """Write ``token``, ``ca.crt`` and ``namespace`` as a kubelet does; only their owner can read them."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, text in (("token", token), ("ca.crt", ca_file.read_text()), ("namespace", namespace)):
        (directory / name).touch(mode=0o600)
        (directory / name).write_text(text)
    return directory


def environment(server: str) -> dict[str, str]:
    """Where the API server is, as every Pod's environment says it."""
    url = urlsplit(server)
    return {"KUBERNETES_SERVICE_HOST": url.hostname or "", "KUBERNETES_SERVICE_PORT": str(url.port or 443)}


def in_pod(command: Sequence[str], directory: Path) -> list[str]:
    """The command line that runs ``command`` with the files of ``directory`` at the path where Pods have them."""
    return ["unshare", "--map-root-user", "--mount", "sh", "-c", _MOUNT, "sh", str(directory), *command]


def can_run_in_pod() -> bool:
    """Whether this machine lets us mount: Linux, with user namespaces allowed."""
    if shutil.which("unshare") is None:
        return False
    probe = ["unshare", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/run"]
    return subprocess.run(probe, capture_output=True).returncode == 0
