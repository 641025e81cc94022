"""The pytest plugin for operators that have nothing to do with the course: `-p converge.testing`.

    def test_makes_a_deployment(operator, namespace, eventually):
        app = namespace.apply("sample.yaml")
        eventually(lambda: namespace.get("Deployment", app.name), when=f"{app} was created")

`configuration` says how the operator is started. Each test has a namespace, a recorder and an operator of its own.
"""

from __future__ import annotations

import re
import subprocess
import traceback
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from converge.testing import configuration
from converge.testing.configuration import Configuration, ConfigurationError
from converge.testing.verdicts.failure import Verdict, lay_out

if TYPE_CHECKING:
    from converge.cluster import Cluster
    from converge.recorder import Recorder
    from converge.runtime import Client
    from converge.testing.objects.namespace import Namespace
    from converge.testing.operator import Operator
    from converge.testing.testbed import Testbed

MARKER = "operator(command=…, crds=…, rights=…, environment={…}, start=False, …): what differs for this test"
CONFIGURATION = pytest.StashKey[Configuration]()
BUILT = pytest.StashKey[bool]()
SECTION = "timeline"
HERE = Path(__file__).parent


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    try:
        config.stash[CONFIGURATION] = configuration.read(config.rootpath).check()
    except ConfigurationError as error:
        raise pytest.UsageError(str(error)) from None


def _of(request: pytest.FixtureRequest) -> Configuration:
    """The configuration of one test: the project's, changed by its markers, the outermost first."""
    made = request.config.stash[CONFIGURATION]
    try:
        for marker in reversed(list(request.node.iter_markers("operator"))):
            made = made.with_(marker.kwargs, f"{request.node.nodeid}, @pytest.mark.operator")
        return made.check()
    except ConfigurationError as error:
        pytest.fail(str(error), pytrace=False)


# The cluster


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """The cluster of all tests: the one that is up, or one that is started now. It stays up: `converge down` ends it.

    Several processes of pytest (`pytest -n 4`) share it.
    """
    from converge import cluster as clusters

    asked = request.config.stash[CONFIGURATION]
    say = _say(request.config)
    try:
        there = clusters.current()
        if there is None and (asked.cluster or asked.context):
            return clusters.up(asked.cluster or "existing", context=asked.context or None, progress=say)
        if there is not None and asked.cluster not in ("", there.provider):
            pytest.fail(f"a {there.provider} cluster is up, and {asked.cluster} is asked for: converge down", False)
        return clusters.ensure(say)
    except clusters.ClusterError as error:
        pytest.fail(str(error), pytrace=False)


def _say(config: pytest.Config) -> Callable[[str], None]:
    """Show progress of something slow, past pytest's capture."""
    capture = config.pluginmanager.getplugin("capturemanager")

    def say(text: str) -> None:
        with capture.global_and_fixture_disabled() if capture else ExitStack():
            print(f"\nconverge: {text.strip()}", end="", flush=True)

    return say


@pytest.fixture(scope="session")
def admin(cluster: Cluster) -> Client:
    """A client with all rights, past the recorder."""
    from converge.runtime import Client

    return Client(cluster.kubeconfig, user_agent="kubectl")


# One test


@pytest.fixture
def testbed(
    request: pytest.FixtureRequest, cluster: Cluster, admin: Client, tmp_path: Path
) -> Iterator[Testbed[Namespace]]:
    """All parts of one test, each made when it's first asked for."""
    from converge.testing.objects import crds
    from converge.testing.objects.manifests import ManifestError
    from converge.testing.operator import Launch
    from converge.testing.testbed import command_testbed

    said = _of(request)
    try:
        crds.install(admin, said.definitions)
    except ManifestError as error:
        pytest.fail(str(error), pytrace=False)
    launch = said.launch() if said.command else Launch(())
    made = command_testbed(cluster, admin, tmp_path, launch, title=request.node.name, rights=said.granted())
    made.files = said.root
    yield made
    made.close()


@pytest.fixture
def namespace(testbed: Testbed[Namespace]) -> Namespace:
    """A fresh namespace, read and written past the recorder. It's gone after the test."""
    return testbed.namespace


@pytest.fixture
def recorder(testbed: Testbed[Namespace]) -> Recorder:
    """The recorder between the operator and the cluster: what was asked, and faults to inject."""
    return testbed.recorder


@pytest.fixture
def operator(request: pytest.FixtureRequest, testbed: Testbed[Namespace], cluster: Cluster) -> Iterator[Operator]:
    """The operator, running, unless its marker says `start=False`."""
    from converge.cluster.directories import state_dir
    from converge.cluster.locking import locked

    said = _of(request)
    try:
        launch = said.launch()
    except ConfigurationError as error:
        pytest.fail(str(error), pytrace=False)
    _build(request.config, said)
    with ExitStack() as stack:
        if not launch.picks_namespace:  # it works in all namespaces, so two at once would fight
            stack.enter_context(locked(state_dir() / "whole-cluster.lock"))
        if said.start:
            testbed.operator.start()
        yield testbed.operator
        testbed.operator.close()


def _build(config: pytest.Config, said: Configuration) -> None:
    """Run the build command once per session; another process that builds is waited for."""
    from converge.cluster.directories import state_dir
    from converge.cluster.locking import locked

    command = said.build_command()
    if not command or config.stash.get(BUILT, False):
        return
    with locked(state_dir() / "build.lock"):
        try:
            built = subprocess.run(command, cwd=said.root, capture_output=True, text=True)
        except OSError as error:
            pytest.fail(f"the build command can't be run: {command[0]}: {error.strerror}", pytrace=False)
    if built.returncode:
        pytest.fail(f"the build command failed: {' '.join(command)}\n{built.stdout}{built.stderr}", pytrace=False)
    config.stash[BUILT] = True


# Words for tests


@pytest.fixture
def eventually() -> Callable[..., Any]:
    """Ask until the answer is there, with a deadline; ends early when the operator has died."""
    from converge.testing.waits.waiting import eventually

    return eventually


@pytest.fixture
def never() -> Callable[..., None]:
    """Fail when something happens before a moment that is known by evidence."""
    from converge.testing.waits.waiting import never

    return never


@pytest.fixture
def settle(operator: Operator) -> Callable[..., float]:
    """Wait until rollouts are done and the operator has stopped writing; returns that moment, for `recorder.since`."""
    return operator.settle


@pytest.fixture
def attacks() -> ModuleType:
    """The attacks: `attacks.crash_after_every_write(operator, make=…, wrong=…)`."""
    from converge.testing import attacks

    return attacks


# Reports


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Explain a verdict, with evidence, and name the timeline of a test that failed."""
    report = yield
    if call.excinfo is None or not report.failed:
        return report
    error = call.excinfo.value
    testbed: Testbed[Namespace] | None = getattr(item, "funcargs", {}).get("testbed")
    recorded = testbed if testbed and "recorder" in testbed.__dict__ else None
    if isinstance(error, Verdict):
        parts = error.parts()
        if recorded and "operator" in recorded.__dict__:
            parts["seen"] = recorded.operator.evidence(parts.get("seen", []))
        report.longrepr = "\n".join([*_own_lines(item, error), lay_out(parts, indent="")])
    if recorded and call.when != "teardown":
        report.sections.append((SECTION, str(_draw(item, recorded))))
    return report


def _own_lines(item: pytest.Item, error: BaseException) -> list[str]:
    """Where in the author's own files it happened, without the lines of this package."""
    root = item.config.rootpath
    frames = [each for each in traceback.extract_tb(error.__traceback__) if Path(each.filename).is_relative_to(root)]
    own = [each for each in frames if "site-packages" not in each.filename and HERE not in Path(each.filename).parents]
    return [
        line
        for each in own
        for line in (f"{Path(each.filename).relative_to(root)}:{each.lineno}: in {each.name}", f"    {each.line}")
    ]


def _draw(item: pytest.Item, testbed: Testbed[Namespace]) -> Path:
    """Write what the recorder has seen as a page; its path."""
    from converge.recorder.timeline.page import page

    recording = testbed.operator.recorded() if "operator" in testbed.__dict__ else testbed.recorder.recording
    folder = item.config.rootpath / item.config.stash[CONFIGURATION].timelines
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text("*\n")
    words = re.sub(r"[^A-Za-z0-9_.-]+", "-", item.nodeid).strip("-")
    file = folder / f"{words[-120:]}.html"
    file.write_text(page(recording), encoding="utf-8")
    return file


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the timelines once more, where they're seen even if tracebacks aren't shown."""
    failed = [*terminalreporter.stats.get("failed", []), *terminalreporter.stats.get("error", [])]
    drawn = [content for report in failed for name, content in report.sections if name == SECTION]
    if drawn:
        terminalreporter.section("timelines of failed tests")
        for file in dict.fromkeys(drawn):
            terminalreporter.write_line(file)
