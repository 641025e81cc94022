"""Which fields are ours, read from what a real server keeps in ``managedFields``."""

import copy

import pytest

from converge.runtime import applied_fields

MANAGER = "the-operator"


@pytest.fixture
def wanted(namespace):
    labels = {"app": "web"}
    containers = [
        {"name": "web", "image": "registry.example/web:1", "ports": [{"containerPort": 8080}, {"containerPort": 9090}]},
        {"name": "logger", "image": "registry.example/logger:1", "args": ["--tail", "all"]},
    ]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": namespace,
            "labels": {"app": "web", "example.com/team": "blue"},
            "finalizers": ["example.com/a", "example.com/b"],
        },
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        },
    }


@pytest.fixture
def live(admin, wanted):
    yield admin.apply(wanted, MANAGER)
    admin.patch("apps/v1", "Deployment", "web", wanted["metadata"]["namespace"], {"metadata": {"finalizers": None}})


def change(admin, live, body):
    """Someone else's patch."""
    metadata = live["metadata"]
    return admin.patch("apps/v1", "Deployment", metadata["name"], metadata["namespace"], body, type="strategic")


def containers(*items):
    return {"spec": {"template": {"spec": {"containers": list(items)}}}}


def test_what_was_applied_comes_back_without_defaults(live, wanted):
    assert live["spec"] != wanted["spec"], "the server fills in defaults"
    assert applied_fields(live, MANAGER) == wanted


def test_an_item_of_a_list_is_applied_with_its_identity(admin, live, wanted):
    """A list of maps, a list of values, and a list that is owned as a whole."""
    ours = applied_fields(live, MANAGER)
    assert ours["metadata"]["finalizers"] == ["example.com/a", "example.com/b"]
    assert ours["spec"]["template"]["spec"]["containers"][1]["args"] == ["--tail", "all"]


def test_what_others_add_is_not_ours(admin, live, wanted):
    body = {"metadata": {"labels": {"mesh": "on"}, "annotations": {"note": "x"}, "finalizers": ["example.com/c"]}}
    live = change(admin, live, body | containers({"name": "proxy", "image": "registry.example/proxy:1"}))
    assert [each["name"] for each in live["spec"]["template"]["spec"]["containers"]] != ["web", "logger"]
    assert applied_fields(live, MANAGER) == wanted


@pytest.mark.parametrize(
    "body",
    [
        {"metadata": {"labels": {"example.com/team": "red"}}},
        {"metadata": {"labels": {"example.com/team": None}}},
        {"spec": {"replicas": 3}},
        containers({"name": "web", "image": "registry.example/web:2"}),
        containers({"name": "logger", "$patch": "delete"}),
    ],
    ids=["changed label", "removed label", "replicas", "image", "removed container"],
)
def test_what_others_change_is_no_longer_ours(admin, live, wanted, body):
    assert applied_fields(change(admin, live, body), MANAGER) != wanted
    assert applied_fields(admin.apply(wanted, MANAGER, force=True), MANAGER) == wanted


def test_what_is_no_longer_applied_is_no_longer_ours(admin, live, wanted):
    less = copy.deepcopy(wanted)
    del less["metadata"]["labels"]["example.com/team"]
    assert applied_fields(admin.apply(less, MANAGER), MANAGER) == less


def test_an_object_that_was_never_applied_has_nothing_of_ours(admin, live):
    assert applied_fields(live, "someone-else") == {}
    made = admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "runtime-"}})
    admin.delete("v1", "Namespace", made["metadata"]["name"])
    assert applied_fields(made, "converge-runtime") == {}, "an update isn't an apply, even under the same name"


def test_objects_without_a_namespace(admin):
    wanted = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "runtime-owned", "labels": {"a": "b"}}}
    live = admin.apply(wanted, MANAGER)
    admin.delete("v1", "Namespace", "runtime-owned")
    ours = applied_fields(live, MANAGER)
    assert ours["metadata"] == wanted["metadata"]
