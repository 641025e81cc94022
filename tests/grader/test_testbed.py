"""The stage for notebooks: an operator, its namespace and its recorder, and nothing left of them afterwards."""

import urllib.error
import urllib.request

import pytest

from converge.grader import eventually
from converge.grader.session.testbed import LabTestbed, lab_testbed
from converge.runtime import NotFound

pytestmark = pytest.mark.cluster


def test_an_operator_acts_on_the_stage_and_is_recorded(cluster) -> None:
    with lab_testbed("01", title="A run of lab 01") as world:
        app = world.namespace.webapp(replicas=2)
        world.operator.start()
        made = eventually(lambda: world.namespace.get("Deployment", app.name), within=15)
        picture = world.timeline()._repr_svg_()
    assert made["spec"]["replicas"] == 2
    assert [str(each) for each in world.recorder.writes("Deployment")] == [f"CREATE deployments/{app.name}"]
    assert picture.startswith("<svg")
    assert f"deployments/{app.name}" in picture


def test_nothing_is_left_of_a_stage(cluster) -> None:
    with lab_testbed("01") as world:
        world.operator.start()
    assert not world.operator.running

    def gone() -> bool:
        try:
            found = world.namespace.client.get("v1", "Namespace", world.namespace.name)
        except NotFound:
            return True
        return "deletionTimestamp" in found["metadata"]

    assert eventually(gone, within=15)


def test_every_recorder_of_an_untrusted_operator_has_limits(cluster, admin, tmp_path) -> None:
    """Lab 16 starts a second replica behind a recorder of its own."""
    made = LabTestbed(cluster, admin, tmp_path, title="limits", lab=None, against="", jailed=True)
    second = made.new_recorder("second")
    try:
        for recorder in (made.recorder, second):
            asked = f"{recorder.url}/api/v1/namespaces/default/resourcequotas/pods"
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(urllib.request.Request(asked, method="DELETE"), timeout=10)
            assert "exceeded quota" in refused.value.read().decode()
    finally:
        second.stop()
        made.close()
