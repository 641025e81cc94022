"""Attacks find what they are made for, and let right operators pass.

The subjects are files of the course: solutions of early labs that do not promise what an attack asks for, the operator
with five bugs of lab 15, and its solution. Hypothesis' walks and their shortening need no cluster.
"""

import random
from types import SimpleNamespace

import pytest

from converge.grader.checks.oracles import wrong_webapp
from converge.grader.checks.webapps import CHILDREN
from converge.grader.session.testbed import lab_testbed
from converge.recorder import RecordedEvent
from converge.recorder.recording import Recording
from converge.testing import attacks
from converge.testing.attacks import at_rest
from converge.testing.attacks import spec_walks as walks
from converge.testing.verdicts.failure import Failure
from converge.testing.waits.waiting import eventually

SCHEMA = {
    "required": ["image"],
    "properties": {
        "image": {"type": "string"},
        "replicas": {"type": "integer", "minimum": 0, "maximum": 1000, "default": 1},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "autoscaled": {"type": "boolean", "default": False},
    },
}


@pytest.fixture
def on(cluster):
    """The operator of a lab on its stage: `on("08")` is its solution."""
    scenes = []

    def scene(lab, against="solutions"):
        scenes.append(lab_testbed(lab, against))
        return scenes[-1]

    yield scene
    for each in scenes:
        each.close()


@pytest.mark.parametrize(("version", "seen"), [("99", False), ("100", True), ("101", True)])
def test_an_event_from_before_a_touch_is_not_the_touch(version, seen):
    event = RecordedEvent(1.0, 1, "MODIFIED", "webapps", "here", "shop", version)
    operator, app = SimpleNamespace(recorder=Recording(events=[event])), SimpleNamespace(kind="WebApp", name="shop")
    assert at_rest._has_seen(operator, app, mark=0.5, version="100") is seen


def running(scene, **spec):
    scene.operator.start()
    app = scene.namespace.webapp(**{"replicas": 1, **spec})
    assert eventually(lambda: not wrong_webapp(app), within=20)
    return app


@pytest.mark.cluster
def test_deletion_leaves_nothing_of_owned_children(on):
    scene = on("08")
    app = running(scene)
    attacks.deletion_leaves_nothing(scene.operator, app, children=CHILDREN)
    assert app.now() is None


@pytest.mark.cluster
def test_deletion_finds_children_that_nobody_owns(on):
    scene = on("07")
    app = running(scene)
    with pytest.raises(Failure) as caught:
        attacks.deletion_leaves_nothing(scene.operator, app, children=CHILDREN, within=2)
    assert caught.value.got == f"Deployment/{app.name}, Service/{app.name}"


@pytest.mark.cluster
def test_path_independence_finds_a_label_that_stays(on):
    scene = on("15", "labs")
    random.seed(3)
    with pytest.raises(Failure) as caught:
        attacks.path_independence(
            scene.operator, make=scene.namespace.webapp, fields=["labels"], children=CHILDREN, steps=8
        )
    assert "labels" in caught.value.got
    assert caught.value.when.count("labels") == 8


@pytest.mark.cluster
def test_path_independence_lets_an_operator_pass_that_removes_what_it_put(on):
    scene = on("07")
    attacks.path_independence(
        scene.operator, make=scene.namespace.webapp, fields=["labels", "port"], children=CHILDREN, steps=4
    )


@pytest.mark.cluster
def test_random_walks_show_the_shortest_walk_that_goes_astray(on):
    scene = on("15", "labs")

    def make(**spec):
        return scene.namespace.webapp(**{"replicas": 0, **spec})

    with pytest.raises(Failure) as caught:
        attacks.random_walks(scene.operator, make=make, fields=["labels"], children=CHILDREN, walks=3, seed=1)
    created, changed = caught.value.when.splitlines()
    assert created.count(":") == 2, "one label, and nothing else"
    assert changed.endswith('{"labels": {}}')
    shown = scene.recorder.since(scene.recorder.recording.focus)
    assert len({each.name for each in shown.writes("Deployment", verb="create")}) == 2, "the walk and its fresh twin"


@pytest.mark.cluster
def test_an_old_cache_is_too_much_for_an_operator_that_believes_it(on):
    scene = on("15", "labs")

    def make():
        return scene.namespace.webapp(replicas=1)

    with pytest.raises(Failure, match="from before") as caught:
        attacks.old_cache_destroys_nothing(scene.operator, make=make, wrong=wrong_webapp, children=CHILDREN, within=20)
    assert "DELETE deployments" in caught.value.got


@pytest.mark.cluster
def test_a_namesake_that_was_being_deleted_is_too_much_for_it_too(on):
    scene = on("15", "labs")

    def make(**name):
        return scene.namespace.webapp(replicas=1, **name)

    with pytest.raises(Failure, match="an earlier WebApp of the name") as caught:
        attacks.old_deletion_destroys_nothing(
            scene.operator, make=make, wrong=wrong_webapp, children=CHILDREN, within=20
        )
    assert "DELETE deployments" in caught.value.got


def drawn(seed, fields=("image", "replicas", "labels", "autoscaled"), count=20):
    return walks.draw(walks.walk_strategy(SCHEMA, fields, ["one", "two"], steps=3), count, seed)


def test_the_same_seed_draws_the_same_walks():
    assert drawn(7) == drawn(7)
    assert drawn(7) != drawn(8)


def test_walks_stay_within_the_schema_and_end_with_as_little_as_can_be():
    for first, *steps in drawn(1):
        assert first.keys() == {"image", "replicas", "labels", "autoscaled"}
        assert first["replicas"] in range(3)
        assert all(step.keys() <= first.keys() for step in steps)
        assert steps[-1] == {"labels": None, "replicas": 0}
        assert all(step.get("image", "one") in ("one", "two") for step in steps), "image is required"


def test_a_map_is_replaced_as_a_whole():
    spec = {"labels": {"tier": "a", "team": "b"}, "replicas": 1}
    assert walks.edit(spec, {"labels": {"zone": "a"}}) == {"labels": {"tier": None, "team": None, "zone": "a"}}
    assert walks.edit(spec, {"labels": None, "replicas": 0}) == {"labels": None, "replicas": 0}


def test_jumps_go_from_each_state_to_each_later_one():
    walk = [{"replicas": 1, "labels": {"tier": "a"}}, {"replicas": 2}, {"labels": None}]
    assert list(walks.jumps(walk)) == [
        [{"replicas": 1, "labels": {"tier": "a"}}, {"replicas": 2}],
        [{"replicas": 1, "labels": {"tier": "a"}}, {"replicas": 2, "labels": None}],
        [{"replicas": 2, "labels": {"tier": "a"}}, {"labels": None}],
    ]


def test_narrower_walks_have_one_field_or_one_key():
    walk = [{"replicas": 1, "labels": {"tier": "a", "team": "b"}}, {"replicas": 2, "labels": {"team": "b"}}]
    found = list(walks.narrower(walk))
    assert [{"replicas": 1}, {"replicas": 2}] in found
    assert [{"labels": {"tier": "a"}}, {"labels": {}}] in found
    assert all(len(step) == 1 for walk in found for step in walk)
