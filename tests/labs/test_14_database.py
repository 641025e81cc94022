"""Checks of lab 14, easiest first. Each docstring is the line that the learner reads."""

import json
import random
import uuid

import pytest

from converge.grader import check, eventually, expect, fail
from converge.grader.checks.conditions import condition_in, conditions_in
from converge.grader.checks.databases import (
    all_replaced,
    claims,
    credentials_of,
    hold_rollouts,
    password,
    query,
    servers,
    start_time,
    stateful_set_of,
    statuses_since,
    stored,
    username,
    wrong_children,
)
from converge.grader.checks.waits import quiet
from converge.operators.database import identity
from converge.recorder import reads, requests, writes
from converge.runtime import NotFound
from converge.testing import attacks
from converge.testing.objects.history import History
from converge.testing.waits.deadlines import scaled
from converge.testing.waits.idle import rolled_out

ORPHAN = "The volumes and the password that opens them belong together: both stay, or both go."
FORGOTTEN = (
    "Whose owner reference does each claim carry? A StatefulSet sees to those of Pods that run, and to no others."
)


@pytest.fixture(autouse=True)
def image(operator, namespace):
    """Give the operator the name of this cluster's PostgreSQL image."""
    operator.environment["POSTGRES_IMAGE"] = namespace.images.postgres[0].rpartition(":")[0]


def as_wished(db, *, when, hint, within=10):
    """Wait until nothing is wrong."""
    eventually(
        lambda: wrong_children(db) or "nothing is wrong", "nothing is wrong", within=within, when=when, hint=hint
    )


def made(operator, namespace, **spec):
    """A Database whose children are there; without a server by default, because servers take time."""
    if not operator.running:
        operator.start()
    db = namespace.database(**{"replicas": 0, **spec})
    as_wished(db, when=f"{db} was created", hint="First of all, the children must be there: see what is missing.")
    return db


def state(db):
    """The status of each condition, and of which generation the status speaks."""
    now = db.now()
    newest = now.get("status", {}).get("observedGeneration") == now["metadata"]["generation"]
    return {**conditions_in(now), "of this generation": newest}


def reports(db, *, when, hint, within=10, **conditions):
    """Wait until the status says so, about the Database as it is now."""
    want = {**conditions, "of this generation": True}
    eventually(
        lambda: {key: value for key, value in state(db).items() if key in want},
        want,
        within=within,
        when=when,
        hint=hint,
        seen=lambda: [f"its status:\n{json.dumps(db.status, indent=1)}"],
    )


def serving(operator, namespace, **spec):
    """A Database whose server is there, or several."""
    db = made(operator, namespace, **{"replicas": 1, **spec})
    hint = "Available is True when the StatefulSet's status shows that all servers of this generation are ready."
    reports(db, within=start_time(db), when=f"{db} was created", hint=hint, Available="True", Progressing="False")
    return db


def another_version(namespace):
    return namespace.images.postgres[1].rpartition(":")[2]


@check(points=2, section="order-of-creation", timeout=180)
def test_the_children_appear(operator, namespace):
    """A Database gets its Secret, its Service, its ConfigMap and its StatefulSet, and becomes Available."""
    db = serving(operator, namespace, parameters={"max_connections": "123"})
    other = made(operator, namespace)
    one, two = password(db), password(other)
    if one == two:
        fail(
            when=f"{db} and {other} were created",
            expected="a password for each of them",
            got=f"both have {one!r}",
            hint="Make the password with `secrets`, not from something that anyone can know.",
        )
    expect(
        username(db),
        "postgres",
        when=f"`username` in the Secret of {db} was read",
        hint="A client needs both, and the image gives this name to its first user.",
    )
    expect(
        one in json.dumps(stateful_set_of(db)),
        False,
        expected="the password is not in it",
        when="the StatefulSet was searched for the password",
        hint="Anyone who may read the StatefulSet would know it. The container takes it from the Secret: secretKeyRef.",
    )


@check(points=2, section="a-stable-name")
def test_each_server_has_a_name_of_its_own(operator, namespace):
    """The StatefulSet names its headless Service, which finds the Pods; the endpoint is the name of the first one."""
    db = made(operator, namespace)
    live, service = stateful_set_of(db), namespace.get("Service", db.name)
    expect(
        live["spec"].get("serviceName"),
        db.name,
        when="the StatefulSet's serviceName was read",
        hint="Without it the Pods don't get their own names in DNS, and it can't be added later.",
    )
    labels, wanted = live["spec"]["template"]["metadata"].get("labels", {}), service["spec"].get("selector", {})
    expect(
        bool(wanted) and wanted.items() <= labels.items(),
        True,
        expected="the Pods carry every label that the Service selects",
        when=f"the Service selects {wanted}, the Pods carry {labels}",
        hint="What the Service selects must be on the Pods.",
    )
    first = f"{db.name}-0.{db.name}.{namespace}.svc"
    eventually(
        lambda: str(db.status.get("endpoint", "")).replace(".svc.cluster.local", ".svc"),
        f"{first}:5432",
        when="the status was read",
        hint="endpoint is the name that the first Pod always keeps, and the port: POD.SERVICE.NAMESPACE.svc:5432.",
    )


@check(points=3, section="order-of-creation", timeout=180)
def test_the_spec_reaches_the_children(operator, namespace):
    """Each field of the spec reaches the children, and new parameters reach servers that run already."""
    db = made(operator, namespace, parameters={"work_mem": "4MB"})
    for change in ({"version": another_version(namespace)}, {"replicas": 1}):
        template = namespace.get("StatefulSet", db.name)["spec"]["template"]
        db.edit(**change)
        as_wished(db, when=f"the spec was changed: {change}", hint="Compare every field that you ask for, each time.")
    expect(
        namespace.get("StatefulSet", db.name)["spec"]["template"],
        template,
        when="only the number of servers was changed; the template of their Pods",
        hint="A changed template restarts every server. Compute the checksum in it from the ConfigMap, and from "
        "nothing else.",
    )
    hint = "Available says that the server runs."
    reports(db, within=start_time(db), when="a server was asked for", hint=hint, Available="True")
    before = eventually(lambda: servers(db))
    db.edit(parameters={"work_mem": "64MB"})
    as_wished(db, when="the parameter work_mem was changed", hint="The ConfigMap follows `parameters`.")
    if not eventually(lambda: all_replaced(before, servers(db)), within=start_time(db)):
        fail(
            when="the parameter work_mem was changed from 4MB to 64MB, and the ConfigMap says so",
            expected="a new Pod, which reads it",
            got=f"the earlier Pod: {before}",
            hint="A server reads its parameters when it starts. Put a checksum of them into the Pod's template, so "
            "that new parameters mean a new Pod.",
        )


@check(points=3, section="a-password-made-once", incident="AMRC-FactoryPlus/amrc-connectivity-stack#647")
def test_the_password_is_made_once(operator, namespace):
    """The password stays as it is when the operator is restarted, the Database touched, and its spec changed."""
    db = made(operator, namespace)
    first, before = password(db), stored(credentials_of(db))

    def stays(when):
        quiet(operator)
        if password(db) != first:
            fail(
                when=when,
                expected="the password is the one that was made first",
                got="another one, with which no one gets into the database anymore",
                hint="The server takes the password once, when its files are made. Make one only if there is no "
                "Secret, and never write to one that is there.",
            )

    mark = operator.recorder.mark()
    db.poke()
    eventually(lambda: operator.recorder.since(mark).delivered("Database", name=db.name), within=5)
    stays("the Database was touched")
    template, version = stateful_set_of(db)["spec"]["template"], db.spec["version"]
    operator.restart()
    for each in (another_version(namespace), version):  # so that the template was written after the start, for sure
        db.edit(version=each)
        as_wished(db, when="the version was changed after a restart", hint="On start, look at every Database.")
    expect(
        stateful_set_of(db)["spec"]["template"],
        template,
        when="the operator was started again, the version changed and changed back; the template of the Pods",
        hint="What the template says must follow from the spec and the ConfigMap alone: Python's hash() differs from "
        "process to process, and a new template restarts every server.",
    )
    stays("the operator was started again, and the version was changed")
    expect(
        stored(credentials_of(db)),
        before,
        when="all that was done",
        hint="Nothing about the Secret had to change.",
    )


@check(points=2, section="order-of-creation")
def test_the_secret_comes_first(operator, namespace, recorder):
    """There is no StatefulSet as long as there is no Secret, or no ConfigMap."""
    operator.start()
    for kind, status in (("Secret", 500), ("ConfigMap", 422)):
        mark = recorder.mark()
        refusal = recorder.fail(writes(kind), status=status, times=None)
        db = namespace.database(replicas=0)
        eventually(
            lambda: refusal.fired or stateful_set_of(db),  # noqa: B023 - asked right here
            when=f"{db} was created",
            expected=f"the operator tries to make the {kind}",
            hint="Make first what the others need.",
        )
        quiet(operator)
        if stateful_set_of(db):
            fail(
                when=f"the API server refused the {kind} with status {status}",
                expected=f"no StatefulSet: its Pods could not start without the {kind}",
                got=f"StatefulSet {db.name} is there, the {kind} is not",
                seen=[str(each) for each in recorder.since(mark).writes()[:6]],
                hint=f"Make the {kind} first, and let an error end the pass. The next one starts from the top.",
            )
        refusal.remove()
        hint = "What fails is tried again, whatever the status: after a failure, the pass runs again from the top."
        as_wished(db, when=f"the API server took {kind}s again, after it had answered {status}", hint=hint)


@check(points=3, section="say-what-is-there", incident="cloudnative-pg/cloudnative-pg#11390", timeout=180)
def test_the_status_says_what_is_there(operator, namespace):
    """Available is True only when every server of this generation is ready, after an upgrade as well."""
    operator.start()
    stuck = namespace.database(replicas=1, storage={"size": "1Gi", "class": "no-such-class"})
    hint = "Look at the StatefulSet's status: until its servers are ready, Available is False and Progressing is True."
    reports(stuck, when=f"{stuck} has no volume", hint=hint, Available="False", Progressing="True")
    eventually(lambda: stateful_set_of(stuck)["status"].get("updatedReplicas") == 1, within=start_time(stuck))
    quiet(operator)
    when = f"the server of {stuck} was there and up to date, and had no volume, so it wasn't ready"
    reports(stuck, when=when, hint=hint, Available="False", Progressing="True")
    db = serving(operator, namespace, replicas=2)
    expect(
        db.status.get("readyReplicas"), 2, when="both servers were ready", hint="readyReplicas is the StatefulSet's."
    )
    hold_rollouts(db, 9)
    edited = db.edit(version=another_version(namespace))["metadata"]
    as_wished(db, when="the version was changed", hint="The StatefulSet follows the version.")
    eventually(lambda: caught_up(stateful_set_of(db)), within=start_time(db))
    operator.recorder.wait_quiet(scaled(0.3), deadline=10, ignoring=reads())  # it has seen that, and said so
    want = {"Available": "False", "Progressing": "True", "Degraded": "False", "of this generation": True}
    eventually(
        lambda: want if rolled_out(stateful_set_of(db)) else state(db),
        want,
        when="the version was changed, and all servers of the old version were still there, and ready",
        hint="readyReplicas counts old servers too: see updatedReplicas.",
    )
    hold_rollouts(db, 0)
    for said in statuses_since(db, edited["resourceVersion"]):
        if (
            said.get("observedGeneration") != edited["generation"]
            or condition_in({"status": said}, "Available").get("status") != "True"
        ):
            continue
        live = stateful_set_of(db)  # read after the claim: what is not true now was not true then
        if wrong_children(db) == "" and rolled_out(live):
            return
        fail(
            when=f"the version was changed to {db.spec['version']}",
            expected="Available is not True for the new generation while servers of the old version run",
            got=f"observedGeneration {edited['generation']}, Available True; the StatefulSet's status:\n"
            f"{json.dumps(live.get('status', {}), indent=1)}",
            hint="The numbers in a StatefulSet's status are about the generation in its observedGeneration; "
            "and readyReplicas counts old servers too: see updatedReplicas.",
        )
    reports(db, when="the version was changed", hint=hint, Available="True")


def caught_up(live):
    """Whether the StatefulSet's status is about the StatefulSet as it is now."""
    return live["status"].get("observedGeneration") == live["metadata"]["generation"]


@check(points=2, section="say-what-is-there", incident="OT-CONTAINER-KIT/redis-operator#1321", timeout=180)
def test_at_rest_nothing_is_written(operator, namespace, recorder):
    """At rest nothing is written, however often the Database is touched."""
    db = serving(operator, namespace, storage={"size": "1024Mi"}, parameters={"work_mem": "4MB"})
    hint = "Compare what you own with what you want; the server fills in defaults, and writes 1024Mi as 1Gi."

    def silent(mark, when, ours=lambda write: True):
        operator.settle()
        written = [each for each in recorder.since(mark).writes() if each.resource != "events" and ours(each)]
        expect([str(each) for each in written], [], when=when, hint=hint)

    silent(operator.settle(), "nothing had been touched")
    mark = recorder.mark()
    db.poke()
    eventually(lambda: recorder.since(mark).delivered("Database", name=db.name), within=5)
    # kopf may keep books on the Database itself: how it was when it was last looked at.
    silent(mark, "an annotation was touched", lambda write: write.resource != "databases" or write.subresource)
    reports(db, when="the Database was as it should be", hint=hint, Available="True", Degraded="False")
    history = History(namespace, "Database")
    failure = recorder.fail(requests("Service", name=db.name), status=500)
    db.poke()
    eventually(lambda: failure.fired, within=5)
    operator.settle()
    failure.remove()
    said = {condition_in(each, "Available").get("status") for each in history.versions("Database", db.name)}
    expect(
        said,
        {"True"},
        when="the server was ready, and one request about the Service was answered with 500; what Available said",
        hint="A request that failed says nothing about the servers. Let the error end the pass: it is run again.",
    )


@check(points=3, section="what-cannot-change", incident="dragonflydb/dragonfly-operator#472")
def test_storage_cannot_change_and_the_rest_can(operator, namespace, recorder):
    """A change of storage is refused in the condition Degraded, and every other change is still applied."""
    classed = made(operator, namespace, storage={"size": "2Gi", "class": "fast"})
    db = made(operator, namespace, storage={"size": "2Gi"})
    for each in (classed, db):
        reports(each, when=f"{each} was created", hint="Report all three conditions, always.", Degraded="False")
    classed.edit(storage={"class": None})
    hint = "Without a class the spec asks for the cluster's default one, and the volumes are of another."
    reports(classed, when="storage.class was taken out of the spec", hint=hint, Degraded="True")
    versions = [each.rpartition(":")[2] for each in namespace.images.postgres]
    for words, storage, version in (
        ("storage.size", {"size": "3Gi"}, versions[1]),
        ("storage.class", {"size": "2Gi", "class": "fast"}, versions[0]),
    ):
        db.edit(storage=storage, version=version)
        hint = (
            "The server refuses a StatefulSet with other volumeClaimTemplates as a whole: send it those that are there."
        )
        as_wished(db, when=f"{words} and the version were changed in one edit", hint=hint)
        hint = f"Say in Degraded that {words} cannot change. If you drop a request silently, it looks like a bug."
        reports(db, when=f"{words} was changed", hint=hint, Degraded="True", Available="True", Progressing="False")
        if "storage" not in (message := db.condition("Degraded")["message"]):
            fail(when=f"{words} was changed", expected="a message that names storage", got=repr(message), hint=hint)
    mark = operator.settle()
    operator.settle()
    written = [str(each) for each in recorder.since(mark).writes() if each.resource != "events"]
    hint = "Trying again changes nothing: the answer stays the same until the spec changes."
    expect(written, [], when="the change had been refused, and nothing was touched", hint=hint)
    live = stateful_set_of(db)
    sizes = [each["spec"]["resources"]["requests"]["storage"] for each in live["spec"]["volumeClaimTemplates"]]
    expect(sizes, ["2Gi"], when="the volumeClaimTemplates were read", hint="Never delete a StatefulSet to change it.")
    db.edit(storage={"size": "2048Mi", "class": None})
    hint = "Degraded is about what the spec asks for now. 2048Mi is 2Gi: compare numbers."
    when = "the storage was set back, written as 2048Mi"
    reports(db, when=when, hint=hint, Degraded="False")
    hint = (
        "The generation of a StatefulSet counts its own changes, not those of the Database: compare the "
        "observedGeneration in its status with the generation in its metadata."
    )
    reports(db, when=f"{when}; the StatefulSet did not change", hint=hint, Available="True", Progressing="False")


def a_secret_of_a_stranger(name):
    """A Secret of the name that the one of a Database of this name would have."""
    metadata = {"name": f"{name}-credentials"}
    return {"kind": "Secret", "metadata": metadata, "stringData": {"password": "of a stranger"}}


@check(points=3, section="a-password-made-once", incident="external-secrets/external-secrets#4548")
def test_the_secret_of_a_stranger_is_left_alone(operator, namespace):
    """A Secret, Service or StatefulSet of our name that someone else made is left alone, and Degraded says so."""
    operator.start()
    name, second, third = (namespace.new_name() for _ in range(3))
    labels = {"app": third}
    volume = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}}
    container = {"name": "main", "image": namespace.images.web[0]}
    statefulset = namespace.create(
        {
            "kind": "StatefulSet",
            "metadata": {"name": third},
            "spec": {
                "replicas": 0,
                "serviceName": third,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
                "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": volume}],
            },
        }
    )
    service = {"kind": "Service", "metadata": {"name": second}, "spec": {"ports": [{"port": 80}]}}
    service = namespace.create(service)
    before = namespace.create(a_secret_of_a_stranger(name))
    db = namespace.database(name=name, replicas=0)
    hint = "Without an owner reference to this Database or a label of yours, it was not made by you: say so, and wait."
    blocked, shadowed = namespace.database(name=second, replicas=0), namespace.database(name=third, replicas=0)
    when = f"a Secret {name}-credentials was there before {db}"
    reports(db, when=when, hint=hint, Degraded="True", Available="False")
    said = db.condition("Degraded")["message"]
    expect(
        said if "secret" not in said.lower() else "it names the Secret",
        "it names the Secret",
        when=f"{when}; the message of Degraded",
        hint="Say what's in the way: the user has to know which object to look at.",
    )
    fast = a_secret_of_a_stranger(namespace.new_name())
    race = operator.recorder.meanwhile(writes("Secret", name=fast["metadata"]["name"]), lambda: namespace.create(fast))
    raced = namespace.database(name=fast["metadata"]["name"].removesuffix("-credentials"), replicas=0)
    eventually(
        lambda: race.fired, when=f"{raced} was created", expected="the operator makes its Secret", hint="Create it."
    )
    when = f"a stranger made the Secret of {raced} just before the operator could"
    hint = "A create that's refused because the name is taken says nothing about whose Secret that is: ask, as always."
    reports(raced, when=when, hint=hint, Degraded="True", Available="False")
    quiet(operator)
    expect(
        {"StatefulSets": len(namespace.owned("StatefulSet", raced)), "password": password(raced)},
        {"StatefulSets": 0, "password": fast["stringData"]["password"]},
        when=when,
        hint=hint,
    )
    hint = "Any name can be taken. Then the status is blocked(…), and you look again soon."
    reports(blocked, when=f"a Service {second} was there before {blocked}", hint=hint, Degraded="True")
    when = f"a StatefulSet {third} was there before {shadowed}"
    reports(shadowed, when=when, hint=hint, Degraded="True")
    quiet(operator)
    expect(
        namespace.get("StatefulSet", third)["spec"],
        statefulset["spec"],
        when=f"{when}; its spec",
        hint="It isn't yours, so leave it alone.",
    )
    now = namespace.get("Service", second)["spec"]
    expect(
        now, service["spec"], when="the stranger's Service was read again", hint="It isn't yours, so leave it alone."
    )
    now = stored(credentials_of(db))
    expect(now, stored(before), when="the stranger's Secret was read again", hint="Not even a label: it isn't yours.")
    if failed_passes(operator) > 10:  # of four Databases
        fail(
            when=when,
            expected="a pass that ends well, and one more after a few seconds",
            got="pass after pass fails, each later than the one before",
            hint="After a failure the pause grows and grows. Result(requeue_after=…) looks again within ten seconds.",
        )
    if namespace.get("StatefulSet", name):
        hint = "The person who made it knows the password. Without a Secret of your own, don't make a StatefulSet."
        fail(when="only a stranger's Secret was there", expected="no StatefulSet", got=f"StatefulSet {name}", hint=hint)
    for _ in range(6):  # a pass for each
        mark = operator.recorder.mark()
        db.poke()
        eventually(lambda: operator.recorder.since(mark).reads(name=f"{name}-credentials"), within=1)  # noqa: B023
    namespace.delete("Secret", f"{name}-credentials")
    namespace.delete("Service", second)
    namespace.delete("StatefulSet", third)
    hint = (
        "When an object that is not yours goes, you may get no event, so look again every few seconds, however often "
        "you have looked already."
    )
    within = 4 + 10 / scaled(1)  # a busy machine delays the pass, and not the ten seconds until it looks again
    as_wished(db, within=within, when="the stranger's Secret was deleted", hint=hint)
    reports(db, when="the stranger's Secret was gone", hint="Degraded is about now.", Degraded="False")
    as_wished(blocked, within=within, when="the stranger's Service was deleted", hint=hint)
    as_wished(shadowed, within=within, when="the stranger's StatefulSet was deleted", hint=hint)


@check(points=3, section="say-what-is-there", incident="kubernetes-sigs/kro#323")
def test_what_is_deleted_or_edited_comes_back(operator, namespace):
    """Every child that is deleted is created again, and edits by hand are undone."""
    operator.start()
    dbs = [namespace.database(replicas=0, parameters={"work_mem": "4MB"}) for _ in range(4)]
    for db in dbs:
        as_wished(db, when=f"{db} was created", hint="First of all, the children must be there: see what is missing.")
    container = stateful_set_of(db)["spec"]["template"]["spec"]["containers"][0]["name"]
    other = {"name": container, "image": "registry.example/other:1"}
    drifts = {"image": {"template": {"spec": {"containers": [other]}}}, "replicas": {"replicas": 2}}
    for field, patch in drifts.items():
        namespace.patch("StatefulSet", db.name, {"spec": patch}, type="strategic")
        hint = "Watch StatefulSets as well, and compare every field that you ask for."
        as_wished(db, when=f"{field} of StatefulSet {db.name} was changed by hand", hint=hint)
    operator.settle()  # so that nothing else calls for a pass
    lost = [
        stateful_set_of(dbs[0]),
        namespace.get("Service", dbs[1].name),
        credentials_of(dbs[2]),
        *namespace.owned("ConfigMap", dbs[3]),
    ]
    for child in lost:
        namespace.delete(child["kind"], child["metadata"]["name"])
    for db, child in zip(dbs, lost, strict=True):  # one child of each Database
        kind, name = child["kind"], child["metadata"]["name"]
        as_wished(db, when=f"{kind} {name} was deleted by hand", hint=f"Watch {kind}s too; create again what is gone.")


def processed(db, when):
    """Wait until the operator has seen to the last change."""
    as_wished(db, when=when, hint="replicas follows the spec.")
    hint = "observedGeneration is the generation that was acted upon, whatever was changed in it."
    reports(db, within=start_time(db), when=when, hint=hint, Available="True", Progressing="False")


def failed_passes(operator, since=0):
    """How many passes ended in an exception: only our runtime says so, and under kopf not over which Database."""
    return operator.output[since:].count("failed, will be tried again")


def gone(operator, db, *, when):
    """Delete the Database and wait until it, its StatefulSet, its Service and its Pods are gone."""
    since = len(operator.output)
    db.delete()

    def left():
        kinds = ("Database", "StatefulSet", "Service")
        found = [f"{kind}/{db.name}" for kind in kinds if db.namespace.get(kind, db.name)]
        return ", ".join(found + [f"Pod/{name}" for name in servers(db)]) or "nothing"

    hint = "Children that name the Database as their controller go with it; and nothing holds up the Database itself."
    eventually(left, "nothing", within=start_time(db), when=when, hint=hint)
    if operator.running:
        quiet(operator)
    if failed_passes(operator, since) > 3:  # one or two may find that something has just gone
        fail(
            when=when,
            expected="a Database that is gone is left alone",
            got="pass after pass over it fails",
            hint="It may be gone by the time you get its name: NotFound means that there's nothing to do.",
        )


def stays(history, claim):
    """Whether a claim is there for good. One that is to go with its Pod names it as its owner first, for a moment."""
    try:
        versions = history.versions("PersistentVolumeClaim", claim)
    except NotFound:
        return False
    return not any(owner["kind"] == "Pod" for each in versions for owner in each["metadata"].get("ownerReferences", []))


def retains(live):
    """Whether the StatefulSet's own controller has seen that the claims stay."""
    policy = live["spec"].get("persistentVolumeClaimRetentionPolicy", {})
    return policy.get("whenDeleted", "Retain") == "Retain" and caught_up(live)


@check(points=3, section="what-outlives-a-database", timeout=180)
def test_retain_keeps_the_volumes_and_the_password(operator, namespace, recorder):
    """With Retain the volumes and the password outlive the Database, and a new one of that name uses them again."""
    db = serving(operator, namespace, replicas=2, deletionPolicy="Delete")
    volumes, secret = claims(db), password(db)
    history = History(namespace, "PersistentVolumeClaim")
    db.edit(replicas=1)
    processed(db, "a server was scaled away")
    operator.settle(start_time(db))
    eventually(lambda: len(servers(db)) == 1, within=start_time(db))
    expect(
        [name for name in claims(db) if stays(history, name)],
        volumes,
        when="a server was scaled away, with deletionPolicy Delete; the claims that stay",
        hint="deletionPolicy is about the deletion of the Database. What is scaled away may come back: keep it.",
    )
    owner = a_config_map(namespace)
    references = namespace.get("PersistentVolumeClaim", volumes[-1])["metadata"].get("ownerReferences", [])
    body = {"metadata": {"ownerReferences": [*references, owner]}}
    namespace.patch("PersistentVolumeClaim", volumes[-1], body)
    late = a_config_map(namespace)
    more = {"metadata": {"ownerReferences": [*references, owner, late]}}
    recorder.fail(requests("PersistentVolumeClaim"), status=500)
    race = recorder.meanwhile(
        writes("PersistentVolumeClaim", name=volumes[-1]),
        lambda: namespace.patch("PersistentVolumeClaim", volumes[-1], more),
    )
    conflicts = recorder.fail(
        writes("PersistentVolumeClaim", name=volumes[-1]), status=409, reason="Conflict", nth=2, times=None
    )
    db.edit(deletionPolicy="Retain", storage={"size": "99Gi"})
    when = (
        "deletionPolicy was set to Retain, in the same edit storage was changed, which cannot be granted, the first "
        "request for the claims was answered with 500, another owner was added just before the first write of one, "
        "and the writes after that one were answered with 409 for a while"
    )
    # Until nothing happens anymore that could call for another pass, other than the failure itself.
    eventually(lambda: conflicts.fired and retains(stateful_set_of(db)), within=5)
    recorder.wait_quiet(scaled(1), deadline=scaled(3))
    conflicts.remove()
    processed(db, when)

    def owners_of_last():
        now = namespace.get("PersistentVolumeClaim", volumes[-1])["metadata"].get("ownerReferences", [])
        return sorted(each["kind"] for each in now)

    eventually(
        lambda: owners_of_last() == ["ConfigMap"] * (2 if race.fired else 1),  # some answers write it after the report
        within=max(start_time(db), 15),
        when=f"{when}; the owners of the claim of the server that was scaled away, to which a ConfigMap had been added",
        expected="ConfigMaps, and no Database",
        seen=lambda: f"its owners: {', '.join(owners_of_last()) or 'none'}",
        hint=f"{FORGOTTEN} Remove that reference, whatever else was refused and however often, and leave the other "
        "owners: send the resourceVersion that you read. A Conflict has to end the pass, like any other failure: no "
        "event of a claim will bring you back.",
    )
    operator.settle(start_time(db))
    gone(operator, db, when="deletionPolicy was set to Retain, then the Database was deleted")
    going = [
        each["metadata"]["name"]
        for each in namespace.list("PersistentVolumeClaim")
        if each["metadata"]["name"] in volumes and "deletionTimestamp" not in each["metadata"]
    ]
    when = "a Database with Retain was deleted, of whose 2 servers 1 had been scaled away"
    expect(sorted(going), volumes, when=when, hint=FORGOTTEN)
    expect(password(db), secret, when="a Database with Retain was deleted", hint=ORPHAN)
    again = made(operator, namespace, name=db.name)
    expect(password(again), secret, when=f"{db} was created again", hint=ORPHAN)


@check(
    points=3,
    section="what-outlives-a-database",
    incident="infinispan/infinispan-operator#315",
    timeout=180,
    long=True,
)
def test_delete_leaves_nothing(operator, namespace, recorder):
    """With Delete the volumes and the password go with the Database, even if the operator was down in the meantime."""
    going = namespace.new_name()
    metadata = {"name": going, "finalizers": ["backup.example/wait-for-me"]}
    namespace.create({"kind": "Database", "metadata": metadata, "spec": namespace.random_database()})
    namespace.delete("Database", going)
    db = serving(operator, namespace, replicas=3, deletionPolicy="Retain")
    made_for = [kind for kind in ("StatefulSet", "Service") if namespace.get(kind, going)]
    expect(
        made_for,
        [],
        when="a Database was being deleted when the operator was started; its children",
        hint="Look at deletionTimestamp: for a Database that is being deleted, create nothing.",
    )
    namespace.patch("Database", going, {"metadata": {"finalizers": None}})
    db.edit(replicas=1)
    processed(db, "two servers were scaled away")
    others = [a_config_map(namespace) for _ in range(2)]
    namespace.patch("PersistentVolumeClaim", last := claims(db)[-1], {"metadata": {"ownerReferences": others}})
    db.edit(deletionPolicy="Delete")
    processed(db, "deletionPolicy was set to Delete")
    operator.settle(start_time(db))
    now = namespace.get("PersistentVolumeClaim", last)["metadata"].get("ownerReferences", [])
    expect(
        sorted(each["name"] for each in now if each["kind"] == "ConfigMap"),
        sorted(each["name"] for each in others),
        when="two servers were scaled away, two ConfigMaps were made owners of the last claim, and deletionPolicy was "
        "set to Delete; the ConfigMaps that own that claim",
        hint="Add your own owner reference, and leave the others.",
    )
    for each in others:
        namespace.delete("ConfigMap", each["name"])
    mark = operator.settle(start_time(db))
    db.poke()
    eventually(lambda: recorder.since(mark).delivered("Database", name=db.name), within=5)
    operator.settle()
    written = [each for kind in ("PersistentVolumeClaim", "Secret") for each in recorder.since(mark).writes(kind)]
    expect(
        [str(each) for each in written],
        [],
        when="two servers had been scaled away, deletionPolicy was Delete, and the Database was touched; writes of its "
        "claims and its Secret",
        hint="Write the owners of a claim or a Secret only if they differ.",
    )
    operator.stop()
    db.delete()
    operator.start()
    gone(operator, db, when="the Database was deleted while the operator was down, then it was started")
    when = "a Database with Delete was deleted, of whose 3 servers 2 had been scaled away"
    eventually(lambda: claims(db), [], within=start_time(db), when=when, hint=FORGOTTEN)
    eventually(lambda: stored(credentials_of(db)), None, when="a Database with Delete was deleted", hint=ORPHAN)
    recorder.kill_after(writes("Secret"), kill=operator.crash)
    brief = namespace.database(replicas=0, deletionPolicy="Delete")
    when = "the operator was killed right after it made the Secret of a Database with Delete"
    eventually(lambda: not operator.running, when=when, expected="a write of the Secret", hint="Make it first.")
    brief.delete()
    operator.start()
    hint = "It had no owner yet. Create the Secret in one write, with its password and its owner."
    eventually(lambda: stored(credentials_of(brief)), None, when=f"{when}, and the Database was deleted", hint=hint)


def first_password_or_wrong():
    """A question about a Database: is its password the one that it had first, and what of its children is wrong?"""
    passwords = {}

    def complaint(db):
        now = password(db)
        if " " not in now and passwords.setdefault((db.namespace.name, db.name), now) != now:
            return "the password isn't the first one anymore"
        return wrong_children(db)

    return complaint


@check(points=4, section="order-of-creation", incident="rabbitmq/cluster-operator#782", timeout=120)
def test_a_crash_at_any_write_is_survived(operator, namespace):
    """Whichever write the operator dies after, everything is there in the end, with the first password."""

    def make():
        return namespace.database(replicas=0, parameters={"work_mem": "4MB"})

    attacks.crash_after_every_write(operator, make=make, wrong=first_password_or_wrong(), most=5)


@check(points=3, section="order-of-creation", timeout=120)
def test_any_request_may_fail(operator, namespace):
    """Whichever request to the API server fails, everything is there in the end, with the first password."""
    attacks.fault_at_every_request(
        operator,
        make=lambda name=None, **spec: namespace.database(name, **{"replicas": 0, **spec}),
        wrong=first_password_or_wrong(),
        children=("StatefulSet", "Service"),
        modes=["500"],
    )


def wrong_size(db):
    """What is wrong with the size of the volumes, in words."""
    templates = stateful_set_of(db)["spec"]["volumeClaimTemplates"]
    sizes = [each["spec"]["resources"]["requests"]["storage"] for each in templates]
    return "" if db.spec["storage"]["size"] in sizes else f"the StatefulSet asks for volumes of {', '.join(sizes)}"


@check(points=2, section="a-stable-name", timeout=60)
def test_a_namesake_is_another_database(operator, other_namespace):
    """Two Databases with the same name have their own children in two namespaces; one goes, the other stays."""
    children_or_password, sizes = first_password_or_wrong(), iter(("1Gi", "2Gi"))

    def make(namespace, name):
        return namespace.database(name, replicas=0, storage={"size": next(sizes)}, parameters={"work_mem": "4MB"})

    def wrong(db):
        return children_or_password(db) or wrong_size(db)

    attacks.namesakes_are_independent(
        operator,
        make=make,
        wrong=wrong,
        children=("StatefulSet", "Service"),
        edit=lambda db: db.edit(version=another_version(db.namespace)),
        deletion=True,
    )


def a_config_map(namespace):
    """A reference to a new ConfigMap, which has nothing to do with any Database."""
    name = namespace.new_name()
    made = namespace.create({"kind": "ConfigMap", "metadata": {"name": name}})
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": made["metadata"]["uid"]}


def labelled_secret(namespace, name, owner):
    """A Secret with the operator's labels for a Database of that name, controlled by something else."""
    metadata = identity({"metadata": {"name": name, "namespace": str(namespace)}}, "-credentials")
    metadata |= {"ownerReferences": [{**owner, "controller": True}], "finalizers": ["backup.example/wait-for-me"]}
    namespace.create({"kind": "Secret", "metadata": metadata, "stringData": {"password": "of a stranger"}})


@check(points=2, section="a-password-made-once", timeout=60)
def test_other_owners_of_a_secret_count(operator, namespace, recorder):
    """A Secret that another object controls isn't ours, whatever its labels; other owners of ours stay."""
    operator.start()
    name, again = namespace.new_name(), namespace.new_name()
    past = {"apiVersion": "converge.example/v1", "kind": "Database", "name": again, "uid": str(uuid.uuid4())}
    controllers = {
        name: ("a ConfigMap", a_config_map(namespace)),
        again: ("an earlier Database of that name", past),
    }
    ours = made(operator, namespace, deletionPolicy="Delete")
    for each, (_, owner) in controllers.items():
        labelled_secret(namespace, each, owner)
        namespace.database(name=each, replicas=0, deletionPolicy="Delete")
    hint = (
        "Labels do not outrank a controller, and the uid says which object that is. If another object controls the "
        "Secret, it isn't yours."
    )
    for each, (words, owner) in controllers.items():
        when = f"the Secret {each}-credentials, with the operator's labels, was there first, and {words} controls it"

        def found(each=each):
            now = namespace.get("Database", each)
            owners = namespace.get("Secret", f"{each}-credentials")["metadata"].get("ownerReferences", [])
            return {"Degraded": conditions_in(now)["Degraded"], "its owners": [one["uid"] for one in owners]}

        eventually(found, {"Degraded": "True", "its owners": [owner["uid"]]}, when=when, hint=hint)
        namespace.delete("Database", each)
        namespace.patch("Secret", f"{each}-credentials", {"metadata": {"finalizers": None}})
    secret = credentials_of(ours)["metadata"]
    first, late = a_config_map(namespace), a_config_map(namespace)
    owners = [*secret.get("ownerReferences", []), first]
    namespace.patch("Secret", secret["name"], {"metadata": {"ownerReferences": owners}})
    operator.settle()
    body = {"metadata": {"ownerReferences": [*owners, late]}}
    race = recorder.meanwhile(
        writes("Secret", name=secret["name"]), lambda: namespace.patch("Secret", secret["name"], body)
    )
    ours.edit(deletionPolicy="Retain")
    reports(ours, when="deletionPolicy was changed from Delete to Retain", hint="", Available="True")
    race.remove()
    want = {first["name"], *([late["name"]] if race.fired else [])}  # one that owns no Secret has nothing to write
    eventually(
        lambda: {each["name"] for each in credentials_of(ours)["metadata"].get("ownerReferences", [])},
        want,
        when="a ConfigMap was among the owners of the Secret; then deletionPolicy was changed from Delete to Retain, "
        "and between your read and your write of the owners another ConfigMap was added",
        hint="Add or remove your own owner reference, and leave all others: send the resourceVersion that you read.",
    )
    ours.edit(deletionPolicy="Delete")
    reports(ours, when="deletionPolicy was changed back to Delete", hint="", Available="True")
    if not any(each.get("controller") for each in credentials_of(ours)["metadata"].get("ownerReferences", [])):
        return  # it knows its Secret by the labels alone
    labels = dict.fromkeys(secret["labels"])
    namespace.patch("Secret", secret["name"], {"metadata": {"labels": labels}})
    ours.edit(version=another_version(namespace))
    when = "the labels of the Secret were removed by hand; its controller is still the Database"
    as_wished(ours, when=when, hint="A Secret is yours if it has your labels, or if this Database is its controller.")


@check(points=3, section="what-outlives-a-database", timeout=180)
def test_a_similar_name_is_another_database(operator, namespace):
    """A Database keeps its volumes when another one goes whose name is a prefix of its own."""
    short = namespace.new_name()
    db = serving(operator, namespace, name=f"{short}-eu", deletionPolicy="Retain")
    volumes = claims(db)
    other = made(operator, namespace, name=short, deletionPolicy="Delete")  # no server: every claim is scaled away
    reports(other, when=f"{other} was created", hint="Report all three conditions.", Available="True")
    operator.settle(start_time(db))
    gone(operator, other, when=f"{other} was deleted")
    now = {each["metadata"]["name"]: each["metadata"] for each in namespace.list("PersistentVolumeClaim")}
    expect(
        {name: "going" if "deletionTimestamp" in now[name] else "there" for name in volumes if name in now},
        dict.fromkeys(volumes, "there"),
        when=f"{other}, which has no server, was created and deleted next to {db}: the volumes of {db}",
        hint="data-shop-eu-0 is not a claim of shop. A claim's labels say whose it is.",
    )
    owners = [each["name"] for name in volumes for each in now[name].get("ownerReferences", [])]
    expect(owners, [], when=f"the owners of the volumes of {db}, which has Retain", hint=FORGOTTEN)


@check(points=3, section="what-outlives-a-database", kubelet=True, timeout=300)
def test_rows_outlive_their_pod(operator, namespace):
    """A row that was written is still there after the Pod was killed and the server started again."""
    db = serving(operator, namespace)
    before = servers(db)
    number = random.randint(1, 10**6)
    query(db, "create table kept (number int)", f"insert into kept values ({number})")
    namespace.delete("Pod", f"{db.name}-0")
    eventually(lambda: all_replaced(before, servers(db)), within=60)
    eventually(lambda: rolled_out(stateful_set_of(db)), within=90)
    expect(
        query(db, "select number from kept"),
        str(number),
        when=f"a row was written, Pod {db.name}-0 was deleted, and its successor was asked",
        hint="PGDATA must be on the volume of the claim, not in the container.",
    )
