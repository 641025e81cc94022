"""What every cluster of the course does when objects go: owner references, finalizers, namespaces."""

import pytest
from contract import CONFIG_MAP, WEBAPP, config_map, is_gone, webapp

from converge.cluster.bootstrap import until
from converge.runtime import Client, Invalid

WITHIN = 20.0
IN_TURN = 90.0  # a namespace is emptied when those before it are, and the checks beside these tests leave many


def test_in_the_background_children_follow_their_owner(client: Client, namespace: str) -> None:
    owner = client.create(webapp(namespace))
    client.create(config_map(namespace, owner=owner))
    client.delete(*WEBAPP, "web", namespace, propagation="Background")
    assert is_gone(client, *WEBAPP, "web", namespace), "the owner goes first, at once"
    until("the child's end", lambda: is_gone(client, *CONFIG_MAP, "child", namespace), WITHIN)


def test_in_the_foreground_the_owner_waits_for_its_children(client: Client, namespace: str) -> None:
    owner = client.create(webapp(namespace))
    client.create(config_map(namespace, owner=owner, finalizers=["contract.example/hold"]))

    def child_is_going() -> bool:
        return "deletionTimestamp" in client.get(*CONFIG_MAP, "child", namespace)["metadata"]

    client.delete(*WEBAPP, "web", namespace, propagation="Foreground")
    until("the child's deletion", child_is_going, WITHIN)
    waiting = client.get(*WEBAPP, "web", namespace)["metadata"]
    assert waiting["finalizers"] == ["foregroundDeletion"]
    assert waiting["deletionTimestamp"]
    client.patch(*CONFIG_MAP, "child", namespace, {"metadata": {"finalizers": None}})
    until("the owner's end", lambda: is_gone(client, *WEBAPP, "web", namespace), WITHIN)
    assert is_gone(client, *CONFIG_MAP, "child", namespace)


def test_orphans_stay_and_lose_their_reference(client: Client, namespace: str) -> None:
    owner = client.create(webapp(namespace))
    client.create(config_map(namespace, owner=owner))
    client.delete(*WEBAPP, "web", namespace, propagation="Orphan")
    until("the owner's end", lambda: is_gone(client, *WEBAPP, "web", namespace), WITHIN)
    assert "ownerReferences" not in client.get(*CONFIG_MAP, "child", namespace)["metadata"]


def test_an_owner_of_the_same_name_is_not_the_same_owner(client: Client, namespace: str) -> None:
    first = client.create(webapp(namespace))
    client.delete(*WEBAPP, "web", namespace, propagation="Background")
    client.create(webapp(namespace))
    client.create(config_map(namespace, owner=first))
    until("the end of a child whose owner is gone", lambda: is_gone(client, *CONFIG_MAP, "child", namespace), WITHIN)


def test_a_finalizer_holds_an_object_until_it_is_removed(client: Client, namespace: str) -> None:
    held = {**webapp(namespace), "metadata": {"name": "web", "namespace": namespace, "finalizers": ["a.example/hold"]}}
    client.create(held)
    client.delete(*WEBAPP, "web", namespace)
    going = client.get(*WEBAPP, "web", namespace)
    assert going["metadata"]["deletionTimestamp"]
    late = {"metadata": {"finalizers": ["a.example/hold", "a.example/late"]}}
    with pytest.raises(Invalid, match="no new finalizers can be added"):
        client.patch(*WEBAPP, "web", namespace, late)
    client.patch(*WEBAPP, "web", namespace, {"metadata": {"finalizers": None}})
    assert is_gone(client, *WEBAPP, "web", namespace)


def test_a_namespace_takes_everything_with_it(client: Client) -> None:
    made = client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "contract-"}})
    name = made["metadata"]["name"]
    client.create(webapp(name))
    client.delete("v1", "Namespace", name)
    until("the namespace's end", lambda: is_gone(client, "v1", "Namespace", name), IN_TURN)
    assert not [one for one in client.list(*WEBAPP) if one["metadata"]["namespace"] == name]
