"""A cluster that breaks during a check is our error, and nobody waits for it. A cluster of this test's own."""

import pytest

from converge import cluster as clusters
from converge.grader import course as courses
from converge.grader.checks.verdict import Status
from converge.grader.course.job import Job
from converge.grader.session.run import run

MANIFEST = """
[course]
title = "Tiny"
[rights]
[[lab]]
slug = "01_victim"
title = "Victim"
part = "I"
kind = "library"
file = "empty.py"
hints = []
"""
CHECKS = '''
import os
import signal

from converge.grader import check, eventually, expect


def kill(cluster, name):
    os.kill(next(part.pid for part in cluster.parts if part.name == name), signal.SIGKILL)


@check(points=1, timeout=300)
def test_never_waits(cluster, namespace):
    """A wait for what will never come ends when the cluster does."""
    kill(cluster, "COMPONENT")
    eventually(lambda: False, within=120, when="something was killed", hint="")


@check(points=1)
def test_never_blames(cluster, namespace):
    """What is seen on a broken cluster proves nothing."""
    kill(cluster, "COMPONENT")
    expect(1, 2, when="something was killed", hint="")
'''


@pytest.fixture
def own_cluster(tmp_path, monkeypatch):
    monkeypatch.setenv("CONVERGE_STATE", str(tmp_path / "state"))
    yield clusters.up("local")
    clusters.down()


@pytest.mark.parametrize("component", ["kube-apiserver", "etcd", "kwok"])
def test_a_component_that_dies_is_our_error(component, own_cluster, tmp_path):
    for path, text in {
        "course.toml": MANIFEST,
        "labs/01_victim/empty.py": "",
        "tests/labs/test_01_victim.py": CHECKS.replace("COMPONENT", component),
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    course = courses.load(tmp_path)
    for check in course.labs[0].checks:
        clusters.up("local")
        (result,) = run(course, [Job(course.labs[0], only=[check])], workers=0)
        (found,) = result.checks
        assert found.status is Status.ERROR, found
        assert component in found.parts["message"]
        assert "converge up" in found.parts["message"]
        assert found.seconds < 100, "the wait alone would have taken 120 s"
