"""Operators that attack the grader or the cluster score what they honestly earn."""

from pathlib import Path

import pytest

import converge.grader.checks.course_namespace  # noqa: F401 - it says which kinds are the course's
from converge.grader import course as courses
from converge.grader.checks.verdict import Status
from converge.grader.course.job import Job
from converge.grader.session.run import run
from converge.runtime import Client, Forbidden
from converge.testing.access.identity import drop_namespace, make_account, make_namespace, write_kubeconfig
from converge.testing.waits.waiting import eventually

pytestmark = pytest.mark.cluster

ATTACKS = Path(__file__).parent / "cheats"
FIRST = "test_a_webapp_gets_a_deployment"
QUIET = "test_a_pass_with_nothing_to_do_writes_nothing"


def graded(name, *checks):
    course = courses.load()
    lab = course.find("01")
    [result] = run(course, [Job(lab, str(ATTACKS / name / lab.file), [lab.check(each) for each in checks])])
    assert not result.trouble
    return result


@pytest.mark.parametrize(
    ("attack", "check"),
    [
        ("27_static_answer", FIRST),
        ("28_hard_coded_names", FIRST),
        ("29_status_without_work", FIRST),
        ("30_detects_the_grader", FIRST),
        ("31_edits_the_wish", FIRST),
        ("34_escalates", FIRST),
        ("40_too_late", FIRST),
    ],
)
def test_an_attack_earns_nothing(attack, check, cluster):
    result = graded(attack, check)
    assert result.find(check).status is Status.FAILED
    assert "GOT" not in str(result.find(check).parts)


def test_a_hot_loop_earns_its_deployment_and_is_told_its_writes(cluster):
    result = graded("36_hot_loop", FIRST, QUIET)
    assert result.find(FIRST).status is Status.PASSED
    assert result.find(QUIET).status is Status.FAILED
    assert "PATCH deployments" in str(result.find(QUIET).parts)


def test_a_finalizer_does_not_keep_a_namespace(admin):
    name = make_namespace(admin)
    held = {"name": "held", "namespace": name, "finalizers": ["attack.example/32"]}
    admin.create(
        {
            "apiVersion": "converge.example/v1",
            "kind": "WebApp",
            "metadata": held,
            "spec": {"image": "registry.example/w"},
        }
    )
    drop_namespace(admin, name)
    assert eventually(
        lambda: name not in {each["metadata"]["name"] for each in admin.list("v1", "Namespace")}, within=30
    )


def test_the_identity_of_an_operator_ends_at_its_namespace(admin, cluster, tmp_path):
    course = courses.load()
    name = make_namespace(admin)
    token = make_account(admin, name, course.find("01").rights)
    config = write_kubeconfig(tmp_path / "kubeconfig", cluster.server, token, name, cluster.ca_file)
    operator = Client(config)
    assert operator.list("converge.example/v1", "WebApp", name) == []
    for forbidden in (
        lambda: operator.list("converge.example/v1", "WebApp"),
        lambda: operator.list("v1", "Secret", name),
        lambda: operator.list("apps/v1", "Deployment", "default"),
        lambda: operator.delete("v1", "Namespace", name, None),
        lambda: operator.delete("converge.example/v1", "WebApp", "any", name),
    ):
        with pytest.raises(Forbidden):
            forbidden()
    drop_namespace(admin, name)
