"""Leader election on a real Lease: one acts, and another takes over when it should, and not before."""

import threading
import time

import pytest
from runtime_world import WEBAPP, web_app

from converge.grader import eventually
from converge.recorder import requests, watches
from converge.runtime import Client, LeaderElection, Manager

LEASE = ("coordination.k8s.io/v1", "Lease")
QUICK = {"lease_duration": 2.0, "renew_deadline": 1.2, "retry_period": 0.2}


@pytest.fixture
def elect(client, namespace):
    """Take part in an election; all of them leave at the end."""
    made = []

    def make(identity, client=client, **options):
        election = LeaderElection(client, "lock", namespace, identity=identity, **{**QUICK, **options})
        election.lost = threading.Event()
        election.start(lambda problem: election.lost.set())
        made.append(election)
        return election

    yield make
    for election in made:
        election.stop()


def holder(admin, namespace):
    return admin.get(*LEASE, "lock", namespace)["spec"]["holderIdentity"]


def test_one_leads_and_the_other_waits(elect, admin, namespace):
    first = elect("first")
    assert first.wait(10)
    second = elect("second")
    assert not second.wait(1.0)
    assert (first.is_leader(), second.is_leader()) == (True, False)
    spec = admin.get(*LEASE, "lock", namespace)["spec"]
    assert spec["holderIdentity"] == "first"
    assert spec["leaseDurationSeconds"] == 2


def test_the_lease_is_handed_over_at_once_when_the_leader_stops(elect, admin, namespace):
    slow = {"lease_duration": 60.0, "renew_deadline": 40.0, "retry_period": 20.0}
    first = elect("first", **slow)
    assert first.wait(10)
    second = elect("second", **slow)
    assert eventually(lambda: second._watch, within=10)
    started = time.monotonic()
    first.stop()
    assert not first.is_leader()
    assert second.wait(10)
    assert time.monotonic() - started < 5, "long before the lease would have run out, or the next attempt"
    assert holder(admin, namespace) == "second"


def test_a_leader_that_dies_is_succeeded_when_its_lease_has_run_out(elect, admin, namespace):
    first = elect("first")
    assert first.wait(10)
    second = elect("second")
    renewed = first._act_until - QUICK["renew_deadline"]
    first._stopping.set()  # as if killed: it gives nothing back
    assert second.wait(10)
    assert time.monotonic() - renewed >= 2.0, "not before the lease has run out"
    assert admin.get(*LEASE, "lock", namespace)["spec"]["leaseTransitions"] == 1
    first._act_until = float("-inf")


def test_a_leader_that_cannot_renew_stops_before_another_begins(elect, recorder, admin, kubeconfig, namespace):
    first = elect("first", client=Client(kubeconfig=kubeconfig))
    assert first.wait(10)
    second = elect("second", client=admin)  # not through the recorder
    recorder.fail(requests("Lease"), status=503, times=None)
    both = []

    def succeeded():
        both.append(
            second.is_leader() and first.is_leader()
        )  # asked in this order: who has begun, then who has not ended
        return second.is_leader()

    assert eventually(succeeded, within=20)
    assert not first.is_leader()
    assert not any(both)
    assert first.lost.wait(5)
    assert holder(admin, namespace) == "second"


def test_a_server_that_hangs_makes_no_leader_for_life(elect, recorder):
    election = elect("first")
    assert election.wait(10)
    recorder.hang(requests("Lease"), times=None)
    assert eventually(lambda: not election.is_leader(), within=10)
    assert election.lost.wait(10)


def test_of_many_that_try_at_once_one_leads(elect, admin, namespace):
    elections = [elect(f"replica-{number}") for number in range(6)]
    assert eventually(lambda: any(one.is_leader() for one in elections), within=10)
    leading, renewals = set(), set()

    def renewed_three_times():
        leading.add(sum(one.is_leader() for one in elections))
        renewals.add(admin.get(*LEASE, "lock", namespace)["spec"]["renewTime"])
        return len(renewals) > 3

    assert eventually(renewed_three_times, within=20), renewals
    assert leading == {1}


def test_who_may_not_watch_leases_takes_part_all_the_same(elect, recorder):
    recorder.fail(watches("Lease"), status=403, times=None)
    first = elect("first")
    assert first.wait(10)
    second = elect("second")
    first.stop()
    assert second.wait(10)


def test_a_lease_that_is_deleted_is_made_again(elect, admin, namespace):
    election = elect("first")
    assert election.wait(10)
    admin.delete(*LEASE, "lock", namespace)
    assert eventually(lambda: admin.list(*LEASE, namespace), within=10)
    assert election.is_leader()


def test_times_that_make_no_sense_are_refused(client):
    with pytest.raises(ValueError, match="lease_duration > renew_deadline > retry_period"):
        LeaderElection(client, "lock", "default", lease_duration=5, renew_deadline=10)


def test_two_managers_never_act_at_once(admin, kubeconfig, namespace):
    """Each writes down who acts on what; the second begins only when the first has ended."""
    diary = []

    class Diary:
        def __init__(self, name):
            self.name = name

        def reconcile(self, request):
            diary.append((self.name, request.name))

    def manager(name):
        client = Client(kubeconfig=kubeconfig)
        election = LeaderElection(client, "lock", namespace, identity=name, **QUICK)
        manager = Manager(client, namespace=namespace, leader_election=election)
        manager.controller(Diary(name)).for_(*WEBAPP)
        threading.Thread(target=manager.start, daemon=True).start()
        return manager

    admin.create(web_app("a", namespace))
    first = manager("first")
    assert eventually(lambda: diary, within=20)
    second = manager("second")
    assert eventually(lambda: second._ready, within=20)
    admin.create(web_app("b", namespace))
    assert eventually(lambda: ("first", "b") in diary, within=20)
    assert {name for name, _ in diary} == {"first"}
    first.stop()
    assert eventually(lambda: ("second", "b") in diary, within=20)
    boundary = next(index for index, (name, _) in enumerate(diary) if name == "second")
    assert {name for name, _ in diary[boundary:]} == {"second"}
    second.stop()
