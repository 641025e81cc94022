"""Frozen objects: read like any other, changed by nobody."""

import copy
import json

import pytest

from converge.runtime.informers.frozen import freeze, thaw

PLAIN = {"metadata": {"name": "a", "labels": {"x": "1"}}, "items": [1, {"deep": [2]}], "none": None}


def test_a_frozen_object_equals_the_plain_one_and_is_json_as_it():
    frozen = freeze(PLAIN)
    assert frozen == PLAIN
    assert json.dumps(frozen) == json.dumps(PLAIN)
    assert frozen["items"][1]["deep"][0] == 2
    assert {**frozen} == PLAIN


@pytest.mark.parametrize(
    "change",
    [
        lambda o: o.__setitem__("a", 1),
        lambda o: o["metadata"].update(a=1),
        lambda o: o["metadata"]["labels"].pop("x"),
        lambda o: o["metadata"].setdefault("annotations", {}),
        lambda o: o["metadata"].clear(),
        lambda o: o["metadata"].popitem(),
        lambda o: o["metadata"].__ior__({"a": 1}),
        lambda o: o["metadata"].__delitem__("name"),
        lambda o: o["items"].append(3),
        lambda o: o["items"].__setitem__(0, 3),
        lambda o: o["items"].__delitem__(0),
        lambda o: o["items"].__iadd__([3]),
        lambda o: o["items"].__imul__(2),
        lambda o: o["items"].extend([3]),
        lambda o: o["items"].insert(0, 3),
        lambda o: o["items"].pop(),
        lambda o: o["items"].remove(1),
        lambda o: o["items"].reverse(),
        lambda o: o["items"].sort(),
        lambda o: o["items"].clear(),
        lambda o: o["items"][1]["deep"].append(3),
    ],
)
def test_it_cannot_be_changed_and_says_what_to_do(change):
    frozen = freeze(PLAIN)
    with pytest.raises(TypeError, match=r"belongs to the cache.*copy\.deepcopy"):
        change(frozen)
    assert frozen == PLAIN


@pytest.mark.parametrize("copied", [copy.deepcopy, thaw])
def test_a_copy_can_be_changed_all_the_way_down(copied):
    frozen = freeze(PLAIN)
    other = copied(frozen)
    other["metadata"]["labels"]["x"] = "2"
    other["items"][1]["deep"].append(3)
    assert frozen == PLAIN
    assert type(other["metadata"]) is dict
    assert type(other["items"]) is list


def test_freezing_leaves_the_original_alone():
    plain = copy.deepcopy(PLAIN)
    freeze(plain)["metadata"]
    plain["metadata"]["name"] = "b"
    assert plain["metadata"]["name"] == "b"
