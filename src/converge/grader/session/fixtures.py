"""The fixtures of the checks: the submission, its namespace, its recorder, the world outside.

Each imports what it needs when it is asked for: the plugin that brings them is loaded by every pytest run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from converge.grader import course as courses
from converge.grader.course.submissions import resolve
from converge.grader.session.fail_fast import FAIL_FAST
from converge.grader.session.plan import planned_job

if TYPE_CHECKING:
    from converge.cluster import Cluster
    from converge.grader.checks.course_namespace import CourseNamespace
    from converge.grader.library.library import Library
    from converge.grader.session.testbed import LabTestbed
    from converge.operators.outside_service import Outside
    from converge.recorder import Recorder
    from converge.runtime import Client
    from converge.testing.operator import Operator

NAMESPACES_KEPT = 50  # more than one worker uses for all labs


@pytest.fixture(scope="session")
def course() -> courses.Course:
    """The course whose checks are run."""
    return courses.load()


@pytest.fixture
def against(request: pytest.FixtureRequest) -> str:
    """What is graded, as `--against` says it; a plan says it for each check."""
    said: str = request.param.against if hasattr(request, "param") else request.config.getoption("--against")
    return said


@pytest.fixture
def jailed(request: pytest.FixtureRequest) -> bool:
    """Whether what is graded is untrusted: only a plan can say so."""
    job = planned_job(request.node)
    return bool(job and job.jailed)


@pytest.fixture
def submission(request: pytest.FixtureRequest, course: courses.Course, against: str, tmp_path: Path) -> Path:
    """The file that is graded."""
    found = course.of_checks(request.path)
    assert found is not None, f"{request.path.name} belongs to no lab of course.toml"
    return resolve(found, against, tmp_path)


@pytest.fixture
def lab(request: pytest.FixtureRequest, submission: Path, tmp_path: Path, jailed: bool) -> Iterator[Library]:
    """The submission of a library lab, in a process of its own."""
    from converge.grader.library.library import Library

    home = tmp_path / "home"
    home.mkdir()
    library = in_jail(request, submission, home) if jailed else Library(submission, home)
    yield library
    library._close()


def in_jail(request: pytest.FixtureRequest, submission: Path, home: Path) -> Library:
    """Nothing can be brought into a jail later, so what leads to the cluster is made first."""
    from converge.grader.library.library import Library
    from converge.grader.session.lab_jail import jail_of
    from converge.testing.sandbox.jail import Reach

    found = request.getfixturevalue("course").of_checks(request.path)
    if "kubeconfig" not in request.fixturenames:
        return Library(submission, home, jail_of(found, submission))
    files = [request.getfixturevalue("kubeconfig")]
    port = urlsplit(request.getfixturevalue("recorder").url).port
    return Library(submission, home, jail_of(found, submission), Reach((port,) if port else ()), files)


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    """The running cluster, started if there is none. Two pytest processes start one, not two."""
    from converge import cluster as clusters

    return clusters.ensure()


@pytest.fixture(scope="session")
def admin(cluster: Cluster) -> Client:
    """A client with all rights, for the grader's own eyes and hands."""
    from converge.runtime import Client

    return Client(cluster.kubeconfig, user_agent="kubectl")


@pytest.fixture(scope="session")
def used_namespaces(request: pytest.FixtureRequest, admin: Client) -> deque[str]:
    """The namespaces of checks that have ended. What is left of them is dropped when nobody waits any more."""
    from converge.testing.access.identity import drop_namespace

    names: deque[str] = deque()

    def drop_all() -> None:
        from converge import cluster

        if cluster.problem():
            return  # each request would wait for its time limit; what is left does no harm
        for name in names:
            drop_namespace(admin, name)

    request.config.add_cleanup(drop_all)
    return names


@pytest.fixture
def testbed(
    request: pytest.FixtureRequest,
    course: courses.Course,
    against: str,
    admin: Client,
    cluster: Cluster,
    used_namespaces: deque[str],
    tmp_path: Path,
    jailed: bool,
) -> Iterator[LabTestbed]:
    """Namespace, recorder, identity, kubeconfig and operator of this check, each made when it's first asked for.

    A namespace whose Pods cost something is dropped at once, as is that of an untrusted submission. Elsewhere a few
    are kept until the end: emptying a namespace takes the controller manager seventy requests, more than a quarter of
    all that grading asked of the API server.
    """
    from converge.grader.session.testbed import LabTestbed
    from converge.recorder import archive
    from converge.testing.access.identity import drop_namespace

    def drop_later(client: Client, name: str) -> None:
        used_namespaces.append(name)
        while len(used_namespaces) > (0 if cluster.pods_are_real or jailed else NAMESPACES_KEPT):
            drop_namespace(client, used_namespaces.popleft())

    title = f"{request.path.stem.removeprefix('test_')} {request.node.originalname.removeprefix('test_')}"
    lab = course.of_checks(request.path)
    made = LabTestbed(
        cluster,
        admin,
        tmp_path,
        title=title,
        lab=lab,
        against=against,
        drop=drop_later,
        jailed=jailed,
        two_namespaces="other_namespace" in request.fixturenames,
    )
    yield made
    made.close()
    if "recorder" in made.__dict__ and not jailed:  # what others have handed in isn't “the last run” of anyone here
        archive.keep(made.recorder.recording)


@pytest.fixture
def namespace(testbed: LabTestbed) -> CourseNamespace:
    """A fresh namespace for this check."""
    return testbed.namespace


@pytest.fixture
def other_namespace(testbed: LabTestbed) -> CourseNamespace:
    """A second fresh namespace. In a check that asks for it, the operator serves both, and is started without `-n`."""
    assert testbed.other_namespace is not None
    return testbed.other_namespace


@pytest.fixture
def recorder(testbed: LabTestbed) -> Recorder:
    """The recorder through which the operator reaches the cluster."""
    return testbed.recorder


@pytest.fixture
def kubeconfig(testbed: LabTestbed) -> Path:
    """A kubeconfig with the rights of this lab in this namespace, through the recorder."""
    return testbed.kubeconfig


@pytest.fixture
def operator(request: pytest.FixtureRequest, testbed: LabTestbed, kubeconfig: Path) -> Operator:
    """The operator under test, not started yet."""
    testbed.kubeconfig = kubeconfig  # the checks of a lab may have a fixture of their own for it
    made = testbed.operator
    if fail_fast := request.node.stash.get(FAIL_FAST, None):
        made.may_stop_waiting = fail_fast.may_stop_waiting
    return made


@pytest.fixture
def second_writer(namespace: CourseNamespace) -> CourseNamespace:
    """Another writer in the same namespace, with a field manager of its own."""
    return namespace.second_writer()


@pytest.fixture
def outside(request: pytest.FixtureRequest) -> Iterator[Outside]:
    """The service outside the cluster. An operator of the same check finds it at $OUTSIDE_URL."""
    from converge.operators.outside_service import Outside

    service = Outside()
    if "operator" in request.fixturenames:
        request.getfixturevalue("operator").environment["OUTSIDE_URL"] = service.url
    yield service
    service.down()
