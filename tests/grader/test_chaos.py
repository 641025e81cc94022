"""`converge chaos`: an audit whose settings come from a lab. Fair attacks only, and a finding can be replayed."""

import json

import pytest
from typer.testing import CliRunner

from converge.audit.attacks import ORDER
from converge.cli import app
from converge.cli.chaos import PROMISES, chosen_attacks, unpromised
from converge.grader import course as courses

COURSE = courses.load()
OPERATORS = [lab for lab in COURSE.labs if lab.kind == "operator"]


def invoke(*arguments):
    return CliRunner().invoke(app, ["chaos", *arguments])


def names(lab):
    return chosen_attacks(COURSE.find(lab), [])


def test_a_lab_is_attacked_where_it_promises_something():
    asked_of_some = {name for _, attacks in PROMISES.values() for name in attacks}
    assert set(names("06")) == {*ORDER} - asked_of_some | {"at-rest", "left-alone"}
    assert "child-edited" in names("07")
    assert "deletion" not in names("07")
    assert "deletion" in names("08")
    assert names("09") == list(ORDER)


def test_every_attack_that_a_promise_is_about_exists():
    assert {name for _, attacks in PROMISES.values() for name in attacks} <= {*ORDER}


@pytest.mark.parametrize("lab", OPERATORS, ids=lambda lab: lab.slug)
def test_what_a_lab_promises_can_be_attacked(lab):
    assert set(lab.chaos.get("promises", [])) <= PROMISES.keys()
    assert bool(lab.chaos) == (lab.number != "10"), "it makes no children"


def test_the_list_says_why_an_attack_is_left_out():
    listed = invoke("06", "--list")
    assert listed.exit_code == 0
    assert "lab 06 does not promise that it follows changes of the spec" in listed.stdout
    assert unpromised(COURSE.find("06"), "killed-after") == ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["10"], "Lab 10_conflicts makes no children"),
        (["06", "--attack", "nonsense"], "there are: at-rest"),
        (["06", "--attack", "walks"], "walks isn't fair: lab 06 does not promise that it follows changes"),
        (["nonsense"], "There is no lab"),
        (["06", "--time", "soon"], "--time wants something like 90s"),
    ],
    ids=["no children", "unknown attack", "unfair attack", "unknown lab", "no time"],
)
def test_wrong_use_exits_2_and_says_what_there_is(arguments, says):
    done = invoke(*arguments)
    assert done.exit_code == 2
    assert says in done.output


@pytest.mark.cluster
def test_a_lab_that_is_not_written_yet_is_not_attacked(cluster):
    done = invoke("06", "--against", str(COURSE.root / "labs"))
    assert done.exit_code == 2
    assert "idempotency.py still has TODO 1" in done.output


@pytest.mark.cluster
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_operator_that_survives_exits_0(cluster):
    done = invoke("06", "--against", "solutions", "--attack", "at-rest", "--seed", "11")
    assert done.exit_code == 0, done.output
    assert "06 Twice is once · solutions" in done.output
    assert "0 findings, in 2 cases" in done.output
    assert "(seed 11)" in done.output


@pytest.mark.cluster
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_operator_that_is_meant_for_a_pod_gets_the_environment_of_one(cluster):
    done = invoke("16", "--against", "solutions", "--attack", "at-rest")
    assert done.exit_code == 0, done.output


@pytest.mark.cluster
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_operator_that_registers_finds_the_service_outside(cluster):
    """Its object has a host name of its own, so the operator must reach the service to let go of a deleted one."""
    done = invoke("12", "--against", "solutions", "--attack", "deletion", "--json")
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout[done.stdout.index("{") :])
    assert report["attacks"][0]["cases"] == 4
    assert any(rule["resources"] == ["webapps"] and "patch" in rule["verbs"] for rule in report["role"]), "a finalizer"


@pytest.mark.cluster
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_mutant_that_does_not_survive_exits_1_and_its_finding_can_be_replayed(cluster):
    whom = "mutant:service-only-with-deployment"
    found = invoke("06", "--against", whom, "--attack", "killed-after", "--seed", "11", "--json")
    assert found.exit_code == 1, found.output
    report = json.loads(found.stdout[found.stdout.index("{") :])
    (finding,) = report["attacks"][0]["findings"]
    assert report["seed"] == 11
    assert "Service/NAME: missing" in finding["got"]
    assert finding["timeline"].endswith(".html")
    command = finding["again"].split()
    assert command[:6] == ["converge", "chaos", "06", "--against", whom, "--replay"]
    assert invoke(*command[2:]).exit_code == 1
