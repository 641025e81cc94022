"""The fixtures of the checks: the submission, its namespace, its recorder, the world outside.

Each imports what it needs when it is asked for: the plugin that brings them is loaded by every pytest run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from converge.grader import course as courses
from converge.grader.against import resolve, rights

if TYPE_CHECKING:
    from converge.cluster import Cluster
    from converge.grader.library import Library
    from converge.grader.namespace import Namespace
    from converge.grader.operator import Operator
    from converge.grader.outside import Outside
    from converge.grader.recorder import Recorder
    from converge.runtime import Client

KEPT = 50  # namespaces: more than one worker uses for all labs


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
def submission(request: pytest.FixtureRequest, course: courses.Course, against: str, tmp_path: Path) -> Path:
    """The file that is graded."""
    found = course.of_checks(request.path)
    assert found is not None, f"{request.path.name} belongs to no lab of course.toml"
    return resolve(found, against, tmp_path)


@pytest.fixture
def lab(submission: Path, tmp_path: Path) -> Iterator[Library]:
    """The submission of a library lab, in a process of its own."""
    from converge.grader.library import Library

    home = tmp_path / "home"
    home.mkdir()
    library = Library(submission, home)
    yield library
    library._close()


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
def used(request: pytest.FixtureRequest, admin: Client) -> deque[str]:
    """The namespaces of checks that have ended. What is left of them is dropped when nobody waits any more."""
    from converge.grader.identity import drop_namespace

    names: deque[str] = deque()

    def drop_all() -> None:
        for name in names:
            drop_namespace(admin, name)

    request.config.add_cleanup(drop_all)
    return names


@pytest.fixture
def namespace(admin: Client, cluster: Cluster, used: deque[str]) -> Iterator[Namespace]:
    """A fresh namespace for this check. It is dropped with all in it: at once where its Pods cost something.

    Elsewhere a few are kept until the end. To empty a namespace takes the controller manager seventy requests, which
    was more than a quarter of all that grading asked of the API server.
    """
    from converge.grader.identity import drop_namespace, make_namespace
    from converge.grader.namespace import Namespace

    made = Namespace(admin, cluster, make_namespace(admin))
    yield made
    used.append(made.name)
    while len(used) > (0 if cluster.pods_are_real else KEPT):
        drop_namespace(admin, used.popleft())


@pytest.fixture
def recorder(request: pytest.FixtureRequest, cluster: Cluster) -> Iterator[Recorder]:
    """The recorder through which the operator reaches the cluster."""
    from converge.grader.recorder import Recorder, recordings

    title = f"{request.path.stem.removeprefix('test_')} {request.node.originalname.removeprefix('test_')}"
    with Recorder(cluster.server, cluster.ca_file, title=title) as made:
        yield made
    recordings.keep(made.recording)


@pytest.fixture
def kubeconfig(
    request: pytest.FixtureRequest,
    course: courses.Course,
    against: str,
    admin: Client,
    namespace: Namespace,
    recorder: Recorder,
    tmp_path: Path,
) -> Path:
    """A kubeconfig with the rights of this lab in this namespace, through the recorder."""
    from converge.grader.identity import make_account, write_kubeconfig

    found = course.of_checks(request.path)
    token = make_account(admin, namespace.name, rights(found, against) if found else ())
    home = tmp_path / "operator"
    home.mkdir()
    return write_kubeconfig(home / "kubeconfig", recorder.url, token, namespace.name)


@pytest.fixture
def operator(
    request: pytest.FixtureRequest,
    course: courses.Course,
    submission: Path,
    namespace: Namespace,
    kubeconfig: Path,
    recorder: Recorder,
) -> Iterator[Operator]:
    """The operator under test, not started yet."""
    from converge.grader.operator import Operator
    from converge.grader.waiting import interruptions

    found = course.of_checks(request.path)
    assert found is not None
    made = Operator(found, submission, namespace, kubeconfig, recorder)
    interruptions.append(made.interrupt)
    yield made
    interruptions.remove(made.interrupt)
    made.close()


@pytest.fixture
def second_writer(namespace: Namespace) -> Namespace:
    """Somebody else who writes in the same namespace, under another field manager."""
    return namespace.somebody_else()


@pytest.fixture
def outside(request: pytest.FixtureRequest) -> Iterator[Outside]:
    """The service outside the cluster. An operator of the same check finds it at $OUTSIDE_URL."""
    from converge.grader.outside import Outside

    service = Outside()
    if "operator" in request.fixturenames:
        request.getfixturevalue("operator").environment["OUTSIDE_URL"] = service.url
    yield service
    service.down()
