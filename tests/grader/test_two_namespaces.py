"""An operator that serves two namespaces, beside others on the same cluster of whose objects it sees nothing."""

import pytest

from converge.grader.checks.oracles import wrong_webapp
from converge.grader.course import Course
from converge.grader.session.testbed import lab_testbed
from converge.runtime import ApiError, Client, Forbidden
from converge.testing import attacks
from converge.testing.verdicts.failure import Failure
from converge.testing.waits.waiting import eventually

pytestmark = pytest.mark.cluster

WEBAPP = ("converge.example/v1", "WebApp")


def different(namespace, name):
    """WebApps that have nothing but their name in common."""
    different.calls += 1
    return namespace.webapp(name, replicas=different.calls % 2 + 1, image=namespace.images.web[different.calls % 2])


different.calls = 0


def attack(bed, children, **options):
    attacks.namesakes_are_independent(
        bed.operator,
        make=different,
        wrong=lambda app: wrong_webapp(app, ["image", "replicas"], children),
        children=children,
        **options,
    )


@pytest.mark.parametrize("lab", ["01", "02", "13"])
def test_a_right_operator_serves_both_and_sees_no_other(cluster, lab, outside):
    with lab_testbed(lab, two_namespaces=True) as bed, lab_testbed(lab) as neighbor:
        stranger = neighbor.namespace.webapp()
        bed.operator.environment["OUTSIDE_URL"] = outside.url
        attack(bed, ["Deployment"], edit=lambda app: app.edit(replicas=3), deletion=lab != "01", within=20)
        stranger.poke()
        bed.operator.settle()
        assert {each.namespace for each in bed.recorder.writes()} == set(map(str, bed.operator.namespaces))
        assert {event.namespace for event in bed.recorder.events} <= {"", *map(str, bed.operator.namespaces)}
        assert stranger.name not in bed.operator.output
        assert "-n" not in bed.operator.launch.command


def test_an_operator_that_forgets_the_namespace_is_caught(cluster, course: Course, tmp_path):
    file = course.find("02").solution
    edited = tmp_path / file.name
    right = "self.client.delete(*DEPLOYMENT, request.name, request.namespace)"
    assert file.read_text().count(right) == 1
    edited.write_text(file.read_text().replace(right, "self.client.delete(*DEPLOYMENT, request.name)"))
    with lab_testbed("02", edited, two_namespaces=True) as bed, pytest.raises(Failure) as caught:
        attack(bed, ["Deployment"], deletion=True, within=3)
    here, there = bed.operator.namespaces
    assert "in two namespaces" in caught.value.when
    assert f"the one in {there} was deleted" in caught.value.when
    assert any(f"DELETE deployments/{here}/" in line for line in map(str, bed.recorder.writes()))


def test_lists_and_watches_of_all_show_two_namespaces(cluster):
    with lab_testbed("02", two_namespaces=True) as bed, lab_testbed("02") as neighbor:
        client = Client(bed.kubeconfig)
        here, there, elsewhere = bed.namespace, bed.other_namespace, neighbor.namespace
        old, hidden = here.webapp(), elsewhere.webapp()
        listed = client.list(*WEBAPP)
        assert [each["metadata"]["name"] for each in listed] == [old.name]
        with client.watch(*WEBAPP, resource_version=listed.resource_version) as watch:
            hidden.poke()
            new = there.webapp()
            event = next(iter(watch))
        assert event.object["metadata"]["name"] == new.name
        with pytest.raises(Forbidden):
            client.get(*WEBAPP, hidden.name, elsewhere.name)
        with pytest.raises(ApiError):
            client.patch(*WEBAPP, hidden.name, elsewhere.name, {"spec": {"replicas": 0}})


def test_its_rights_in_all_namespaces_go_with_it(cluster):
    with lab_testbed("02", two_namespaces=True) as bed:
        assert bed.kubeconfig.exists()
        name = bed.namespace.name
        roles = ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding")
        assert any(name in each["metadata"]["name"] for each in bed.admin.list(*roles))
    assert eventually(lambda: not any(name in each["metadata"]["name"] for each in bed.admin.list(*roles)), within=30)
