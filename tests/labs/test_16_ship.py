"""Checks of lab 16, easiest first. Each docstring is the line that the learner reads.

The operator runs here as the account of the learner's own manifest, with the rights of the learner's own Role. Each
replica has a recorder of its own, so that the checks know which replica did what.
"""

import http.client
import json
import re
import shlex
import sys
import time
from contextlib import suppress

import pytest

from converge.grader import check, eventually, expect, fail, never
from converge.grader.checks.manifests import (
    container_of,
    hands_over,
    in_words,
    instructions,
    mounts_a_token,
    number_of_bytes,
    objects_in,
    pod_of,
    rights_granted,
    rights_used,
    rights_used_at_times,
    rules_of,
    script_at,
    sleep_before_stop,
    starts_a_shell,
)
from converge.grader.checks.outside import new_host
from converge.grader.checks.webapps import CHILDREN, service_of
from converge.grader.session.lab_operator import LabOperator
from converge.recorder import events, requests, writes
from converge.runtime import ApiError
from converge.testing.access import pod_env as pod
from converge.testing.access.identity import token_of, wait_for_rights, write_kubeconfig
from converge.testing.objects.manifests import ManifestError, of_kind
from converge.testing.verdicts.failure import TookTooLong
from converge.testing.waits.deadlines import scaled

NEEDED = ("ServiceAccount", "Role", "RoleBinding", "Deployment")
WORK = ("Lease", "Event")  # what a replica may write without acting on anything
SYNC_TIMEOUT = 30  # seconds that a Manager gives its caches, if nothing else is said
MEGABYTE = 10**6
MOST_OF_A_PAGE = 1 << 20  # bytes; a page without an end would fill the memory of the grader


# What is in the manifest


@pytest.fixture
def manifest(submission, namespace):
    """The objects of the manifest."""
    path = submission.with_name("manifest.yaml")
    when = "manifest.yaml was read"
    try:
        found = objects_in(path.read_text(errors="replace"))
    except (OSError, ManifestError) as error:
        fail(when=when, expected="YAML documents beside ship.py, one for each object", got=str(error))
    expect(
        sorted({each["kind"] for each in found} & set(NEEDED)),
        sorted(NEEDED),
        when=f"{when}; of the kinds that are needed, it has these",
        hint="An account, a Role, a RoleBinding that joins the two, and a Deployment that runs as the account.",
    )
    deploy(namespace, found, ("Deployment",), {"dryRun": "All"})  # from here on, its fields are what they should be
    return found


def deploy(namespace, manifest, kinds, query=None):
    """Create the objects of these kinds as `kubectl apply -n` would."""
    for each in manifest:
        if each["kind"] not in kinds:
            continue
        named = each["metadata"].get("namespace", namespace.name)
        body = {**each, "metadata": {**each["metadata"], "namespace": namespace.name}}
        when = f"{each['kind']} {each['metadata']['name']} of manifest.yaml was applied"
        hint = "Leave the namespace out: kubectl apply -n sets it."
        expect(named, namespace.name, when=f"{when}; its namespace", hint=hint)
        hint = "An operator sets finalizers. What is shipped with one can't be deleted."
        expect(each["metadata"].get("finalizers", []), [], when=f"{when}; its finalizers", hint=hint)
        try:
            kind = namespace.client.discovery.resource(each["apiVersion"], each["kind"])
            if kind.namespaced:
                path = kind.path(namespace.name)
                namespace.client.connection.request("POST", path, query, asked=f"create {each['kind']}", body=body)
        except ApiError as refused:
            fail(when=when, expected="the API server takes it", got=str(refused))
        # A ClusterRole is for the next check. Nothing of the whole cluster is created: others are graded there.
        if not kind.namespaced and not each["kind"].startswith("ClusterRole"):
            hint = "It acts in one namespace, and needs nothing that all namespaces share."
            fail(when=when, expected="an object of a namespace", got="one of the whole cluster", hint=hint)


@pytest.fixture
def kubeconfig(manifest, admin, namespace, recorder, tmp_path):
    """The identity of the operator: the account of the manifest, and whatever its Role allows."""
    deploy(namespace, manifest, ("ServiceAccount", "Role", "RoleBinding"))
    account = pod_of(manifest).get("serviceAccountName")
    accounts = [each["metadata"]["name"] for each in of_kind(manifest, "ServiceAccount")]
    expect(
        account in accounts,
        True,
        expected="an account of the manifest",
        when="serviceAccountName of the Deployment's Pods was looked for among the ServiceAccounts of the manifest",
        hint="A Pod that doesn't name an account runs as `default`, which has no rights.",
        seen=[f"serviceAccountName: {account}", f"ServiceAccounts: {accounts}"],
    )
    named = [rule for rule in rules_of(manifest) if "resourceNames" not in rule]
    if named:
        rule = {"group": named[0]["apiGroups"][0], "resources": named[0]["resources"], "verbs": named[0]["verbs"]}
        wait_for_rights(admin, namespace.name, rule, account)
    home = tmp_path / "operator"
    home.mkdir()
    token, ca = token_of(admin, namespace.name, account), recorder.served_ca_file
    return write_kubeconfig(home / "kubeconfig", recorder.url, token, namespace.name, ca)


# Replicas


@pytest.fixture
def replicas(operator, namespace, testbed, kubeconfig, tmp_path):
    """A function that makes so many replicas, not started; the first is `operator`. None leaves LEASE_SECONDS unset."""
    made = []

    def make(number, lease=15):
        token = json.loads(kubeconfig.read_text())["users"][0]["user"]["token"]
        for place in range(number):
            each = operator
            if place:
                seen = testbed.new_recorder(f"replica {place + 1}")
                home = tmp_path / f"replica-{place + 1}"
                home.mkdir()
                own = write_kubeconfig(home / "kubeconfig", seen.url, token, namespace.name, seen.served_ca_file)
                each = LabOperator(operator.launch, namespace, own, seen)
                each.environment = dict(operator.environment)
                made.append(each)
            each.environment |= {**pod.environment(namespace.name)} | ({"LEASE_SECONDS": str(lease)} if lease else {})
        return [operator, *made]

    yield make
    for each in made:
        each.close()
        each.recorder.stop()


def short_lease():
    """Seconds that a check can wait for: two, or more on a busy machine, where a leader may take that long to renew.

    Below ten, so that a LeaderElection that gets nothing but this `lease_duration` says that it's too short.
    """
    return min(round(scaled(2)), 8)


def leads(namespace, replica):
    """Wait until a Lease has a holder, and this replica has written it."""
    eventually(
        lambda: any(holder(lease) for lease in namespace.list("Lease")) and lease_writes(replica),
        when="the first replica was started",
        expected=f"a Lease in {namespace} that it holds",
        hint="Give the Manager a LeaderElection, and the account the right to write Leases.",
    )


def lease_writes(replica):
    return [each for each in replica.recorder.writes("Lease") if (each.status or 500) < 300]


def holder(lease):
    return lease.get("spec", {}).get("holderIdentity")


def acts(replica):
    """What a replica has done besides saying who leads."""
    return list(map(str, replica.recorder.writes(besides=WORK)))


def served(app, *, when, hint, within=10):
    eventually(
        lambda: [app.namespace.get(kind, app.name) is not None for kind in CHILDREN],
        [True, True],
        within=within,
        when=f"{when}; are its Deployment and its Service there?",
        hint=hint,
    )


def patience(probe):
    """Seconds that the kubelet waits for the first good answer to a probe."""
    each, times = probe.get("periodSeconds", 10), probe.get("failureThreshold", 3)
    return probe.get("initialDelaySeconds", 0) + each * times


def get(replica, path, host="127.0.0.1"):
    """Status and text of a page; 0 if nothing answers."""
    connection = http.client.HTTPConnection(host, int(replica.environment["PORT"]), timeout=5)
    try:
        connection.request("GET", path)  # of no other server, whatever the path says, and no redirect is followed
        answer = connection.getresponse()
        return answer.status, answer.read(MOST_OF_A_PAGE).decode(errors="replace")
    except (OSError, ValueError, http.client.HTTPException) as error:  # nobody answers, or with what isn't HTTP
        return 0, str(error)
    finally:
        connection.close()


@check(points=2, section="the-manifest")
def test_the_manifest_fits_together(namespace, manifest):
    """Account, Role, RoleBinding and Deployment are there, belong together, and the API server takes them."""
    deploy(namespace, manifest, {each["kind"] for each in manifest})
    roles = {each["metadata"]["name"] for each in of_kind(manifest, "Role")}
    account = pod_of(manifest).get("serviceAccountName")
    bound = [
        each["metadata"]["name"]
        for each in of_kind(manifest, "RoleBinding")
        if each["roleRef"]["kind"] == "Role"
        and each["roleRef"]["name"] in roles
        and ("ServiceAccount", account) in [(other["kind"], other["name"]) for other in each.get("subjects", [])]
    ]
    expect(
        bool(bound),
        True,
        expected="such a RoleBinding",
        when=f"a RoleBinding was looked for that gives a Role of the manifest to the Pods' account, {account}",
        hint="roleRef names the Role, subjects names the account, serviceAccountName of the Pods names it too.",
    )
    others = [
        f"{subject['kind']} {subject['name']}"
        for each in of_kind(manifest, "RoleBinding")
        for subject in each.get("subjects") or []
        if each["roleRef"]["name"] in roles and (subject["kind"], subject["name"]) != ("ServiceAccount", account)
    ]
    expect(
        others,
        [],
        when=f"the subjects of the RoleBindings to the manifest's Roles were read; those besides the account {account}",
        hint="The Role is for the account of the Deployment. Every Pod that names no account runs as `default`.",
    )
    expect(
        "a token" if mounts_a_token(manifest) else "no token",
        "a token",
        when=f"automountServiceAccountToken of the Pods and of the account {account}, and the volumes of the "
        "container, were read; what the program will find in the Pod",
        hint="The checks start your program with a kubeconfig. In a Pod, `Client` has only the account's token, and "
        "without it the program ends at once. If the account says false, the Pod has to say true.",
    )
    number = of_kind(manifest, "Deployment")[0]["spec"].get("replicas", 1)
    expect(
        number >= 2,
        True,
        expected="at least two replicas",
        when=f"replicas of the Deployment is {number}; is there one in reserve?",
        hint="Two will do.",
    )


@check(points=1, section="exactly-these-rights", incident="hazelcast/hazelcast-platform-operator#390")
def test_no_right_is_a_wildcard(manifest):
    """No rule says `*`, and no right reaches beyond the namespace."""
    beyond = [
        f"{each['kind']} {each['metadata']['name']}" for each in manifest if each["kind"].startswith("ClusterRole")
    ]
    expect(beyond, [], when="ClusterRoles were looked for", hint="It acts in one namespace: a Role is enough.")
    wild = sorted(
        f"{verb} {group}/{resource}"
        for verb, group, resource in rights_granted(manifest)
        if "*" in verb + group + resource
    )
    expect(
        wild,
        [],
        when="the rules of the Role were read; those with a `*`",
        hint="A wildcard also grants what is invented next year. Name the rights that you use.",
    )
    expect(
        bool(rights_granted(manifest)),
        True,
        expected="at least one right",
        when="rights were looked for in the Role",
        hint="Without any rights it can't do anything.",
    )


@check(points=2, section="probes")
def test_probes_and_metrics_answer(manifest, replicas, namespace):
    """The probes of the manifest find what they ask for, even from outside the Pod, and the metrics count."""
    (replica,) = replicas(1)
    replica.start()
    container = container_of(manifest)
    paths = {}
    started = ["startupProbe"] if container.get("startupProbe", {}).get("httpGet") else []  # you may do without
    for probe in ("livenessProbe", "readinessProbe", *started):
        asked = container.get(probe, {}).get("httpGet")
        when = f"{probe} of the Deployment's container was read"
        expect(
            bool(asked),
            True,
            expected="httpGet",
            when=f"{when}; does it ask by HTTP?",
            hint="httpGet, with a path and a port.",
        )
        named = {port.get("name"): port["containerPort"] for port in container.get("ports", [])}
        port = {each["name"]: each.get("value") for each in container.get("env", [])}.get("PORT")
        expect(
            str(named.get(asked["port"], asked["port"])),
            port,
            when=f"{when}; its port, where the environment says PORT={port}",
            hint="The port of a probe is a number, or the name of one of the container's ports.",
        )
        paths[probe] = asked.get("path", "/")
    for probe, path in paths.items():
        eventually(
            lambda path=path: get(replica, path)[0],
            200,
            when=f"the operator ran, and GET {path} was sent to its PORT, as {probe} does",
            hint="port=… makes the Manager serve /healthz, /readyz and /metrics.",
        )
    different = paths["livenessProbe"] != paths["readinessProbe"]
    hint = "Alive and ready are different questions. If you restart what isn't ready yet, it starts over and over."
    expect(different, True, expected="two paths", when=f"the paths of the two probes were compared: {paths}", hint=hint)
    if sys.platform == "linux":  # elsewhere there is only one loopback address
        expect(
            get(replica, paths["readinessProbe"], host="127.0.0.2")[0],
            200,
            when="the same was asked at another address of the machine",
            hint="The kubelet comes from outside the Pod: listen on 0.0.0.0, not on 127.0.0.1.",
        )
    app = namespace.webapp(replicas=1)
    served(app, when="a WebApp was created", hint="setup(manager) makes it the operator of lesson 12.")
    eventually(
        lambda: re.search(
            r"^controller_runtime_reconcile_total\{.*\} [1-9]", get(replica, "/metrics")[1], re.MULTILINE
        ),
        when="a WebApp was served, and GET /metrics was sent to the same port",
        expected="controller_runtime_reconcile_total with a number that is not 0",
        hint="/metrics is served next to the probes.",
    )


@check(points=2, section="probes", incident="nats-io/nats-operator#77")
def test_it_is_ready_when_it_has_seen_everything(manifest, replicas, recorder):
    """Before its caches are filled it is alive and not ready; a replica that waits for its turn is ready."""
    container = container_of(manifest)
    first, second = replicas(2)
    first.start()
    slow = second.recorder.slow(requests("WebApp"), seconds=3)  # a list, or a watch that begins with one
    paths = [container.get(probe, {}).get("httpGet", {}).get("path") for probe in ("livenessProbe", "readinessProbe")]
    startup = container.get("startupProbe") or {}
    asks, gives_up = startup.get("httpGet", {}).get("path"), patience(startup)
    second.start()  # it comes up with the other kinds
    alive, ready = (get(second, path)[0] for path in paths)
    started = get(second, asks)[0] if asks and gives_up < SYNC_TIMEOUT else 200
    expect(
        {"alive": alive, "ready": "yes" if ready == 200 else "no"},
        {"alive": 200, "ready": "no"},
        when=f"the list of WebApps was slow, and {paths} were asked meanwhile",
        hint="Liveness asks whether the process answers. Readiness asks whether its caches are filled. Don't mix "
        "them up.",
        seen=f"its readiness probe was answered with {ready}",
    )
    expect(
        started,
        200,
        when=f"the list of WebApps was slow, and {asks} was asked meanwhile, as startupProbe does, which gives up "
        f"after {gives_up} s",
        hint="The kubelet restarts what fails its startup probe, and the next one starts with empty caches again. The "
        f"Manager itself gives them {SYNC_TIMEOUT} s.",
    )
    slow.remove()
    eventually(
        lambda: [get(each, paths[1])[0] for each in (first, second)],
        [200, 200],
        when="all lists had been answered; readiness of the leader, and of the replica that waits",
        hint="A replica that waits for the Lease has to be ready. Otherwise no rollout of the operator would ever end.",
    )


@check(points=3, section="one-acts", incident="kubernetes/kubernetes#22775")
def test_one_replica_acts(replicas, namespace):
    """Of two replicas only one writes, and its Lease lasts fifteen seconds unless LEASE_SECONDS says otherwise."""
    first, second = replicas(2, lease=None)
    first.start()
    leads(namespace, first)
    second.start()
    held = first.recorder.hold(events("WebApp"))  # the leader does not hear of it yet: who else would act?
    app = namespace.webapp(replicas=1)
    eventually(lambda: second.recorder.delivered("WebApp", name=app.name), within=5)
    eventually(
        lambda: [each for each in second.recorder.requests if each.resource == "leases" and each.status], within=5
    )
    second.recorder.wait_quiet(scaled(0.5), deadline=scaled(3), ignoring=requests("Lease"))
    expect(
        [*acts(second), *map(str, lease_writes(second))],
        [],
        when="two replicas ran, the first held the Lease, and a WebApp was created that only the second had heard "
        "of; what the second one wrote",
        hint="One Lease for both, by the same name, and each replica under a name of its own: its POD_NAME.",
    )
    held_leases = [lease for lease in namespace.list("Lease") if holder(lease)]
    expect(
        len(held_leases),
        1,
        when="the Leases that have a holder were counted",
        hint="Replicas that look at different Leases all lead.",
    )
    expect(
        held_leases[0]["spec"].get("leaseDurationSeconds"),
        15,
        when="LEASE_SECONDS wasn't set, and leaseDurationSeconds of the Lease was read",
        hint="lease_duration is LEASE_SECONDS, or 15 where nothing says otherwise.",
    )
    held.release()
    served(app, when="the first one heard of the WebApp", hint="The leader acts.")


@check(points=3, section="one-acts", incident="open-telemetry/opentelemetry-operator#3058")
def test_the_lease_is_handed_over_on_sigterm(replicas, namespace):
    """When the leader is asked to stop, the other takes over at once, without waiting for the Lease to run out."""
    first, second = replicas(2, lease=300)
    first.start()
    leads(namespace, first)
    second.start()
    expect(
        [lease["spec"].get("leaseDurationSeconds") for lease in namespace.list("Lease")],
        [300],
        when="LEASE_SECONDS was 300, and leaseDurationSeconds of the Lease was read",
        hint="LEASE_SECONDS is the lease_duration.",
    )
    first.stop()
    app = namespace.webapp(replicas=1)
    served(
        app,
        within=8,
        when="the leader was stopped by SIGTERM, with LEASE_SECONDS=300, and a WebApp was created",
        hint="manager.run() gives the Lease back when it has stopped. Nothing may end the process before that, and the "
        "account needs the right to watch the Lease, to hear of it at once.",
    )


@check(points=2, section="one-acts", timeout=40)
def test_a_dead_leader_is_replaced(replicas, namespace):
    """When the leader is killed, the other takes over once the Lease has run out."""
    lease = short_lease()
    second, first = replicas(2, lease=lease)  # `operator` is the one that lives on
    first.environment["LEASE_SECONDS"] = "2"  # too short for a retry_period that isn't made from it
    first.start()
    leads(namespace, first)
    second.start()
    first.crash()
    app = namespace.webapp(replicas=1)
    served(
        app,
        within=12,
        when=f"the leader was killed, with LEASE_SECONDS={lease}, and a WebApp was created",
        hint="LEASE_SECONDS is the lease_duration: how long the others wait for a leader that has gone silent.",
    )


@check(points=3, section="a-leader-that-slept", incident="volcano-sh/kthena#1793", timeout=40)
def test_a_leader_that_slept_does_not_act(replicas, namespace):
    """A leader that hung for longer than its Lease does nothing when it wakes up."""
    second, first = replicas(2, lease=short_lease())
    first.start()
    leads(namespace, first)
    second.start()
    app = namespace.webapp(replicas=1)
    served(app, when="two replicas ran, and a WebApp was created", hint="The leader acts.")
    first.settle()
    first.pause()
    late = namespace.webapp(replicas=1)
    served(late, within=12, when="the leader hung, and a WebApp was created", hint="The other one takes over.")
    second.settle()
    second.pause()  # so that what is to be done now is left for the one that should not do it
    app.edit(port=app.spec["port"] + 1)
    mark = first.recorder.mark()
    first.resume()
    never(
        lambda: acts_before_leading(first, mark),
        until=lambda: not first.running or leases_taken(first, mark),
        within=4,
        when="a leader hung for longer than its Lease, another took over, a WebApp was changed, and the first woke up",
        expected="it writes nothing until it holds the Lease again",
        hint="Between two renewals a leader must stop by itself: renew_deadline is shorter than lease_duration, and "
        "the manager asks the election before each pass.",
    )
    woke = "a leader hung for longer than its Lease, another took over, and the first woke up"
    eventually(lambda: not first.running, within=5)
    second.resume()
    expect(
        "it runs on" if first.running else "it ended with 0" if first.exit_code == 0 else "it ended, and not with 0",
        "it ended, and not with 0",
        when=f"{woke}; what became of it",
        hint="manager.run() raises RuntimeProblem when it can't go on. The exit code tells the kubelet.",
    )
    expect(
        bool(re.search("lost the lease|election lost", first.output)),
        True,
        expected="what RuntimeProblem says: it lost the lease",
        when=f"{woke}; the end of its output",
        seen=first.printed() or "it printed nothing",
        hint="Print the problem: once a Pod has ended, its log is all that people have.",
    )


def leases_taken(replica, mark):
    return [each for each in lease_writes(replica) if each.time >= mark]


def acts_before_leading(replica, mark):
    """What a replica has done since, up to the moment at which the Lease was its own again."""
    leading = min((each.time for each in leases_taken(replica, mark)), default=float("inf"))
    return [str(each) for each in replica.recorder.since(mark).writes(besides=WORK) if each.time < leading]


@check(points=3, section="the-end", incident="openshift/csi-operator#94")
def test_it_stops_in_order(replicas, namespace):
    """After SIGTERM it finishes the pass in hand, gives the Lease back and exits with 0; it logs in JSON."""
    (replica,) = replicas(1)
    replica.start()
    leads(namespace, replica)
    slow = replica.recorder.slow(writes("Service"), seconds=4)
    app = namespace.webapp(replicas=1)
    eventually(
        lambda: slow.fired, when="a WebApp was created", expected="a write of its Service", hint="See lesson 12."
    )
    replica.stop()
    acts, leases = replica.recorder.writes(besides=WORK), replica.recorder.writes("Lease")
    early = bool(acts and leases) and leases[-1].time < acts[-1].time
    expect(
        {
            "exit code": replica.exit_code,
            "status of the WebApp, the last write of the pass": "written" if app.status else "not written",
            "holder of the Lease": [holder(lease) or "nobody" for lease in namespace.list("Lease")],
            "given back": "before the last write of the pass" if early else "when all was done",
        },
        {
            "exit code": 0,
            "status of the WebApp, the last write of the pass": "written",
            "holder of the Lease": ["nobody"],
            "given back": "when all was done",
        },
        when="a pass was under way that took 4 s, and the operator got SIGTERM",
        hint="manager.run() returns when the work in hand is done or the grace period is over, which is short by "
        "default. Give a Lease back only when nothing acts anymore.",
    )
    expect(
        [line for line in replica.output.splitlines() if is_json(line)] != [],
        True,
        expected="a line that is a JSON object, such as the one about the Lease that was given back",
        when="the operator led, worked and ended; lines of JSON were looked for in its output",
        seen=replica.printed() or "it printed nothing",
        hint='logs.configure("json"), before anything else happens.',
    )


def is_json(line):
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def everything(first, second, namespace, outside):
    """Make the operator do all that it ever does."""
    first.start()
    leads(namespace, first)
    second.start()
    stranger = namespace.new_name()
    ports = [{"port": 80}]
    namespace.create({"kind": "Service", "metadata": {"name": stranger}, "spec": {"ports": ports}})
    namespace.webapp(stranger, replicas=1)
    app = namespace.webapp(replicas=1, register=(host := new_host()))
    eventually(lambda: host in outside.records and service_of(app), within=8)
    app.edit(port=app.spec["port"] + 1, replicas=2, labels={"a": "b"})
    namespace.delete("Service", app.name)
    eventually(lambda: (service_of(app) or {}).get("metadata", {}).get("labels", {}).get("a"), within=5)
    # So that there was an Event: without one, nobody knows whether it may make any.
    eventually(lambda: (app.condition("Available") or {}).get("status") == "True", within=20)
    first.recorder.wait_quiet(0.5, deadline=5)
    app.delete()
    eventually(lambda: app.now() is None, within=5)
    first.stop()  # and the Lease changes hands
    eventually(lambda: lease_writes(second), within=5)


@check(points=5, section="exactly-these-rights", incident="operator-framework/operator-sdk#4020", timeout=60)
def test_it_has_exactly_the_rights_that_it_uses(replicas, manifest, namespace, outside):
    """Its Role grants exactly the rights that it uses."""
    first, second = replicas(2)
    everything(first, second, namespace, outside)
    recorders = (first.recorder, second.recorder)
    refused = [each for recorder in recorders for each in recorder.requests if each.status == 403]
    expect(
        sorted({(each.answer or {}).get("message", str(each)) for each in refused}),
        [],
        when="two replicas ran; WebApps were created, changed, repaired and deleted, one with a name that was taken; "
        "what the server refused",
        hint="The message names the verb, the resource and the API group: that's a line of the Role. An apply needs "
        "patch, and also create where the object doesn't exist yet.",
    )
    seen = [each for recorder in recorders for each in recorder.requests]
    used, may, now_and_then = rights_used(seen), rights_granted(manifest), rights_used_at_times(seen)
    unused = may - used - now_and_then
    expect(
        {"used and not granted": in_words(used - may), "granted and never used": in_words(unused)},
        {"used and not granted": [], "granted and never used": []},
        when="the same was done; the requests that the recorder saw were compared with the rules of the Role",
        hint="An unused right helps only someone who has stolen the account's token. A right that you use and don't "
        "have works by luck: where it's enforced, blockOwnerDeletion needs update on webapps/finalizers.",
    )
    leases = [rule for rule in rules_of(manifest) if "leases" in rule["resources"] and not rule.get("resourceNames")]
    expect(
        sorted({verb for rule in leases for verb in rule["verbs"]} - {"create"}),
        [],
        when="the rules about Leases were read; verbs that reach every Lease of the namespace, besides create",
        hint="Other operators have Leases too. resourceNames limits a rule to yours; create, which it cannot limit, "
        "gets a rule of its own.",
    )
    named = {
        name for rule in rules_of(manifest) if "leases" in rule["resources"] for name in rule.get("resourceNames", [])
    }
    expect(
        sorted(named),
        sorted(lease["metadata"]["name"] for lease in namespace.list("Lease")),
        when="resourceNames of the rules about Leases were compared with the Leases that the operator wrote",
        hint="With every other name, a stolen token can end another operator's election.",
    )


@check(points=3, section="the-manifest")
def test_the_pod_may_run_where_the_rules_are_strict(manifest, namespace):
    """The Pod is admitted to a restricted namespace, knows its own name, and says what it needs."""
    strict = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    namespace.client.patch("v1", "Namespace", namespace.name, None, strict)
    deploy(namespace, manifest, ("ServiceAccount",))
    pod = {"kind": "Pod", "metadata": {"name": "operator"}, "spec": pod_of(manifest)}
    try:
        namespace.create(pod)
    except ApiError as refused:
        fail(
            when="the Deployment's Pod was created in a namespace that enforces the Pod Security Standard `restricted`",
            expected="it is admitted",
            got=str(refused),
            hint="The message names each field of securityContext that is missing, of the Pod or of the container.",
        )
    container = container_of(manifest)
    fields = {
        each["name"]: each.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
        for each in container.get("env", [])
    }
    expect(
        {name: fields.get(name) for name in ("POD_NAME", "POD_NAMESPACE")},
        {"POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace"},
        when="the environment of the container was read",
        hint="Only the cluster knows the name of a Pod: valueFrom.fieldRef, the downward API.",
    )
    asked = container.get("resources", {}).get("requests", {})
    expect(
        sorted({"cpu", "memory"} & asked.keys()),
        ["cpu", "memory"],
        when="resources.requests of the container was read",
        hint="Without requests, the scheduler thinks that the Pod needs nothing, and the Pod is the first to be "
        "evicted.",
    )
    memory = {key: each["memory"] for key, each in container["resources"].items() if "memory" in (each or {})}
    expect(
        {key: each for key, each in memory.items() if number_of_bytes(each) < MEGABYTE},
        {},
        when=f"memory in the resources of the container was read: {memory}; what is less than a megabyte",
        hint="No program starts in that. Memory is in bytes: 64Mi are 64 megabytes, and 64m, which is right for CPU, "
        "are thousandths of one byte.",
    )
    expect(
        (container.get("securityContext") or {}).get("readOnlyRootFilesystem", False),
        True,
        when="readOnlyRootFilesystem in the securityContext of the container was read",
        hint="`restricted` doesn't ask for it, TODO 6 does: an operator writes no files.",
    )
    grace, before = pod_of(manifest).get("terminationGracePeriodSeconds", 30), sleep_before_stop(container)
    hook = f" and of a preStop hook that sleeps for {before:g} s" if before else ""
    expect(
        grace > 10 + before,
        True,
        expected=f"more than {10 + before:g} seconds",
        when=f"terminationGracePeriodSeconds is {grace}; is that more than the ten seconds of a pass in hand{hook}?",
        hint="When that time is over, the kubelet kills the process, and the Lease isn't given back. A preStop hook "
        "counts: SIGTERM comes when it has ended.",
    )


@check(points=2, section="the-image", incident="relizaio/rearm#269")
def test_the_image_is_as_small_a_target_as_it_can_be(submission, manifest):
    """The image has a fixed base, is not run as root, and lets SIGTERM reach the program."""
    path = submission.with_name("Dockerfile")
    expect(path.exists(), True, expected="a Dockerfile", when="the Dockerfile was looked for beside ship.py")
    steps = instructions(path.read_text())
    bases = [rest for word, rest in steps if word == "FROM"]
    base = next((part for part in shlex.split(bases[0]) if not part.startswith("--")), "") if bases else ""
    tag = base.rpartition("/")[2].partition(":")[2]
    expect(
        "@" in base or tag not in ("", "latest"),
        True,
        expected="a version or a digest",
        when=f"the base image was read: {base or 'there is none'}",
        hint="`latest`, the default, is a different image every month. Name a version.",
    )
    users = [rest.partition(":")[0] for word, rest in steps if word == "USER"]
    contexts = [
        (part.get("securityContext") or {}).get("runAsUser") for part in (pod_of(manifest), container_of(manifest))
    ]
    numbers = [str(each) for each in (*users[-1:], *contexts) if each is not None]
    expect(
        any(each.isdigit() and int(each) > 0 for each in numbers),
        True,
        expected="the number of a user that is not root",
        when=f"USER of the image, and runAsUser of the Pod, were read: {numbers or 'neither is there'}",
        hint="Use a number other than 0. The kubelet can't tell whether a name is root, so it refuses names.",
    )
    said = container_of(manifest).get("command")
    starts = {word: words(rest) or rest for word, rest in steps if word in ("ENTRYPOINT", "CMD")}
    start = said or starts.get("ENTRYPOINT") or starts.get("CMD")
    expect(
        bool(start) and (bool(said) or all(isinstance(each, list) for each in starts.values())),
        True,
        expected="a list of words",
        when=f"how the program is started was read: {start or 'nothing says it'}",
        hint='Written as a list, ["python", "ship.py"], the program is started directly. Written as a line, it is a '
        "child of a shell, which gets SIGTERM and doesn't pass it on.",
    )
    names_shell = re.search(r"(^|/)(a|ba|da|z)?sh$", str(start[0]))
    script = next(filter(None, (script_at(str(word), path) for word in start)), None)
    if script:
        shell = (names_shell or starts_a_shell(script)) and not hands_over(script)
    else:
        shell = names_shell and not any("exec " in str(word) for word in start)
    expect(
        "a shell" if shell else "the program",
        "the program",
        when=f"how the program is started was read: {start}{', with its script' if script else ''}; what starts first",
        hint="A shell as the first word is still a shell in between, even in a list, and so is the shell of a start "
        "script, unless its last line begins with exec. Start the program itself.",
    )
    copied = any(
        "ship.py" in rest or submission.name in rest or re.search(r"(^| )\.(/)? ", rest)
        for word, rest in steps
        if word in ("COPY", "ADD")
    )
    expect(
        copied,
        True,
        expected="ship.py is copied into the image",
        when="COPY of ship.py was looked for",
        hint="The program has to be in the image.",
    )


@check(points=2, section="the-end", timeout=60, long=True)
def test_a_pass_in_hand_has_ten_seconds(replicas, namespace):
    """A pass that doesn't end is left behind ten seconds after SIGTERM, and the Lease isn't given back."""
    (replica,) = replicas(1, lease=60)
    replica.start()
    leads(namespace, replica)
    slow = replica.recorder.slow(writes("Service"), seconds=60)
    namespace.webapp(replicas=1)
    eventually(
        lambda: slow.fired, when="a WebApp was created", expected="a write of its Service", hint="See lesson 12."
    )
    when = "LEASE_SECONDS was 60, a pass was under way that didn't end, and the operator got SIGTERM"
    asked = time.monotonic()
    with suppress(TookTooLong):  # judged below: on a busy machine it waits for longer than a pass may take
        replica.stop(within=20)
    took = time.monotonic() - asked
    if not 9.9 <= took <= 20:
        fail(
            when=f"{when}; when it ended",
            expected="ten seconds later, since a pass in hand has that long",
            got=f"after {took:.1f} s" if took <= 20 else "more than 20 s later",
            hint="That is the manager's grace; its default is 1.5 s. It's the same for every LEASE_SECONDS.",
        )
    expect(
        ["the replica" if holder(lease) else "nobody" for lease in namespace.list("Lease")],
        ["the replica"],
        when=f"{when}; the holder of the Lease when it had ended",
        hint="Something may still be acting, so the Lease has to run out by itself. manager.run() sees to that.",
    )


def words(text):
    """The words of a start that is written as a list; nothing for a line."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, list) else None


NO_IMAGE = ("ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName")


def waiting(namespace):
    """Why containers of Pods in a namespace do not run yet."""
    statuses = [each.get("status", {}).get("containerStatuses") or [] for each in namespace.list("Pod")]
    return [each["state"]["waiting"] for some in statuses for each in some if "waiting" in each["state"]]


@check(points=3, section="the-image", kubelet=True, timeout=300)
def test_it_runs_as_a_pod(namespace, manifest):
    """On kind: both Pods become ready, and a WebApp is served by what runs in the cluster."""
    deploy(namespace, manifest, {each["kind"] for each in manifest})
    name = of_kind(manifest, "Deployment")[0]["metadata"]["name"]
    image = container_of(manifest)["image"]
    applied = f"manifest.yaml was applied to a cluster with kubelets; Pods of {name} that are ready"

    def ready():
        if missing := [state for state in waiting(namespace) if state.get("reason") in NO_IMAGE]:
            fail(
                when=applied,
                expected=f"the image {image} in the cluster",
                got=missing[0],
                hint=f"Build it at the root of the course, docker build -f labs/16_ship/Dockerfile -t {image} ., "
                f"and give it to the cluster: converge load {image}.",
            )
        return (namespace.get("Deployment", name) or {}).get("status", {}).get("readyReplicas")

    eventually(
        ready,
        of_kind(manifest, "Deployment")[0]["spec"]["replicas"],
        within=120,
        when=applied,
        hint="`converge kubectl get pods -A` names the Pods; `converge kubectl logs` shows what they say.",
        seen=lambda: [json.dumps(each.get("status", {}).get("containerStatuses")) for each in namespace.list("Pod")],
    )
    app = namespace.webapp(replicas=1)
    served(app, when="a WebApp was created", hint="The log of the Pods says more.", within=60)
