"""A fault at every request lets right operators pass, and names the request that was too much for a wrong one.

The wrong ones are solutions of the course with one edit each, of the kind that passes on a good day.
"""

import re

import pytest

from converge.grader import course as courses
from converge.grader.checks.oracles import wrong_webapp
from converge.grader.session.testbed import lab_testbed
from converge.testing.attacks.every_request import fault_at_every_request, ordinal, timeless
from converge.testing.verdicts.failure import Failure

SWALLOWS = ("06", "suppress(AlreadyExists)", "suppress(Exception)")
DELETES = (
    "02",
    "        except NotFound:\n            self.remove(request)\n",
    "        except Exception as error:\n            self.remove(request)\n"
    "            if not isinstance(error, NotFound):\n                raise\n",
)
CHILDREN = {"02": ["Deployment"], "06": ["Deployment", "Service"]}
FIELDS = ["image", "replicas"]


@pytest.fixture
def attack(cluster, tmp_path):
    """Attack the solution of a lab, edited where asked."""

    def run(lab, find="", replace="", **options):
        file = courses.load().find(lab).solution
        assert file.read_text().count(find) == 1 or not find
        edited = tmp_path / file.name
        edited.write_text(file.read_text().replace(find, replace) if find else file.read_text())
        with lab_testbed(lab, edited) as bed:
            fault_at_every_request(
                bed.operator,
                make=lambda **spec: bed.namespace.webapp(**{"replicas": 1, **spec}),
                wrong=lambda app: wrong_webapp(app, FIELDS, CHILDREN[lab]),
                children=CHILDREN[lab],
                **options,
            )
            return bed.recorder.faults

    return run


@pytest.mark.cluster
def test_a_right_operator_survives_a_fault_at_each_of_its_requests(attack):
    struck = attack("06", modes=["500", "lost"])
    assert {"500", "answer"} == {fault.name.split()[0] for fault in struck}
    objects = [re.sub(r"/.*", "", fault.object) for fault in struck if "/" in fault.object]
    assert {"webapps", "deployments", "services"} <= set(objects), "reads as well as writes"
    assert "webapps" in [fault.object for fault in struck], "the list that serves all objects"


@pytest.mark.cluster
def test_every_way_to_fail_can_be_asked_for(attack, monkeypatch):
    monkeypatch.setenv("CONVERGE_EVERY_FAULT", "1")
    struck = attack("06", modes=["403"])
    assert {"403", "429", "500", "answer", "connection"} <= {fault.name.split()[0] for fault in struck}


@pytest.mark.cluster
def test_an_error_that_is_swallowed_is_named_with_its_request(attack):
    with pytest.raises(Failure) as caught:
        attack(*SWALLOWS, modes=["500"], within=3)
    assert re.search(
        r"was created; its \d\w\w request for the object, CREATE (deployments|services)/\S+, was answered 500",
        caught.value.when,
    )
    assert "there is no" in caught.value.got


@pytest.mark.cluster
def test_a_failed_read_that_is_taken_for_a_deletion_deletes_something(attack):
    with pytest.raises(Failure) as caught:
        attack(*DELETES, modes=["500"], edit=lambda app: app.edit(replicas=2))
    assert "GET webapps/" in caught.value.when
    assert "was answered 500" in caught.value.when
    assert caught.value.expected == "nothing is deleted"
    assert caught.value.got.startswith("DELETE deployments/")


def test_moments_are_not_compared():
    status = {"availableReplicas": 1, "conditions": [{"type": "Ready", "lastTransitionTime": "now"}], "kopf": {}}
    assert timeless(status) == {"availableReplicas": 1, "conditions": [{"type": "Ready"}]}


def test_the_order_of_conditions_is_not_compared():
    ready, stalled = {"type": "Ready", "status": "True"}, {"type": "Stalled", "status": "False"}
    assert timeless({"conditions": [stalled, ready]}) == timeless({"conditions": [ready, stalled]})
    assert timeless({"conditions": [ready, stalled]}) != timeless({"conditions": [ready]})
    twice = [stalled, ready, stalled]
    assert timeless(twice) == twice  # not a map by type: the order may mean something
    assert timeless(["b", "a"]) == ["b", "a"]


def test_ordinals():
    assert [ordinal(number) for number in (1, 2, 3, 4, 11, 12, 21, 102)] == (
        ["1st", "2nd", "3rd", "4th", "11th", "12th", "21st", "102nd"]
    )
