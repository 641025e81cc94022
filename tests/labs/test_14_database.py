"""Checks of lab 14, easiest first. Each docstring is the line that the learner reads."""

import base64
import json
import random
import subprocess

import pytest

from converge.grader import attacks, check, eventually, expect, fail
from converge.grader.kinds import typed
from converge.grader.patience import patience
from converge.grader.recorder import reads, writes
from converge.grader.rest import rolled_out

ORPHAN = "The volumes and the password that opens them belong together: both stay, or both go."
FORGOTTEN = "Whose owner reference does each claim carry? A StatefulSet sees to those of Pods that run, and no others."


@pytest.fixture(autouse=True)
def image(operator, namespace):
    """Tell the operator where this cluster's PostgreSQL comes from."""
    operator.environment["POSTGRES_IMAGE"] = namespace.images.postgres[0].rpartition(":")[0]


# What is there.


def patient(namespace):
    """Seconds in which a server starts: a real one needs more than one that is only a name."""
    return 90 if namespace.cluster.pods_are_real else 10


def password(namespace, db):
    """The password in the Secret of the Database, or a word for why there is none."""
    secret = namespace.get("Secret", f"{db.name}-credentials")
    if secret is None:
        return f"there is no Secret {db.name}-credentials"
    return base64.b64decode(secret.get("data", {}).get("password", "")).decode() or "it has no password"


def stored(namespace, db):
    """The Secret as it is stored: who it is, what it says, whose it is."""
    secret = namespace.get("Secret", f"{db.name}-credentials")
    metadata = {key: value for key, value in secret["metadata"].items() if key != "managedFields"} if secret else None
    return secret and {"metadata": metadata, "data": secret.get("data")}


def claims(namespace, db):
    """The names of the claims of this Database's servers, which carry its name and a number."""
    names = [each["metadata"]["name"] for each in namespace.list("PersistentVolumeClaim")]
    return sorted(name for name in names if name.rpartition("-")[0].endswith(f"-{db.name}"))


def servers(namespace, db):
    """The uids of the Pods of this Database, by name."""
    found = {each["metadata"]["name"]: each["metadata"]["uid"] for each in namespace.list("Pod")}
    return {name: uid for name, uid in found.items() if name.rpartition("-")[0] == db.name}


def configured(namespace, db):
    """All that the ConfigMaps of this Database say."""
    return "\n".join(text for each in namespace.owned("ConfigMap", db) for text in each.get("data", {}).values())


def wrong(db):
    """What of the Database's children is not as its spec says, in words."""
    namespace, spec = db.namespace, db.spec
    found = (
        [] if len(password(namespace, db)) >= 12 and " " not in password(namespace, db) else ["there is no password"]
    )
    live, service = namespace.get("StatefulSet", db.name), namespace.get("Service", db.name)
    for kind, child in (("StatefulSet", live), ("Service", service)):
        if child is None:
            found.append(f"there is no {kind} {db.name}")
        elif child not in namespace.owned(kind, db):
            found.append(f"{kind} {db.name} does not name the Database as its controller")
    for name, value in spec.get("parameters", {}).items():
        if not any(name in line and value in line for line in configured(namespace, db).splitlines()):
            found.append(f"no ConfigMap of the Database says {name} = {value}")
    if service and service["spec"].get("clusterIP") != "None":
        found.append(f"Service {db.name} is not headless: its clusterIP is {service['spec'].get('clusterIP')}")
    return "\n".join(found + (unlike(live, db) if live else []))


def unlike(live, db):
    """What of the StatefulSet is not as the Database's spec says."""
    spec, pod = live["spec"], live["spec"]["template"]["spec"]
    image = db.namespace.images.postgres[0].rpartition(":")[0] + f":{db.spec['version']}"
    images = [each["image"] for each in pod["containers"]]
    return [
        words
        for words, right in (
            (f"the StatefulSet has {spec['replicas']} replicas, not {db.spec['replicas']}", replicas_right(live, db)),
            (f"no container of the StatefulSet runs {image}, but {', '.join(images)}", image in images),
            (f"the Pods do not use the Secret {db.name}-credentials", f"{db.name}-credentials" in json.dumps(pod)),
            ("no container has a readinessProbe", any("readinessProbe" in each for each in pod["containers"])),
            ("the StatefulSet has no volumeClaimTemplates", bool(spec.get("volumeClaimTemplates"))),
        )
        if not right
    ]


def replicas_right(live, db):
    return live["spec"]["replicas"] == db.spec["replicas"]


# What is done.


def as_wished(db, *, when, hint):
    """Wait until nothing is wrong."""
    eventually(lambda: wrong(db) or "nothing is wrong", "nothing is wrong", when=when, hint=hint)


def made(operator, namespace, **spec):
    """A Database whose children are there; without a server, if nothing else is said, because servers take time."""
    if not operator.running:
        operator.start()
    db = namespace.database(**{"replicas": 0, **spec})
    as_wished(
        db, when=f"{db} was created", hint="First of all, the children must be there: see what is said to be wrong."
    )
    return db


def state(db):
    """The status of each condition, and of which generation the status speaks."""
    status = db.status
    said = {each["type"]: each["status"] for each in status.get("conditions", [])}
    news = status.get("observedGeneration") == db.now()["metadata"]["generation"]
    return {type: said.get(type) for type in ("Available", "Progressing", "Degraded")} | {"of this generation": news}


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
    reports(db, within=patient(namespace), when=f"{db} was created", hint=hint, Available="True", Progressing="False")
    return db


def quiet(operator):
    """Wait until it has stopped writing, for a moment at least."""
    operator.recorder.wait_quiet(0.3, deadline=5, ignoring=reads())


def another_version(namespace):
    return namespace.images.postgres[1].rpartition(":")[2]


@check(points=2, section="order-of-creation", timeout=180)
def test_the_children_appear(operator, namespace):
    """A Database gets its Secret, its Service, its ConfigMap and its StatefulSet, and becomes Available."""
    db = serving(operator, namespace, parameters={"max_connections": "123"})
    other = made(operator, namespace)
    one, two = password(namespace, db), password(namespace, other)
    if one == two:
        fail(
            when=f"{db} and {other} were created",
            expected="a password for each of them",
            got=f"both have {one!r}",
            hint="Make the password with `secrets`, not from something that anybody can know.",
        )
    expect(
        one in json.dumps(namespace.get("StatefulSet", db.name)),
        False,
        when="the StatefulSet was searched for the password",
        hint="Whoever may read the StatefulSet would know it. The container takes it from the Secret: secretKeyRef.",
    )


@check(points=2, section="a-stable-name")
def test_each_server_has_a_name_of_its_own(operator, namespace):
    """The StatefulSet names its headless Service, which finds the Pods; the endpoint is the name of the first one."""
    db = made(operator, namespace)
    live, service = namespace.get("StatefulSet", db.name), namespace.get("Service", db.name)
    expect(
        live["spec"].get("serviceName"),
        db.name,
        when="the StatefulSet's serviceName was read",
        hint="Only with it do the Pods get names of their own in DNS. It cannot be added later.",
    )
    labels, wanted = live["spec"]["template"]["metadata"].get("labels", {}), service["spec"].get("selector", {})
    expect(
        bool(wanted) and wanted.items() <= labels.items(),
        True,
        when=f"the Service selects {wanted}, the Pods carry {labels}",
        hint="What the Service selects must be on the Pods.",
    )
    first = f"{db.name}-0.{db.name}.{namespace}.svc"
    eventually(
        lambda: str(db.status.get("endpoint", "")).replace(".svc.cluster.local", ".svc"),
        f"{first}:5432",
        when="the status was read",
        hint="endpoint is the name that the first Pod keeps for ever, and the port: POD.SERVICE.NAMESPACE.svc:5432.",
    )


@check(points=3, section="order-of-creation", timeout=180)
def test_the_spec_reaches_the_children(operator, namespace):
    """Each field of the spec reaches the children, and new parameters reach servers that run already."""
    db = made(operator, namespace, parameters={"work_mem": "4MB"})
    for change in ({"version": another_version(namespace)}, {"replicas": 1}):
        db.edit(**change)
        as_wished(db, when=f"the spec was changed: {change}", hint="Compare every field that you ask for, each time.")
    hint = "Available says that the server runs."
    reports(db, within=patient(namespace), when="a server was asked for", hint=hint, Available="True")
    before = eventually(lambda: servers(namespace, db))
    db.edit(parameters={"work_mem": "64MB"})
    as_wished(db, when="the parameter work_mem was changed", hint="The ConfigMap follows `parameters`.")
    if not eventually(lambda: differ(before, servers(namespace, db)), within=patient(namespace)):
        fail(
            when="the parameter work_mem was changed from 4MB to 64MB, and the ConfigMap says so",
            expected="a new Pod, which reads it",
            got=f"the Pod of before: {before}",
            hint="A server reads its parameters when it starts. Put a checksum of them into the Pod's template, "
            "so that other parameters are another Pod.",
        )


def differ(before, now):
    """Whether the same Pods are there again, each another one than before."""
    return before.keys() == now.keys() and not set(before.values()) & set(now.values())


@check(points=3, section="a-password-made-once", incident="AMRC-FactoryPlus/amrc-connectivity-stack#647")
def test_the_password_is_made_once(operator, namespace):
    """The password stays as it is when the operator is restarted, the Database touched, and its spec changed."""
    db = made(operator, namespace)
    first, before = password(namespace, db), stored(namespace, db)

    def stays(when):
        quiet(operator)
        if password(namespace, db) != first:
            fail(
                when=when,
                expected="the password is the one that was made first",
                got="another one, with which nobody gets into the database any more",
                hint="The server takes the password once, when its files are made. Make one only if there is no "
                "Secret, and never write to one that is there.",
            )

    mark = operator.recorder.mark()
    db.poke()
    eventually(lambda: operator.recorder.since(mark).delivered("Database", name=db.name), within=5)
    stays("the Database was touched")
    template = namespace.get("StatefulSet", db.name)["spec"]["template"]
    mark = operator.recorder.mark()
    operator.restart()
    eventually(lambda: operator.recorder.since(mark).reads("StatefulSet"), within=5)
    quiet(operator)
    expect(
        namespace.get("StatefulSet", db.name)["spec"]["template"],
        template,
        when="the operator was started again, and nothing else happened; the template of its Pods",
        hint="What the template says must follow from the spec and the ConfigMap alone: Python's hash() is another in "
        "every process, and a new template restarts every server.",
    )
    db.edit(version=another_version(namespace))
    as_wished(db, when="the version was changed after a restart", hint="On start, look at every Database.")
    stays("the operator was started again, and the version was changed")
    expect(
        stored(namespace, db),
        before,
        when="all that was done",
        hint="Nothing about the Secret had to change.",
    )


@check(points=2, section="order-of-creation")
def test_the_secret_comes_first(operator, namespace, recorder):
    """There is no StatefulSet as long as there is no Secret."""
    operator.start()
    refusal = recorder.fail(writes("Secret"), status=500, times=None)
    db = namespace.database(replicas=0)
    eventually(
        lambda: bool(recorder.writes("Secret")) or bool(namespace.get("StatefulSet", db.name)),
        when=f"{db} was created",
        expected="the operator tries to make the Secret",
        hint="The first thing to make is what the others need.",
    )
    quiet(operator)
    if namespace.get("StatefulSet", db.name):
        fail(
            when="the API server refused the Secret with status 500",
            expected="no StatefulSet: its Pods could not start without the password",
            got=f"StatefulSet {db.name} is there, Secret {db.name}-credentials is not",
            hint="Make the Secret first, and let an error end the pass: the next one begins at the beginning.",
        )
    refusal.remove()
    as_wished(db, when="the API server took Secrets again", hint="What has failed is tried again, from the beginning.")


@check(points=3, section="say-what-is-there", incident="cloudnative-pg/cloudnative-pg#11390", timeout=180)
def test_the_status_says_what_is_there(operator, namespace):
    """Available is True only when every server of this generation is ready, after an upgrade as well."""
    operator.start()
    stuck = namespace.database(replicas=1, storage={"size": "1Gi", "class": "no-such-class"})
    hint = "Look at the StatefulSet's status: until its servers are ready, Available is False and Progressing is True."
    reports(stuck, when=f"{stuck} has no volume", hint=hint, Available="False", Progressing="True")
    db = serving(operator, namespace, replicas=2)
    expect(
        db.status.get("readyReplicas"), 2, when="both servers were ready", hint="readyReplicas is the StatefulSet's."
    )
    hold_rollouts(namespace, db, 9)
    edited = db.edit(version=another_version(namespace))["metadata"]
    as_wished(db, when="the version was changed", hint="The StatefulSet follows the version.")
    eventually(lambda: caught_up(namespace.get("StatefulSet", db.name)), within=patient(namespace))
    operator.recorder.wait_quiet(patience(0.3), deadline=10, ignoring=reads())  # it has seen that, and said so
    want = {"Available": "False", "Progressing": "True", "Degraded": "False", "of this generation": True}
    eventually(
        lambda: want if rolled_out(namespace.get("StatefulSet", db.name)) else state(db),
        want,
        when="the version was changed, and all servers of the old version were still there, and ready",
        hint="readyReplicas counts old servers too: see updatedReplicas.",
    )
    hold_rollouts(namespace, db, 0)
    for said in versions(namespace, db, since=edited["resourceVersion"]):
        if said.get("observedGeneration") != edited["generation"] or not is_available(said):
            continue
        live = namespace.get("StatefulSet", db.name)  # read after the claim: what is not true now was not true then
        if wrong(db) == "" and rolled_out(live):
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


def hold_rollouts(namespace, db, partition):
    """Let the StatefulSet replace only Pods from this number on: a field that is not the operator's."""
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}
    namespace.patch("StatefulSet", db.name, {"spec": {"updateStrategy": strategy}})


def caught_up(live):
    """Whether the StatefulSet's status is about the StatefulSet as it is now."""
    return live["status"].get("observedGeneration") == live["metadata"]["generation"]


def versions(namespace, db, since):
    """Each status that the Database gets from now on, also one that is there for a moment only."""
    until = patience(patient(namespace))
    for event in namespace.client.watch(*typed("Database"), namespace.name, resource_version=since, timeout=until):
        if event.object["metadata"]["name"] == db.name:
            yield event.object.get("status", {})


def is_available(status):
    return any(each["type"] == "Available" and each["status"] == "True" for each in status.get("conditions", []))


@check(points=2, section="say-what-is-there", incident="3scale/3scale-operator#1174", timeout=180)
def test_at_rest_nothing_is_written(operator, namespace, recorder):
    """When everything is as it should be, nothing is written, however often the Database is touched."""
    db = serving(operator, namespace, storage={"size": "1024Mi"}, parameters={"work_mem": "4MB"})
    hint = "Compare what you own with what you want; the server fills in defaults, and writes 1024Mi as 1Gi."

    def silent(mark, when, ours=lambda write: True):
        operator.settle()
        written = [each for each in recorder.since(mark).writes() if each.resource != "events" and ours(each)]
        expect([str(each) for each in written], [], when=when, hint=hint)

    silent(operator.settle(), "nobody had touched anything")
    mark = recorder.mark()
    db.poke()
    eventually(lambda: recorder.since(mark).delivered("Database", name=db.name), within=5)
    # kopf may keep books on the Database itself: how it was when it was last looked at.
    silent(mark, "an annotation was touched", lambda write: write.resource != "databases" or write.subresource)
    reports(db, when="the Database was as it should be", hint=hint, Available="True", Degraded="False")


@check(points=3, section="what-cannot-change", incident="dragonflydb/dragonfly-operator#472")
def test_storage_cannot_change_and_the_rest_can(operator, namespace, recorder):
    """A change of storage is refused in the condition Degraded, and every other change is applied all the same."""
    db = made(operator, namespace, storage={"size": "2Gi"})
    reports(db, when=f"{db} was created", hint="Report all three conditions, always.", Degraded="False")
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
        hint = f"Say in Degraded that {words} cannot change; a wish that is dropped in silence looks like a bug."
        reports(db, when=f"{words} was changed", hint=hint, Degraded="True", Available="True", Progressing="False")
        if "storage" not in (message := db.condition("Degraded")["message"]):
            fail(when=f"{words} was changed", expected="a message that names storage", got=repr(message), hint=hint)
    mark = operator.settle()
    operator.settle()
    written = [str(each) for each in recorder.since(mark).writes() if each.resource != "events"]
    hint = "Trying again changes nothing: the answer is the same until the spec is another."
    expect(written, [], when="the change had been refused, and nobody touched anything", hint=hint)
    live = namespace.get("StatefulSet", db.name)
    sizes = [each["spec"]["resources"]["requests"]["storage"] for each in live["spec"]["volumeClaimTemplates"]]
    expect(sizes, ["2Gi"], when="the volumeClaimTemplates were read", hint="Never delete a StatefulSet to change it.")
    db.edit(storage={"size": "2048Mi", "class": None})
    hint = "Degraded is about what is wished now. 2048Mi is 2Gi: compare numbers."
    reports(db, when="the storage was set back, written as 2048Mi", hint=hint, Degraded="False")


@check(points=3, section="a-password-made-once", incident="external-secrets/external-secrets#4548")
def test_the_secret_of_a_stranger_is_left_alone(operator, namespace):
    """A Secret of our name that somebody else made is neither changed nor used, and Degraded says so."""
    operator.start()
    name = namespace.new_name()
    theirs = {
        "kind": "Secret",
        "metadata": {"name": f"{name}-credentials"},
        "stringData": {"password": "of a stranger"},
    }
    before = namespace.create(theirs)
    db = namespace.database(name=name, replicas=0)
    hint = "Who has no owner reference to this Database, and no label of yours, was not made by you: say so, and wait."
    reports(db, when=f"a Secret {name}-credentials was there before {db}", hint=hint, Degraded="True")
    quiet(operator)
    now = stored(namespace, db)
    want = {"metadata": {k: v for k, v in before["metadata"].items() if k != "managedFields"}, "data": before["data"]}
    expect(now, want, when="the stranger's Secret was read again", hint="Not even a label: it is not yours.")
    if namespace.get("StatefulSet", name):
        hint = "Whoever made that Secret knows the password. Without a Secret of your own, make no StatefulSet."
        fail(when="only a stranger's Secret was there", expected="no StatefulSet", got=f"StatefulSet {name}", hint=hint)
    namespace.delete("Secret", f"{name}-credentials")
    hint = "The going of what is not yours may tell you nothing, so look again every few seconds."
    as_wished(db, when="the stranger's Secret was deleted", hint=hint)
    reports(db, when="the stranger's Secret was gone", hint="Degraded is about now.", Degraded="False")


@check(points=3, section="say-what-is-there", incident="kubernetes-sigs/kro#323")
def test_what_is_deleted_or_edited_comes_back(operator, namespace):
    """Every child that somebody deletes is made again, and what somebody edits is mended."""
    db = made(operator, namespace, parameters={"work_mem": "4MB"})
    live, service = namespace.get("StatefulSet", db.name), namespace.get("Service", db.name)
    container = live["spec"]["template"]["spec"]["containers"][0]["name"]
    other = {"name": container, "image": "registry.example/other:1"}
    drifts = {
        "image": ("StatefulSet", {"spec": {"template": {"spec": {"containers": [other]}}}}),
        "replicas": ("StatefulSet", {"spec": {"replicas": 2}}),
    }
    for field, (kind, patch) in drifts.items():
        namespace.patch(kind, db.name, patch, type="strategic")
        hint = f"Watch {kind}s as well, and compare every field that you ask for."
        as_wished(db, when=f"somebody changed {field} of {kind} {db.name}", hint=hint)
    secret = namespace.get("Secret", f"{db.name}-credentials")
    for child in (live, service, secret, *namespace.owned("ConfigMap", db)):
        kind, name = child["kind"], child["metadata"]["name"]
        operator.settle()  # so that nothing else calls for a pass
        namespace.delete(kind, name)
        as_wished(db, when=f"somebody deleted {kind} {name}", hint=f"Watch {kind}s too; what is gone is made again.")


def processed(db, when):
    """Wait until the operator has seen to the last change."""
    as_wished(db, when=when, hint="replicas follows the spec.")
    hint = "observedGeneration is the generation that was acted upon, whatever was changed in it."
    reports(db, within=patient(db.namespace), when=when, hint=hint, Available="True", Progressing="False")


def gone(operator, namespace, db, *, when):
    """Delete the Database and wait until it, its StatefulSet, its Service and its Pods are gone."""
    db.delete()

    def left():
        kinds = ("Database", "StatefulSet", "Service")
        found = [f"{kind}/{db.name}" for kind in kinds if namespace.get(kind, db.name)]
        return ", ".join(found + [f"Pod/{name}" for name in servers(namespace, db)]) or "nothing"

    hint = "Children that name the Database as their controller go with it; and nothing holds up the Database itself."
    eventually(left, "nothing", within=patient(namespace), when=when, hint=hint)
    if operator.running:
        quiet(operator)


@check(points=3, section="what-outlives-a-database", timeout=180)
def test_retain_keeps_the_volumes_and_the_password(operator, namespace):
    """With Retain the volumes and the password outlive the Database, and a new one of that name takes them up again."""
    db = serving(operator, namespace, replicas=2, deletionPolicy="Delete")
    volumes, secret = claims(namespace, db), password(namespace, db)
    db.edit(replicas=1)
    processed(db, "a server was scaled away")
    db.edit(deletionPolicy="Retain")
    processed(db, "deletionPolicy was set to Retain")
    operator.settle(patient(namespace))
    gone(operator, namespace, db, when="deletionPolicy was set to Retain, then the Database was deleted")
    going = [
        each["metadata"]["name"]
        for each in namespace.list("PersistentVolumeClaim")
        if each["metadata"]["name"] in volumes and "deletionTimestamp" not in each["metadata"]
    ]
    when = "a Database with Retain was deleted, of whose 2 servers 1 had been scaled away"
    expect(sorted(going), volumes, when=when, hint=FORGOTTEN)
    expect(password(namespace, db), secret, when="a Database with Retain was deleted", hint=ORPHAN)
    again = made(operator, namespace, name=db.name)
    expect(password(namespace, again), secret, when=f"{db} was created again", hint=ORPHAN)


@check(points=3, section="what-outlives-a-database", incident="nolar/kopf#833", timeout=180)
def test_delete_leaves_nothing(operator, namespace):
    """With Delete the volumes and the password go with the Database, also when the operator was down meanwhile."""
    db = serving(operator, namespace, replicas=2, deletionPolicy="Retain")
    db.edit(replicas=1)
    processed(db, "a server was scaled away")
    db.edit(deletionPolicy="Delete")
    processed(db, "deletionPolicy was set to Delete")
    operator.settle(patient(namespace))
    operator.stop()
    db.delete()
    operator.start()
    gone(operator, namespace, db, when="the Database was deleted while the operator was down, then it was started")
    when = "a Database with Delete was deleted, of whose 2 servers 1 had been scaled away"
    eventually(lambda: claims(namespace, db), [], within=patient(namespace), when=when, hint=FORGOTTEN)
    eventually(lambda: stored(namespace, db), None, when="a Database with Delete was deleted", hint=ORPHAN)


@check(points=4, section="order-of-creation", incident="rabbitmq/cluster-operator#782", timeout=120)
def test_a_crash_at_any_write_is_survived(operator, namespace):
    """Whichever write the operator dies after, everything is there in the end, with the first password."""
    passwords = {}

    def complaint(db):
        now = password(namespace, db)
        if " " not in now and passwords.setdefault(db.name, now) != now:
            return "the password is another than before the crash"
        return wrong(db)

    def make():
        return namespace.database(replicas=0, parameters={"work_mem": "4MB"})

    attacks.crash_after_every_write(operator, make=make, wrong=complaint, most=5)


@check(points=3, section="what-outlives-a-database", kubelet=True, timeout=300)
def test_rows_outlive_their_pod(operator, namespace):
    """A row that was written is there when the Pod was killed and the server has started again."""
    db = serving(operator, namespace)
    before = servers(namespace, db)
    number = random.randint(1, 10**6)
    query(namespace, db, "create table kept (number int)", f"insert into kept values ({number})")
    namespace.delete("Pod", f"{db.name}-0")
    eventually(lambda: differ(before, servers(namespace, db)), within=60)
    eventually(lambda: rolled_out(namespace.get("StatefulSet", db.name)), within=90)
    expect(
        query(namespace, db, "select number from kept"),
        [[number]],
        when=f"a row was written, Pod {db.name}-0 was deleted, and its successor was asked",
        hint="PGDATA must be on the volume of the claim, not in the container.",
    )


def query(namespace, db, *statements):
    """Connect to the first server as the Secret says, by a port of this machine that leads there; the last answer."""
    import psycopg

    from converge.cluster import programs

    kubectl = str(programs.obtain(["kubectl"], lambda words: None)["kubectl"])
    command = [kubectl, "--kubeconfig", str(namespace.cluster.kubeconfig), "--namespace", str(namespace)]
    forward = subprocess.Popen(
        [*command, "port-forward", f"pod/{db.name}-0", ":5432"], stdout=subprocess.PIPE, text=True
    )
    try:
        port = int(forward.stdout.readline().split("->")[0].rpartition(":")[2])
        login = {"host": "127.0.0.1", "port": port, "user": "postgres", "password": password(namespace, db)}
        with psycopg.connect(**login, dbname="postgres", connect_timeout=20) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return [list(row) for row in cursor.fetchall()] if cursor.description else []
    finally:
        forward.terminate()
        forward.wait()
