"""The client against a real server: every verb, the watch, and every error."""

import threading
import time

import pytest
from runtime_world import WEBAPP, config_map, web_app, write_kubeconfig

from converge.grader import eventually
from converge.recorder import reads
from converge.runtime import (
    AlreadyExists,
    BadRequest,
    Client,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    TooManyRequests,
    UnknownKind,
)

# --- verbs


def test_an_object_is_created_read_replaced_and_deleted(admin, namespace):
    created = admin.create(config_map("a", namespace, x="1"))
    assert admin.get("v1", "ConfigMap", "a", namespace) == created
    replaced = admin.replace({**created, "data": {"x": "2"}})
    assert admin.get("v1", "ConfigMap", "a", namespace)["data"] == {"x": "2"} == replaced["data"]
    admin.delete("v1", "ConfigMap", "a", namespace)
    with pytest.raises(NotFound):
        admin.get("v1", "ConfigMap", "a", namespace)


def test_a_merge_patch_changes_and_removes_keys(admin, namespace):
    admin.create(config_map("a", namespace, x="1", y="2"))
    patched = admin.patch("v1", "ConfigMap", "a", namespace, {"data": {"x": "9", "y": None}})
    assert patched["data"] == {"x": "9"}


def test_a_json_patch_can_test_before_it_changes(admin, namespace):
    admin.create(config_map("a", namespace, x="1"))
    steps = [{"op": "test", "path": "/data/x", "value": "1"}, {"op": "replace", "path": "/data/x", "value": "2"}]
    assert admin.patch("v1", "ConfigMap", "a", namespace, steps, type="json")["data"] == {"x": "2"}
    with pytest.raises(Invalid, match="422"):
        admin.patch("v1", "ConfigMap", "a", namespace, steps, type="json")


def test_a_strategic_patch_merges_lists_by_their_key(admin, namespace):
    containers = [{"name": "web", "image": "registry.example/web:1"}]
    admin.create(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": namespace},
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}},
            },
        }
    )
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "log", "image": "registry.example/log:1"}]}}}}
    patched = admin.patch("apps/v1", "Deployment", "web", namespace, patch, type="strategic")
    assert {one["name"] for one in patched["spec"]["template"]["spec"]["containers"]} == {"web", "log"}


def test_apply_owns_fields_and_says_when_another_does(admin, namespace):
    admin.apply(config_map("a", namespace, x="1"), field_manager="first")
    with pytest.raises(Conflict, match=r'apply ConfigMap .*/a: 409.*conflict with "first"') as refused:
        admin.apply(config_map("a", namespace, x="2"), field_manager="second")
    assert refused.value.details["causes"][0]["field"] == ".data.x"
    assert admin.apply(config_map("a", namespace, x="2"), field_manager="second", force=True)["data"] == {"x": "2"}


def test_status_is_written_apart_from_the_spec(admin, namespace):
    created = admin.create(web_app("a", namespace))
    created["status"] = {"observedGeneration": 1}
    assert "status" not in admin.replace(created)
    current = admin.get(*WEBAPP, "a", namespace)
    current["status"] = {"observedGeneration": 1}
    assert admin.replace(current, subresource="status")["status"] == {"observedGeneration": 1}
    patch = {"status": {"observedGeneration": 2}}
    assert admin.patch(*WEBAPP, "a", namespace, patch, subresource="status")["status"] == {"observedGeneration": 2}
    applied = admin.apply({**web_app("a", namespace), "status": {"availableReplicas": 3}}, "s", subresource="status")
    assert applied["status"]["availableReplicas"] == 3
    assert admin.get(*WEBAPP, "a", namespace, subresource="status")["status"]["observedGeneration"] == 2


def test_a_list_comes_in_pages_and_says_what_its_items_are(client, recorder, admin, namespace):
    for number in range(7):
        admin.create(config_map(f"a{number}", namespace))
    listed = client.list("v1", "ConfigMap", namespace, label_selector="app", page_size=3)
    assert sorted(item["metadata"]["name"] for item in listed) == [f"a{number}" for number in range(7)]
    assert {(item["apiVersion"], item["kind"]) for item in listed} == {("v1", "ConfigMap")}
    assert int(listed.resource_version) > 0
    assert len(recorder.reads("ConfigMap")) == 3


def test_a_list_begins_again_when_its_pages_are_gone(client, recorder, admin, namespace):
    for number in range(5):
        admin.create(config_map(f"a{number}", namespace))
    recorder.fail(reads("ConfigMap"), nth=2, status=410, reason="Expired")
    listed = client.list("v1", "ConfigMap", namespace, label_selector="app", page_size=2)
    assert sorted(item["metadata"]["name"] for item in listed) == [f"a{number}" for number in range(5)]


def test_selectors_are_left_to_the_server(admin, namespace):
    for name in ("a", "b"):
        admin.create(config_map(name, namespace))
    by_label = admin.list("v1", "ConfigMap", namespace, label_selector="app=a")
    by_field = admin.list("v1", "ConfigMap", namespace, field_selector="metadata.name=b")
    assert [item["metadata"]["name"] for item in [*by_label, *by_field]] == ["a", "b"]


def test_deletion_takes_preconditions_and_a_propagation_policy(admin, namespace):
    created = admin.create(config_map("a", namespace))
    with pytest.raises(Conflict, match="UID"):
        admin.delete("v1", "ConfigMap", "a", namespace, uid="another")
    with pytest.raises(Conflict, match="ResourceVersion"):
        admin.delete("v1", "ConfigMap", "a", namespace, resource_version="1")
    uid, version = created["metadata"]["uid"], created["metadata"]["resourceVersion"]
    deleted = admin.delete(
        "v1", "ConfigMap", "a", namespace, uid=uid, resource_version=version, propagation="Foreground", grace_period=0
    )
    assert deleted["metadata"]["deletionTimestamp"] or deleted["status"] == "Success"


def test_cluster_scoped_kinds_have_no_namespace(admin, namespace):
    assert admin.get("v1", "Namespace", namespace)["metadata"]["name"] == namespace


def test_without_a_namespace_the_one_of_the_context_is_meant(client, kubeconfig, admin, namespace):
    assert client.namespace == "home"
    admin.create(config_map("a", namespace, x="1"))
    here = Client(kubeconfig=kubeconfig, namespace=namespace)
    assert here.get("v1", "ConfigMap", "a")["data"] == {"x": "1"}
    assert (
        here.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}})["metadata"]["namespace"]
        == namespace
    )


def test_names_with_odd_characters_are_found(admin):
    role = admin.get("rbac.authorization.k8s.io/v1", "ClusterRole", "system:node")
    assert role["metadata"]["name"] == "system:node"


def test_kinds_are_looked_up_once(client, recorder, namespace):
    for _ in range(3):
        client.list("v1", "ConfigMap", namespace)
        client.list("v1", "Secret", namespace)
    assert len(recorder.requests) == 1 + 6


def test_many_threads_can_share_a_client(client, namespace):
    def create(worker):
        for number in range(5):
            client.create(config_map(f"a-{worker}-{number}", namespace))

    threads = [threading.Thread(target=create, args=(worker,)) for worker in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(client.list("v1", "ConfigMap", namespace, label_selector="app")) == 40


# --- watch


def test_a_watch_brings_what_is_there_then_what_changes(admin, namespace):
    admin.create(config_map("a", namespace))
    with admin.watch("v1", "ConfigMap", namespace, label_selector="app") as watch:
        assert next(watch).type == "ADDED"
        admin.patch("v1", "ConfigMap", "a", namespace, {"data": {"x": "1"}})
        event = next(watch)
        assert (event.type, event.object["data"]) == ("MODIFIED", {"x": "1"})
        admin.delete("v1", "ConfigMap", "a", namespace)
        assert next(watch).type == "DELETED"


def test_a_watch_from_a_version_brings_only_what_came_after(admin, namespace):
    version = admin.create(config_map("a", namespace))["metadata"]["resourceVersion"]
    admin.create(config_map("b", namespace))
    with admin.watch("v1", "ConfigMap", namespace, resource_version=version, label_selector="app") as watch:
        assert next(watch).object["metadata"]["name"] == "b"


def test_a_watch_ends_after_its_timeout(admin, namespace):
    assert list(admin.watch("v1", "ConfigMap", namespace, label_selector="no=such", timeout=1)) == []


@pytest.mark.parametrize("through", ["admin", "client"])  # TLS, and plain HTTP
def test_a_waiting_watch_can_be_closed_by_another_thread(request, namespace, through):
    watch = request.getfixturevalue(through).watch("v1", "ConfigMap", namespace, label_selector="no=such")
    seen = []
    reader = threading.Thread(target=lambda: seen.extend(watch), daemon=True)
    reader.start()
    started = time.monotonic()
    watch.close()
    reader.join(10)
    assert not reader.is_alive()
    assert seen == []
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("take", [0, 1])
def test_a_watch_that_is_left_is_closed_at_the_server(client, recorder, admin, namespace, take):
    admin.create(config_map("a", namespace))
    with client.watch("v1", "ConfigMap", namespace, label_selector="app") as watch:
        for _ in range(take):
            next(watch)
    assert recorder.wait_for(lambda: all(one.duration is not None for one in recorder.watches()), deadline=10)
    with pytest.raises(StopIteration):
        next(watch)


# --- errors


def test_errors_say_what_was_asked_of_which_object_and_what_the_server_answered(admin, namespace):
    admin.create(config_map("a", namespace))
    with pytest.raises(AlreadyExists) as error:
        admin.create(config_map("a", namespace))
    assert str(error.value) == f'create ConfigMap {namespace}/a: 409 AlreadyExists: configmaps "a" already exists'
    with pytest.raises(NotFound) as error:
        admin.get("v1", "ConfigMap", "b", namespace)
    assert str(error.value) == f'get ConfigMap {namespace}/b: 404 NotFound: configmaps "b" not found'
    assert error.value.status == 404


def test_a_version_that_is_not_the_newest_is_a_conflict(admin, namespace):
    old = admin.create(config_map("a", namespace))
    admin.patch("v1", "ConfigMap", "a", namespace, {"data": {"x": "1"}})
    with pytest.raises(Conflict, match="has been modified"):
        admin.replace({**old, "data": {"x": "2"}})


def test_an_object_that_breaks_its_schema_is_invalid_and_says_where(admin, namespace):
    with pytest.raises(Invalid, match=r"spec\.replicas") as error:
        admin.create(web_app("a", namespace, replicas=-1))
    assert error.value.details["causes"][0]["field"] == "spec.replicas"


def test_nonsense_is_a_bad_request(admin, namespace):
    with pytest.raises(BadRequest):
        admin.create({**config_map("a", namespace), "data": "not a mapping"})


def test_what_is_not_allowed_is_forbidden(admin, cluster, tmp_path, namespace):
    eventually(lambda: admin.list("v1", "ServiceAccount", namespace), within=20)
    wanted = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": {"namespace": namespace}}
    token = admin.create({**wanted, "spec": {}}, subresource="token", name="default")["status"]["token"]
    path = write_kubeconfig(
        tmp_path / "weak", cluster.server, {"token": token}, **{"certificate-authority": str(cluster.ca_file)}
    )
    with pytest.raises(Forbidden, match=f"list Secret in {namespace}: 403 Forbidden: .*system:serviceaccount"):
        Client(kubeconfig=path).list("v1", "Secret", namespace)


@pytest.mark.parametrize(
    ("api_version", "kind", "says"),
    [
        ("v1", "Deployment", "the server serves no Deployment in v1, but"),
        ("nobody.example/v1", "Thing", "does not serve nobody.example/v1; is the CustomResourceDefinition installed"),
        ("", "", "an object needs both"),
    ],
)
def test_an_unknown_kind_is_named(admin, api_version, kind, says):
    with pytest.raises(UnknownKind, match=says):
        admin.get(api_version, kind, "a")


def test_a_removed_kind_is_not_a_missing_object_and_comes_back(admin, namespace):
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{namespace}.example"},
        "spec": {
            "group": f"{namespace}.example",
            "scope": "Namespaced",
            "names": {"kind": "Thing", "plural": "things"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                }
            ],
        },
    }
    kind = (f"{namespace}.example/v1", "Thing")

    def served():
        try:
            return admin.list(*kind, namespace) is not None
        except (UnknownKind, TooManyRequests):
            return False

    admin.create(definition)
    assert eventually(served, within=30), "a CRD that is installed later is found"
    admin.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", definition["metadata"]["name"])
    assert eventually(lambda: not served(), within=30)
    with pytest.raises(UnknownKind):
        admin.get(*kind, "a", namespace)
