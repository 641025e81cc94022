"""`converge chaos`: fair attacks only, the same again by the seed, and words for what was left out."""

import json

import pytest
from typer.testing import CliRunner

from converge.cli import app
from converge.grader import course as courses
from converge.grader.session.chaos import fair
from converge.testing.attacks.chaos_catalogue import ATTACKS, CAPABILITIES

COURSE = courses.load()
OPERATORS = [lab for lab in COURSE.labs if lab.kind == "operator"]


def invoke(*arguments):
    return CliRunner().invoke(app, ["chaos", *arguments])


def names(lab):
    return [each.name for each in ATTACKS if fair(COURSE.find(lab), each)]


def test_a_lab_is_attacked_where_it_promises_something():
    always = ["killed-after", "killed-before", "every-request", "two-objects", "old-cache", "old-deletion"]
    assert names("06") == [*always, "at-rest"]
    assert "drift" in names("07")
    assert "deletion" not in names("07")
    assert "deletion" in names("08")
    assert names("15") == [each.name for each in ATTACKS]
    assert names("10") == [], "it makes no children"
    assert names("03") == [], "it is a library"


@pytest.mark.parametrize("lab", OPERATORS, ids=lambda lab: lab.slug)
def test_what_a_lab_promises_can_be_attacked(lab):
    known = {"", "follows", *CAPABILITIES}
    assert set(lab.chaos.get("keeps", [])) <= known
    assert {each.requires for each in ATTACKS} <= known


def test_the_list_says_why_an_attack_is_left_out():
    listed = invoke("06", "--list")
    assert listed.exit_code == 0
    assert "lab 06 does not promise that it follows changes of the spec" in listed.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["10"], "Lab 10_conflicts makes no children"),
        (["06", "--attack", "nonsense"], "there are: killed-after"),
        (["nonsense"], "There is no lab"),
    ],
    ids=["no children", "unknown attack", "unknown lab"],
)
def test_wrong_use_exits_2_and_says_what_there_is(arguments, says):
    done = invoke(*arguments)
    assert done.exit_code == 2
    assert says in done.output


@pytest.mark.cluster
def test_an_operator_that_survives_exits_0_and_prints_its_seed(cluster):
    done = invoke("06", "--against", "solutions", "--attack", "at-rest", "--seed", "11")
    assert done.exit_code == 0, done.output
    assert "seed 11" in done.output
    assert "converge chaos 06 --seed 11 --against solutions --attack at-rest" in done.output


@pytest.mark.cluster
def test_an_operator_that_is_meant_for_a_pod_gets_the_environment_of_one(cluster):
    done = invoke("16", "--against", "solutions", "--attack", "at-rest", "--attack", "old-deletion")
    assert done.exit_code == 0, done.output
    assert "It survived 2 of 2 attacks" in done.output


@pytest.mark.cluster
def test_an_operator_that_does_not_exits_1_with_what_was_seen(cluster):
    done = invoke("15", "--attack", "killed-after", "--attack", "drift", "--seed", "11", "--json")
    assert done.exit_code == 1
    result = json.loads(done.stdout[done.stdout.index("{") :])
    killed, drift = result["attacks"]
    assert (result["seed"], killed["status"], drift["status"]) == (11, "failed", "passed")
    assert "there is no Service" in killed["got"]
    assert killed["timeline"].endswith(".html")
