"""How the programs of the control plane are had: downloaded, built or named, and never half.

Release hosts are small servers on loopback, and where the compiler's failure matters `go` is a script that fails so.
"""

import hashlib
import io
import os
import signal
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from terminal import hears_ctrl_c

from converge.cluster import ClusterError, build, download, programs
from converge.cluster.bootstrap import until

PROGRAM = b"#!/bin/sh\necho I am kubectl\n"
KUBECTL = programs.PROGRAMS["kubectl"]
NOBODY = "http://127.0.0.1:9"  # the discard port: refused at once


class Release:
    """A release host: what it has by path, and what it was asked for."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.promised: dict[str, int] = {}  # a Content-Length that is not true
        self.asked: list[str] = []
        release = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                release.asked.append(self.path)
                body = release.files.get(self.path)
                self.send_response(404 if body is None else 200)
                self.send_header("Content-Length", str(release.promised.get(self.path, len(body or b""))))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def publish(self, path: str, content: bytes, checksum_path: str | None = None, checksum: str | None = None) -> None:
        self.files[path] = content
        self.files[checksum_path or f"{path}.sha256"] = (checksum or hashlib.sha256(content).hexdigest()).encode()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, in a world without release hosts, named programs or memories of either."""
    monkeypatch.setenv("CONVERGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CONVERGE_KUBERNETES_RELEASES", NOBODY)
    monkeypatch.setenv("CONVERGE_GITHUB_RELEASES", NOBODY)
    monkeypatch.delenv("CONVERGE_BIN", raising=False)
    monkeypatch.delenv("CONVERGE_PROGRAMS", raising=False)
    download._answers.cache_clear()
    return tmp_path / "cache"


@pytest.fixture
def release(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Release]:
    host = Release()
    monkeypatch.setenv("CONVERGE_KUBERNETES_RELEASES", host.url)
    monkeypatch.setenv("CONVERGE_GITHUB_RELEASES", host.url)
    yield host
    host.server.shutdown()
    host.server.server_close()


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Put a compiler on the path that runs ``script`` for `go build`, with the output file in ``$out``."""
    directory = tmp_path / "bin"
    directory.mkdir()
    log = tmp_path / "builds"

    def install(script: str) -> Path:
        program = directory / "go"
        program.write_text(
            "#!/bin/sh\n"
            'if [ "$1" = env ]; then echo go1.99.0; exit; fi\n'
            f"echo build >> {log}\n"
            'while [ "$1" != -o ]; do shift; done; out=$2\n'
            f"{script}\n"
        )
        program.chmod(0o755)
        return log

    monkeypatch.setenv("PATH", f"{directory}{os.pathsep}{os.defpath}")
    return install


def kubectl_path() -> str:
    system, machine = programs.target().split("-")
    return f"/{KUBECTL.version}/bin/{system}/{machine}/kubectl"


def left_in(cache: Path) -> list[str]:
    """What programs, whole or half, the cache holds."""
    place = cache / "programs" / programs.target()
    return sorted(path.name for path in place.iterdir()) if place.exists() else []


def obtain() -> Path:
    return programs.obtain(["kubectl"], lambda _: None)["kubectl"]


def test_a_published_program_is_downloaded_once(release: Release, cache: Path) -> None:
    release.publish(kubectl_path(), PROGRAM)
    assert subprocess.run([obtain()], capture_output=True, text=True).stdout == "I am kubectl\n"
    asked = len(release.asked)
    assert obtain() == programs.in_cache(KUBECTL)
    assert len(release.asked) == asked
    assert left_in(cache) == [f"kubectl-{KUBECTL.version}"]


@pytest.mark.skipif(sys.platform != "linux", reason="etcd is released as an archive of this kind for Linux")
def test_a_program_is_taken_out_of_its_archive(release: Release, cache: Path) -> None:
    etcd = programs.PROGRAMS["etcd"]
    name = f"etcd-{etcd.version}-{programs.target()}"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        entry = tarfile.TarInfo(f"{name}/etcd")
        entry.size = len(PROGRAM)
        tar.addfile(entry, io.BytesIO(PROGRAM))
    directory = f"/etcd-io/etcd/releases/download/{etcd.version}"
    sums = f"{'0' * 64}  another.tar.gz\n{hashlib.sha256(packed.getvalue()).hexdigest()}  {name}.tar.gz\n"
    release.publish(f"{directory}/{name}.tar.gz", packed.getvalue(), f"{directory}/SHA256SUMS", sums)
    assert programs.obtain(["etcd"], lambda _: None)["etcd"].read_bytes() == PROGRAM


def test_a_wrong_checksum_is_refused_and_nothing_stays(release: Release, cache: Path) -> None:
    release.publish(kubectl_path(), PROGRAM, checksum="0" * 64)
    with pytest.raises(ClusterError, match="is not what was published") as refused:
        obtain()
    assert "CONVERGE_PROGRAMS=build" in refused.value.fix
    assert left_in(cache) == []


def test_a_download_that_is_cut_off_is_built_instead(release: Release, cache: Path, go: Callable[[str], Path]) -> None:
    release.publish(kubectl_path(), PROGRAM)
    release.files[kubectl_path()] = PROGRAM[:10]
    release.promised[kubectl_path()] = len(PROGRAM)
    go("echo built > $out")
    assert obtain().read_text() == "built\n"


def test_where_no_release_host_answers_programs_are_built(cache: Path, go: Callable[[str], Path]) -> None:
    builds = go("echo built > $out")
    assert obtain().read_text() == "built\n"
    assert os.access(programs.in_cache(KUBECTL), os.X_OK)
    obtain()
    assert builds.read_text().count("build") == 1


LEAVES_SOURCES = 'mkdir -p "$GOCACHE" "$GOMODCACHE/a"; echo x > "$GOMODCACHE/a/b"; chmod 555 "$GOMODCACHE/a"; '


def test_what_a_build_leaves_is_removed(cache: Path, go: Callable[[str], Path]) -> None:
    go(f"{LEAVES_SOURCES} echo built > $out")
    obtain()
    assert [path.name for path in cache.iterdir()] == ["programs"]


def test_kubectl_is_built_after_the_cluster_and_then_the_sources_go(cache: Path, go: Callable[[str], Path]) -> None:
    builds = go(f"{LEAVES_SOURCES} echo built > $out")
    programs.obtain(programs.LOCAL, lambda _: None, more_will_follow=True)
    assert programs.missing(programs.LOCAL) == []
    assert programs.missing(programs.PROGRAMS) == ["kubectl", "kind"], "neither is needed by the first check"
    assert build.build_cache().exists(), "kubectl shares most of its packages with the others"
    subprocess.run([sys.executable, "-m", "converge.cluster.programs"], check=True, stdout=subprocess.DEVNULL)
    assert programs.missing(programs.PROGRAMS) == ["kind"]
    assert not build.build_cache().exists()
    assert builds.read_text().count("build") == len(programs.LOCAL) + 1


def test_a_long_build_says_how_long_how_large_and_what_to_do_meanwhile(cache: Path, go: Callable[[str], Path]) -> None:
    go("for i in $(seq 600); do echo some/package >&2; done; echo built > $out")
    said: list[str] = []
    programs.obtain(programs.LOCAL, said.append)
    assert said[0].endswith("once: about 7 minutes on two cores, and 5 GB of disk, of which 0.5 GB stay in use\n")
    assert "make check LAB=03" in said[1]
    percents = [int(words.split(": ")[1].split(" %")[0]) for words in said if " %" in words]
    assert percents == sorted(percents)
    assert percents[0] == 0
    assert percents[-1] == 100


def test_the_time_that_is_left_is_measured_as_it_goes() -> None:
    estimate = build.Estimate(3000)
    assert str(estimate) == "0 %, about 6 minutes left"
    for _ in range(1500):
        estimate.compiled()
    assert str(estimate) == "50 %, less than a minute left", "1500 packages took no time at all"
    estimate.finish(300)
    assert str(estimate).startswith("90 %")


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ("write /x: no space left on device", "the disk is full"),
        ("go: dial tcp: lookup proxy: no such host", "could not be fetched"),
        ("verifying m@v1: checksum mismatch\nSECURITY ERROR", "not the one that control-plane/ has pinned"),
        ("x.go:1:1: syntax error", "syntax error"),
    ],
    ids=["full disk", "no network", "wrong checksum", "else"],
)
def test_a_build_that_fails_says_why_and_leaves_nothing(
    cache: Path, go: Callable[[str], Path], said: str, what: str
) -> None:
    go(f"echo half > $out; echo '{said}' >&2; exit 1")
    with pytest.raises(ClusterError, match=what) as failed:
        obtain()
    assert failed.value.fix
    assert left_in(cache) == []


def test_a_module_that_was_tampered_with_is_not_built(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the real compiler: a module whose checksum is not the pinned one, from a proxy that is a directory."""
    if build.shutil.which("go") is None:
        pytest.skip("no Go is here")
    proxy = tmp_path / "proxy" / "tiny.example" / "@v"
    proxy.mkdir(parents=True)
    (proxy / "v1.0.0.info").write_text('{"Version": "v1.0.0"}')
    (proxy / "v1.0.0.mod").write_text("module tiny.example\n")
    _zip(proxy / "v1.0.0.zip", {"go.mod": "module tiny.example\n", "main.go": "package main\n\nfunc main() {}\n"})
    module = tmp_path / "course" / "control-plane" / "tiny"
    module.mkdir(parents=True)
    (module / "go.mod").write_text("module pins\n\ngo 1.20\n\nrequire tiny.example v1.0.0\n")
    wrong = "h1:" + "A" * 43 + "="
    (module / "go.sum").write_text(f"tiny.example v1.0.0 {wrong}\ntiny.example v1.0.0/go.mod {wrong}\n")
    monkeypatch.setattr(build, "package_root", lambda: tmp_path / "course")
    monkeypatch.setenv("GOPROXY", f"file://{tmp_path / 'proxy'}")
    monkeypatch.setenv("GONOSUMDB", "*")
    about = ("tiny", "v1.0.0", "tiny", "tiny.example")
    with pytest.raises(ClusterError, match="not the one that control-plane/ has pinned"):
        build.build(*about, tmp_path / "tiny", "1 of 1", build.Estimate(1), lambda _: None)
    assert not (tmp_path / "tiny").exists()
    build.remove_build_cache()  # Go's module cache is read-only, which the removal of tmp_path would trip over


def _zip(path: Path, files: dict[str, str]) -> None:
    from zipfile import ZipFile

    with ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"tiny.example@v1.0.0/{name}", text)


def test_too_little_space_is_said_before_the_work(
    cache: Path, go: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    builds = go("echo built > $out")
    monkeypatch.setattr(build, "NEEDED_SPACE", 2**60)
    with pytest.raises(ClusterError, match="are free") as failed:
        obtain()
    assert "CONVERGE_CACHE" in failed.value.fix
    assert not builds.exists()


def test_no_go_and_no_network_is_one_clear_message(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    for name, value in {"PIP_INDEX_URL": NOBODY, "PIP_RETRIES": "0", "PIP_CONFIG_FILE": os.devnull}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ClusterError, match=r"no Go .* is here") as failed:
        obtain()
    assert "CONVERGE_BIN" in failed.value.fix
    assert left_in(cache) == []


def in_background(**output: int) -> subprocess.Popen[str]:
    script = (
        "from converge.cluster import programs\n"
        "programs.obtain(['kubectl'], lambda message: print(message.strip(), flush=True))"
    )
    return subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, preexec_fn=hears_ctrl_c, **output
    )


def test_two_at_once_build_once(cache: Path, go: Callable[[str], Path], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    builds = go(f"cat {tmp_path / 'gate'} > $out")
    both = [in_background(), in_background()]
    first_words = [process.stdout.readline() for process in both if process.stdout]
    assert sorted(words.split()[0] for words in first_words) == ["another", "building"], first_words
    (tmp_path / "gate").write_text("built")
    assert [process.wait(timeout=30) for process in both] == [0, 0]
    for process in both:
        assert process.stdout is not None
        process.stdout.close()
    assert builds.read_text().count("build") == 1
    assert programs.in_cache(KUBECTL).read_text() == "built"


def test_an_interrupted_build_leaves_nothing_and_can_go_on(
    cache: Path, go: Callable[[str], Path], tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "gate")
    go(f"echo half > $out; echo $$ > {tmp_path / 'pid'}; exec cat {tmp_path / 'gate'}")
    process = in_background(stderr=subprocess.DEVNULL)
    until("the build's start", lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "", within=30)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) != 0
    assert process.stdout is not None
    process.stdout.close()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    assert left_in(cache) == []
    go("echo built > $out")
    assert obtain().read_text() == "built\n"


def test_a_named_directory_comes_first(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = tmp_path / "named"
    named.mkdir()
    (named / "kubectl").write_bytes(PROGRAM)
    (named / "kubectl").chmod(0o755)
    monkeypatch.setenv("CONVERGE_BIN", str(named))
    assert obtain() == named / "kubectl"
    assert left_in(cache) == []
    (named / "kubectl").chmod(0o644)
    assert programs.found(KUBECTL) is None, "a file that cannot be run isn't a program"
