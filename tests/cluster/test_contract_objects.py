"""What every cluster of the course does with objects: concurrency, generation, defaults, rules, ownership of fields."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from contract import CONFIG_MAP, WEBAPP, config_map, webapp

from converge.runtime import AlreadyExists, Client, Conflict, Invalid


def test_a_write_based_on_an_old_read_is_refused(client: Client, namespace: str) -> None:
    read = client.create(webapp(namespace))
    client.replace({**read, "spec": {**read["spec"], "replicas": 2}})
    with pytest.raises(Conflict) as refused:
        client.replace({**read, "spec": {**read["spec"], "replicas": 9}})
    assert refused.value.status == 409
    assert client.get(*WEBAPP, "web", namespace)["spec"]["replicas"] == 2


def test_a_patch_can_demand_the_version_that_was_read(client: Client, namespace: str) -> None:
    read = client.create(webapp(namespace))
    client.patch(*WEBAPP, "web", namespace, {"spec": {"replicas": 2}})
    demand = {"metadata": {"resourceVersion": read["metadata"]["resourceVersion"]}, "spec": {"replicas": 9}}
    with pytest.raises(Conflict):
        client.patch(*WEBAPP, "web", namespace, demand)


def test_a_delete_can_demand_the_version_and_the_very_object(client: Client, namespace: str) -> None:
    read = client.create(webapp(namespace))
    client.patch(*WEBAPP, "web", namespace, {"spec": {"replicas": 2}})
    with pytest.raises(Conflict):
        client.delete(*WEBAPP, "web", namespace, resource_version=read["metadata"]["resourceVersion"])
    with pytest.raises(Conflict):
        client.delete(*WEBAPP, "web", namespace, uid="00000000-0000-0000-0000-000000000000")
    client.delete(*WEBAPP, "web", namespace, uid=read["metadata"]["uid"])


def test_a_name_is_given_once(client: Client, namespace: str) -> None:
    client.create(config_map(namespace))
    with pytest.raises(AlreadyExists) as refused:
        client.create(config_map(namespace))
    assert refused.value.status == 409


def test_generation_counts_changes_of_the_spec_alone(client: Client, namespace: str) -> None:
    made = client.create(webapp(namespace))
    assert made["metadata"]["generation"] == 1
    same = client.patch(*WEBAPP, "web", namespace, {"spec": {"replicas": 1}})
    assert same["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"], "a write that changes nothing"
    labelled = client.patch(*WEBAPP, "web", namespace, {"metadata": {"labels": {"a": "b"}}})
    reported = client.patch(*WEBAPP, "web", namespace, {"status": {"observedGeneration": 1}}, subresource="status")
    assert labelled["metadata"]["generation"] == reported["metadata"]["generation"] == 1
    scaled = client.patch(*WEBAPP, "web", namespace, {"spec": {"replicas": 3}})
    assert scaled["metadata"]["generation"] == 2


def test_spec_and_status_are_written_through_different_doors(client: Client, namespace: str) -> None:
    made = client.create({**webapp(namespace), "status": {"availableReplicas": 7}})
    assert "status" not in made
    client.patch(*WEBAPP, "web", namespace, {"status": {"availableReplicas": 7}})
    assert "status" not in client.get(*WEBAPP, "web", namespace)
    both = {"spec": {"replicas": 9}, "status": {"availableReplicas": 2}}
    client.patch(*WEBAPP, "web", namespace, both, subresource="status")
    read = client.get(*WEBAPP, "web", namespace)
    assert (read["spec"]["replicas"], read["status"]) == (1, {"availableReplicas": 2})


def test_the_scale_subresource_changes_replicas(client: Client, namespace: str) -> None:
    client.create(webapp(namespace))
    client.patch(*WEBAPP, "web", namespace, {"spec": {"replicas": 4}}, subresource="scale")
    assert client.get(*WEBAPP, "web", namespace)["spec"]["replicas"] == 4


def test_absent_fields_are_defaulted_and_unknown_ones_dropped(client: Client, namespace: str) -> None:
    made = client.create(webapp(namespace, colour="blue"))
    assert made["spec"] == {"image": "registry.example/web:1", "replicas": 1, "port": 8080, "autoscaled": False}


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ({"replicas": "three"}, "spec.replicas"),
        ({"replicas": -1}, "greater than or equal to 0"),
        ({"image": None}, "spec.image"),
        ({"port": 70000}, "less than or equal to 65535"),
        ({"image": "not an image"}, "an image name has no spaces"),
        ({"labels": {"app.kubernetes.io/name": "mine"}}, "belong to the operator"),
        ({"register": "No Such Host"}, "register must be a host name"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_the_schema_and_its_rules_are_enforced(
    client: Client, namespace: str, spec: dict[str, object], complaint: str
) -> None:
    with pytest.raises(Invalid) as refused:
        client.create(webapp(namespace, **spec))
    assert refused.value.status == 422
    assert complaint in str(refused.value)


def test_applied_fields_have_an_owner(client: Client, namespace: str) -> None:
    client.apply(webapp(namespace, replicas=2), field_manager="first")
    with pytest.raises(Conflict) as refused:
        client.apply(webapp(namespace, replicas=5), field_manager="second")
    assert '"first"' in str(refused.value)
    assert ".spec.replicas" in str(refused.value)
    forced = client.apply(webapp(namespace, replicas=5), field_manager="second", force=True)
    owners = {entry["manager"]: entry["fieldsV1"] for entry in forced["metadata"]["managedFields"]}
    assert "f:replicas" in owners["second"]["f:spec"]
    assert "f:replicas" not in owners["first"]["f:spec"]
    assert "f:image" in owners["first"]["f:spec"], "both gave the same value, both own it"


def test_an_applied_field_that_is_left_out_goes(client: Client, namespace: str) -> None:
    client.apply(webapp(namespace, sidecar="logger:1", replicas=3), field_manager="first")
    applied = client.apply(webapp(namespace, replicas=3), field_manager="first")
    assert "sidecar" not in applied["spec"]
    again = client.apply(webapp(namespace, replicas=3), field_manager="first")
    assert again["metadata"]["resourceVersion"] == applied["metadata"]["resourceVersion"], "nothing left to change"


def test_a_thousand_objects_are_listed_in_pages(client: Client, namespace: str) -> None:
    names = [f"object-{number:04}" for number in range(1000)]
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda name: client.create(config_map(namespace, name, labels={"in": "pages"})), names))
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    page = client.connection.request("GET", path, {"limit": 300}, asked="list one page")
    assert len(page["items"]) == 300
    assert page["metadata"]["continue"]
    before = sum(client.connection.answered.values())
    listed = client.list(*CONFIG_MAP, namespace, label_selector="in=pages", page_size=100)
    assert sum(client.connection.answered.values()) - before == 10
    assert [item["metadata"]["name"] for item in listed] == names
    assert listed.resource_version
