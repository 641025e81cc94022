"""Of two values only what differs is shown, and no text is shown as code."""

import pytest

from converge.grader import Failure, eventually, expect
from converge.testing.verdicts.values import contrast, show

WANTED = {"spec": {"replicas": 3, "ports": [{"port": 80}], "template": {"labels": {"app": "web", "tier": "front"}}}}


def test_only_the_places_that_differ():
    got = {"spec": {"replicas": 4, "ports": [{"port": 81}], "template": {"labels": {"app": "web"}}}}
    assert contrast(got, WANTED) == (
        "spec.replicas: 3\nspec.ports[0].port: 80\nspec.template.labels.tier: 'front'",
        "spec.replicas: 4\nspec.ports[0].port: 81\nspec.template.labels.tier: nothing",
    )


def test_what_fits_a_line_is_shown_whole():
    assert contrast({"a": 1}, {"a": 2}) == ("{'a': 2}", "{'a': 1}")
    assert contrast([1], [1, 2]) == ("[1, 2]", "[1]")


def test_many_differences_are_cut():
    wanted, _ = contrast({str(n): n for n in range(30)}, {str(n): n + 1 for n in range(30)})
    assert wanted.splitlines()[-1] == "… and 18 more"


def test_text_of_several_lines_is_shown_as_text():
    assert show("one\ntwo") == "one\ntwo"


def test_text_within_a_value_has_its_lines():
    assert show({"a": "one\ntwo"}) == "{'a': 'one\ntwo'}"
    assert show({"pg_hba.conf": "local all all trust\nhost all all all scram-sha-256"}).count("\n") == 3
    assert show(["a backslash, and then \\n"]) == repr(["a backslash, and then \\n"])


def test_nothing_wrong_is_not_shown_as_an_empty_text():
    with pytest.raises(Failure) as caught:
        expect("no Service", "", when="a WebApp was created")
    assert (caught.value.expected, caught.value.got) == ("nothing wrong", "no Service")


def test_words_take_the_place_of_a_bare_truth():
    with pytest.raises(Failure) as caught:
        expect(False, True, when="the Pod was looked at", expected="a label", hint="")
    assert (caught.value.expected, caught.value.got) == ("a label", "")


def test_what_a_wait_for_nothing_wrong_shows():
    with pytest.raises(Failure) as caught:
        eventually(lambda: "no Deployment\nno Service", "", within=0, when="a WebApp was created")
    assert caught.value.expected == "within 0 s: nothing wrong"
    assert caught.value.got == "no Deployment\nno Service"


def test_what_a_wait_for_anything_shows():
    with pytest.raises(Failure) as caught:
        eventually(lambda: None, within=0, when="a WebApp was created", expected="a Deployment")
    assert (caught.value.expected, caught.value.got) == ("within 0 s: a Deployment", "nothing")
