"""What every cluster of the course keeps for operators: Events about objects, and Leases that only one can hold."""

import pytest
from contract import WEBAPP, event, webapp

from converge.runtime import Client, Conflict

LEASE = ("coordination.k8s.io/v1", "Lease")


def test_an_event_is_found_by_the_object_it_is_about(client: Client, namespace: str) -> None:
    about = client.create(webapp(namespace))
    client.create(event(namespace, "web.1", reason="Scaled"))
    client.create({**event(namespace, "web.2"), "reason": "Other"})
    found = client.list("v1", "Event", namespace, field_selector="involvedObject.name=web,reason=Scaled")
    assert [one["metadata"]["name"] for one in found] == ["web.1"]
    assert found[0]["involvedObject"]["kind"] == about["kind"] == WEBAPP[1]


def test_an_event_of_the_newer_group_is_the_same_event(client: Client, namespace: str) -> None:
    client.create(
        {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": "web.1", "namespace": namespace},
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingController": "converge.example/contract",
            "reportingInstance": "contract-1",
            "regarding": {"apiVersion": WEBAPP[0], "kind": "WebApp", "name": "web", "namespace": namespace},
            "type": "Warning",
            "reason": "Tested",
            "action": "Testing",
            "note": "said by the contract suite",
        }
    )
    same = client.get("v1", "Event", "web.1", namespace)
    assert (same["involvedObject"]["name"], same["message"]) == ("web", "said by the contract suite")


def test_of_two_that_take_a_lease_one_gets_it(client: Client, namespace: str) -> None:
    spec = {"holderIdentity": "nobody", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}
    lease = {"apiVersion": LEASE[0], "kind": LEASE[1], "metadata": {"name": "leader", "namespace": namespace}}
    seen = client.create({**lease, "spec": spec})
    client.replace({**seen, "spec": {**spec, "holderIdentity": "first"}})
    with pytest.raises(Conflict):
        client.replace({**seen, "spec": {**spec, "holderIdentity": "second"}})
    assert client.get(*LEASE, "leader", namespace)["spec"]["holderIdentity"] == "first"


def test_nodes_renew_their_leases(client: Client) -> None:
    nodes = [node["metadata"]["name"] for node in client.list("v1", "Node")]
    assert nodes
    for name in nodes:
        assert client.get(*LEASE, name, "kube-node-lease")["spec"]["renewTime"]
