"""Official release downloads, verified by the checksum that is published beside each.

Tried first because a download takes seconds where a build takes minutes. Where the release hosts do not answer
within a few seconds, the build takes over silently. kube-apiserver and its companions are released for
Linux only, so on macOS they are built.
"""

import hashlib
import http.client
import os
import tarfile
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from converge.cluster.errors import ClusterError

ANSWER_WITHIN = 3.0  # seconds: a release host that is slower than this is treated as unreachable
STALLED_AFTER = 30.0


@dataclass(frozen=True)
class Release:
    """Where a program is published; ``member`` names the file inside an archive."""

    url: str
    checksum_url: str
    member: str | None = None


def _release(name: str, version: str, target: str) -> Release | None:
    system, machine = target.split("-")
    kubernetes = os.environ.get("CONVERGE_KUBERNETES_RELEASES", "https://dl.k8s.io/release")
    github = os.environ.get("CONVERGE_GITHUB_RELEASES", "https://github.com")
    if name == "kubectl" or (name.startswith("kube-") and system == "linux"):
        url = f"{kubernetes}/{version}/bin/{system}/{machine}/{name}"
        return Release(url, url + ".sha256")
    if name == "etcd" and system == "linux":
        directory = f"{github}/etcd-io/etcd/releases/download/{version}"
        archive = f"etcd-{version}-{target}"
        return Release(f"{directory}/{archive}.tar.gz", f"{directory}/SHA256SUMS", f"{archive}/etcd")
    if name == "kind":
        url = f"{github}/kubernetes-sigs/kind/releases/download/{version}/kind-{target}"
        return Release(url, url + ".sha256sum")
    return None  # KWOK publishes no checksum that could be verified: it is built


@cache
def _answers(host: str, secure: bool) -> bool:
    connection = (http.client.HTTPSConnection if secure else http.client.HTTPConnection)(host, timeout=ANSWER_WITHIN)
    try:
        connection.connect()
    except OSError:
        return False
    finally:
        connection.close()
    return True


def try_download(name: str, version: str, target: str, into: Path, which: str, progress: Callable[[str], None]) -> bool:
    """Download and verify ``name`` into ``into``; False when there is no release or nobody answers."""
    release = _release(name, version, target)
    if release is None or os.environ.get("CONVERGE_PROGRAMS") == "build":
        return False
    place = urlsplit(release.url)
    if not _answers(place.netloc, place.scheme == "https"):
        return False
    with tempfile.NamedTemporaryFile(dir=into.parent) as file:
        archive = Path(file.name)
        try:
            expected = _checksum(release)
            actual = _fetch(
                release.url, archive, lambda done: progress(f"downloading {name} {version} ({which}): {done}")
            )
        except (OSError, http.client.HTTPException) as error:
            progress(f"{name}: the download failed ({error}); building it instead")
            return False
        if actual != expected:
            raise ClusterError(
                f"{name} {version} from {place.netloc} is not what was published: its SHA-256 is {actual[:16]}…, "
                f"it should be {expected[:16]}…; it was thrown away",
                "try again; if it happens again set CONVERGE_PROGRAMS=build to build it from the pinned modules",
            )
        if release.member is None:
            archive.replace(into)
            archive.touch()  # the temporary file is removed by name when it is closed
        else:
            with tarfile.open(archive) as tar:
                member = tar.extractfile(release.member)
                if member is None:
                    raise ClusterError(f"{release.url} has no {release.member}", "set CONVERGE_PROGRAMS=build")
                into.write_bytes(member.read())
    return True


def _checksum(release: Release) -> str:
    with urllib.request.urlopen(release.checksum_url, timeout=STALLED_AFTER) as answer:
        text = answer.read(1 << 20).decode()
    file_name = release.url.rsplit("/", 1)[-1]
    for line in text.splitlines():
        fields = line.split()
        if fields and (len(fields) == 1 or fields[-1].lstrip("*") == file_name):
            return str(fields[0]).lower()
    raise OSError(f"no checksum for {file_name}")


def _fetch(url: str, into: Path, progress: Callable[[str], None]) -> str:
    digest = hashlib.sha256()
    with urllib.request.urlopen(url, timeout=STALLED_AFTER) as answer, into.open("wb") as file:
        total = int(answer.headers.get("Content-Length") or 0)
        done = 0
        while chunk := answer.read(1 << 20):
            file.write(chunk)
            digest.update(chunk)
            done += len(chunk)
            progress(f"{done >> 20} MB" + (f" of {total >> 20} MB" if total else ""))
    if total and done < total:
        raise OSError(f"it was cut off after {done} of {total} bytes")
    return digest.hexdigest()
