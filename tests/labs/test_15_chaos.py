"""Checks of lab 15. Each bug has one or two checks that fail for that bug alone: each fix earns its points."""

from datetime import UTC, datetime

from converge.grader import check, eventually, expect
from converge.grader.checks import webapps
from converge.grader.checks.conditions import condition_in, conditions_in, conditions_of
from converge.grader.checks.oracles import wrong_webapp
from converge.grader.checks.webapps import (
    CHILDREN,
    available_pods,
    children_of,
    comes_back,
    deployment_of,
    namesakes_stay_independent,
    other_image,
    service_of,
)
from converge.recorder import writes
from converge.testing import attacks
from converge.testing.objects.history import History, version

FIELDS = ("image", "replicas", "port", "labels", "sidecar")
SOON = 5.0  # seconds; a right operator needs a fraction of them, a wrong one keeps its author waiting


def wrong(app):
    """What differs from the spec, in words; empty when nothing does."""
    return wrong_webapp(app) or wrong_service(app) or wrong_status(app)


def wrong_service(app):
    """Whether its Service leads anywhere: to the Pods of its Deployment, and to the port of the container."""
    deployment, service = deployment_of(app), service_of(app)
    if not (deployment and service):
        return "a child is missing"
    selector, pods = service["spec"].get("selector", {}), deployment["spec"]["template"]["metadata"]["labels"]
    if not selector or not selector.items() <= pods.items():
        return f"the Service selects {selector}, and the Pods are labeled {pods}"
    leads, wanted = webapps.summary(deployment, service)["where it leads"], [app.spec["port"]]
    return "" if leads == wanted else f"the Service leads to port {leads} of the container, not {wanted}"


def wrong_status(app):
    """What the status should say and doesn't, once everything runs."""
    now = app.now() or {"metadata": {}}
    status = now.get("status", {})
    said = {
        "observedGeneration": status.get("observedGeneration"),
        "availableReplicas": status.get("availableReplicas", 0),
        "url": status.get("url"),
        **conditions_in(now),
    }
    wanted = {
        "observedGeneration": now["metadata"].get("generation"),
        "availableReplicas": app.spec["replicas"],
        "url": f"http://{app.name}.{app.namespace.name}.svc:{app.spec['port']}",
        **{"Available": "True", "Progressing": "False", "Degraded": "False"},
    }
    return "\n".join(f"status: {key} is {said[key]}, not {wanted[key]}" for key in said if said[key] != wanted[key])


def converged(app, *, when, hint, within=SOON):
    """Wait until nothing differs from the spec."""
    eventually(lambda: wrong(app), "", within=within, when=when, hint=hint)


def running(operator, namespace, **spec):
    """A WebApp that matches its spec, under an operator at rest."""
    if not operator.running:
        operator.start()
    hint = "What worked before has to keep working."
    app = webapps.running(operator, namespace, until=converged, hint=hint, **spec)
    operator.settle()
    return app


def one_pod(namespace):
    return lambda **spec: namespace.webapp(**{"replicas": 1, **spec})


def all_fields(namespace):
    """Makes WebApps with every field, and without Pods: nothing is to be seen of them here, and they take time."""
    values = {"replicas": 0, "labels": {"keep": "a", "drop": "b"}, "sidecar": namespace.images.web[0]}
    return lambda **spec: namespace.webapp(**{**values, **spec})


def less(app):
    """Take out of a WebApp's spec what can be taken out, and change the port."""
    return app.edit(labels={"drop": None}, sidecar=None, port=app.spec["port"] + 1)


@check(points=2, section="states-between-two-writes", incident="rabbitmq/cluster-operator#782", timeout=60)
def test_killed_after_each_write(operator, namespace):
    """Killed right after any of its writes, or with any of its requests failed, it gets there."""
    attacks.crash_after_every_write(
        operator,
        make=all_fields(namespace),
        wrong=wrong,
        within=SOON,
        hint="The next process starts in the middle. Which child is made only in the same pass as another one?",
    )
    attacks.fault_at_every_request(
        operator,
        make=all_fields(namespace),
        wrong=wrong,
        children=CHILDREN,
        edit=less,
        deletion=True,
        modes=("500", "lost", "409"),
    )


@check(points=2, section="states-between-two-writes", incident="rabbitmq/cluster-operator#782", timeout=60)
def test_a_child_that_is_missing_alone_is_made(operator, namespace, other_namespace):
    """Each child that is missing comes back, edits by hand are undone, and namesakes don't disturb each other."""
    app = running(operator, namespace, labels={"keep": "a"})
    for kind in CHILDREN:
        comes_back(
            operator,
            app,
            kind,
            within=SOON,
            when="all else was left as it is",
            hint="A crash isn't the only way to get a state between two writes. Look at each child by itself.",
        )
    converged(app, when="the children were deleted, one after the other", hint="Make them as the spec says.")
    attacks.heals_drift(
        operator,
        app,
        wrong,
        drifts={
            "replicas": ("Deployment", app.name, {"spec": {"replicas": 2}}),
            "a label": ("Deployment", app.name, {"metadata": {"labels": {"keep": "b"}}}),
            "selector and targetPort": (
                "Service",
                app.name,
                {
                    "spec": {
                        "selector": {"app.kubernetes.io/instance": "another"},
                        "ports": [{"port": app.spec["port"], "targetPort": 1}],
                    }
                },
            ),
            "the label": ("Service", app.name, {"metadata": {"labels": {"keep": None}}}),
        },
        within=SOON,
    )
    namesakes_stay_independent(operator, wrong, replicas=0)


@check(points=2, section="events-that-nobody-saw", incident="instaclustr/cassandra-operator#398", timeout=60)
def test_changed_while_it_was_down(operator, namespace):
    """A sidecar that was taken out of the spec while the operator was down goes at its start."""
    app = running(operator, namespace, sidecar=namespace.images.web[0])
    attacks.changes_while_down(
        operator,
        change=lambda: app.edit(sidecar=None, image=namespace.images.web[1]),
        wrong=lambda: wrong(app),
        what="the sidecar was taken out of the spec, and the image was changed,",
        within=SOON,
        hint="No one was there to see the change. What does the operator remember, and since when?",
    )
    attacks.zero_writes_at_rest(operator, app, hint="The fix writes too much: nothing has changed here.")


@check(points=2, section="events-that-nobody-saw", incident="instaclustr/cassandra-operator#410", timeout=60)
def test_killed_before_it_has_acted(operator, namespace, recorder):
    """Killed when it has seen a change and has not written yet, it still acts on it."""
    app = running(operator, namespace, sidecar=namespace.images.web[0])
    killed = recorder.kill_before(writes("Deployment"), kill=operator.crash)
    app.edit(sidecar=None)
    eventually(
        lambda: killed.fired and not operator.running,
        when="the sidecar was taken out of the spec",
        expected="the operator changes the Deployment",
        hint="What worked before has to keep working.",
    )
    operator.start()
    converged(
        app,
        when="the sidecar was taken out of the spec; the operator was killed before its first write; it was started",
        hint="It saw the change, and that knowledge died with it. Find out from what is in the cluster.",
    )
    attacks.crash_before_every_write(operator, make=lambda: namespace.webapp(replicas=0), wrong=wrong)
    app = running(operator, namespace, replicas=0, labels={"keep": "a", "drop": "b"})
    operator.settle()
    killed = recorder.kill_after(writes("WebApp"), kill=operator.crash)
    app.edit(labels={"drop": None})
    eventually(
        lambda: killed.fired and not operator.running,
        within=SOON,
        when="the label `drop` was taken out of the spec",
        expected="a report of the new generation",
        hint="Say in the status which generation it is about.",
    )
    operator.start()
    eventually(
        lambda: [kind for kind in CHILDREN if "drop" in namespace.get(kind, app.name)["metadata"].get("labels", {})],
        [],
        within=SOON,
        when="the label `drop` was taken out of the spec, the operator was killed right after its first report of that "
        "and started again; the children that still have the label",
        hint="A report says what was done when it was written. Look at each child, whatever the status says.",
    )


@check(points=2, section="paths-through-the-specs", incident="minio/operator#2038", timeout=60)
def test_what_is_taken_out_of_the_spec_goes(operator, namespace):
    """A label taken out of the spec goes, and so does the old port; what others added stays."""
    app = running(operator, namespace, labels={"keep": "a", "drop": "b"}, port=8080)
    app.edit(labels={"drop": None}, port=9090)
    hint = "A patch that names what you want says nothing about what you no longer want."
    converged(app, when="in one edit, a label was taken out of the spec and the port was changed", hint=hint)
    operator.settle()
    left = {
        kind: sorted({"drop"} & namespace.get(kind, app.name)["metadata"].get("labels", {}).keys()) for kind in CHILDREN
    }
    expect(
        left,
        {"Deployment": [], "Service": []},
        when="the label `drop` was taken out of the spec",
        hint=hint,
    )
    note = {"someone.example/note": "keep"}
    injected = [{"name": "injected", "image": namespace.images.web[0]}]
    added = {
        "Deployment": {"metadata": {"labels": note}, "spec": {"template": {"spec": {"containers": injected}}}},
        "Service": {"metadata": {"labels": note, "annotations": note}},
    }
    for value, (kind, patch) in zip("cd", added.items(), strict=True):
        attacks.foreign_fields_survive(
            operator,
            app,
            child=(kind, app.name),
            patch=patch,
            change=lambda value=value: app.edit(labels={"keep": value}),
            hint="Remove what you have put there, and only that.",
        )
    app.edit(replicas=app.spec["replicas"] + 1)
    converged(app, when="one more replica was asked for", hint="Follow every change of the spec.")
    operator.settle()
    scaled_to = app.spec["replicas"] + 2
    app.edit(autoscaled=True)
    operator.settle()
    expect(
        namespace.get("Deployment", app.name)["spec"]["replicas"],
        app.spec["replicas"],
        when="autoscaled was switched on; replicas of the Deployment, which no one else had set yet",
        hint="A field that you alone have applied goes when you leave it out, and its default is 1. `ensure` of lesson "
        "07 leaves the number to the autoscaler without removing it.",
    )
    namespace.patch("Deployment", app.name, {"spec": {"replicas": scaled_to}}, subresource="scale")
    operator.settle()
    app.edit(labels={"keep": "e"})
    eventually(
        lambda: namespace.get("Deployment", app.name)["metadata"]["labels"].get("keep"),
        "e",
        within=SOON,
        when="an autoscaler had set the number of Pods, and then a label was changed; that label of the Deployment",
        hint=hint,
    )
    operator.settle()
    expect(
        namespace.get("Deployment", app.name)["spec"]["replicas"],
        scaled_to,
        when=f"autoscaled was switched on, an autoscaler set {scaled_to} replicas, and then a label was changed",
        hint="`replicas` isn't yours while the WebApp is autoscaled: `desired_children` leaves it out (lesson 07).",
    )


def ahead(history, app):
    """Reports of a generation that the Deployment hadn't got by then, by its image."""
    deployments, found = history.versions("Deployment", app.name), []
    for webapp in history.versions("WebApp", app.name):
        generation, wanted = webapp["metadata"]["generation"], webapp["spec"]["image"]
        if webapp.get("status", {}).get("observedGeneration") == generation:
            before = [each for each in deployments if version(each) < version(webapp)]
            image = webapps.container(before[-1], "web")["image"] if before else "none"
            if image != wanted:
                found.append(f"observedGeneration {generation}, which asks for {wanted}; the Deployment had {image}")
    return found


@check(points=2, section="lost-updates", incident="cloudnative-pg/cloudnative-pg#6328", timeout=60)
def test_an_old_copy_is_not_written_back(operator, namespace, recorder, second_writer):
    """What another writer set, changed or removed since the operator read stays so; no report is ahead of the spec."""
    app = running(operator, namespace)
    attacks.rival_has_conditions(second_writer, app)
    operator.settle()
    attacks.late_watch_loses_nothing(operator, app, second_writer, change=lambda: app.edit(replicas=2), wrong=wrong)
    history = History(namespace, "Deployment", "WebApp")

    def another_image():
        mark = recorder.mark()
        app.edit(image=other_image(app))
        eventually(lambda: recorder.since(mark).delivered("WebApp", name=app.name), within=SOON)

    recorder.meanwhile(writes(besides=("WebApp",)), another_image)
    app.edit(port=app.spec["port"] + 1)
    when = "the port was changed, and while the operator wrote that to a child, the image was changed as well"
    converged(app, when=when, hint="Look again.")
    expect(
        ahead(history, app),
        [],
        when=f"{when}; every version of the WebApp's status was compared with the Deployment of that moment",
        hint="observedGeneration says: I have acted upon this. It is the generation of the WebApp that this pass has "
        "read and acted upon, not of one that it reads afterwards.",
    )


@check(points=2, section="lost-updates", incident="cloudnative-pg/cloudnative-pg#6328", timeout=60)
def test_a_write_in_between_is_not_lost(operator, namespace, second_writer):
    """What another writer sets, changes or removes between the operator's read and its write stays so."""
    app = running(operator, namespace)
    attacks.rival_has_conditions(second_writer, app)
    operator.settle()
    attacks.write_in_between_is_not_lost(operator, app, second_writer, change=lambda: app.edit(replicas=2), wrong=wrong)
    since = {type: condition_in(app.now(), type)["lastTransitionTime"] for type in ("Available", "Degraded")}
    eventually(lambda: now_in_words() > max(since.values()))  # times are in whole seconds
    generation = app.edit(image=namespace.images.bad)["metadata"]["generation"]
    eventually(
        lambda: {"Available": conditions_of(app)["Available"], "observedGeneration": app.status["observedGeneration"]},
        {"Available": "False", "observedGeneration": generation},
        when="the image was changed to one that does not start",
        hint="Report in every pass what the Deployment shows, and for which generation.",
    )
    operator.settle()
    kept = {type: condition_in(app.now(), type)["lastTransitionTime"] == since[type] for type in since}
    expect(
        {type: "kept" if same else "new" for type, same in kept.items()},
        {"Available": "new", "Degraded": "kept"},
        when="Available became False, Degraded stayed False; the lastTransitionTime of each",
        hint="A condition's time says when it last changed from True to False or back.",
    )
    (old,) = (each["metadata"]["name"] for each in namespace.list("ReplicaSet") if runs_for(app, each))
    namespace.patch("ReplicaSet", old, {"spec": {"replicas": 1}})  # of two; nothing scales up what is to go anyway
    eventually(lambda: available_pods(app) == 1, within=SOON)
    eventually(
        lambda: app.status.get("availableReplicas", 0) == available_pods(app),
        within=SOON,
        when="the image was changed to one that does not start, so Available was False, and then one of the two Pods "
        "with the old image went",
        expected="availableReplicas in the status is what the Deployment's status says",
        seen=lambda: (
            f"{app.status.get('availableReplicas', 0)} in the status, {available_pods(app)} in the Deployment's"
        ),
        hint="A report says something new as well if only a number or a message has changed.",
    )


def runs_for(app, replica_set):
    """Whether a ReplicaSet of the WebApp's Deployment has Pods that are available."""
    owners = [each["name"] for each in replica_set["metadata"].get("ownerReferences", [])]
    return app.name in owners and replica_set["status"].get("availableReplicas", 0) > 0


def now_in_words():
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@check(points=3, section="reads-that-are-old", incident="pravega/zookeeper-operator#312", timeout=60)
def test_an_old_cache_destroys_nothing(operator, namespace):
    """Started with an old cache, without a running WebApp or with an earlier one of its name, it does no harm."""
    app = attacks.old_cache_destroys_nothing(
        operator, make=one_pod(namespace), wrong=wrong, children=CHILDREN, unreadable=True
    )
    children_go_first(operator, app)
    app = running(operator, namespace, replicas=0)
    operator.stop()
    app.delete()
    operator.start()
    eventually(
        lambda: children_of(app),
        [],
        within=SOON,
        when="the operator was stopped, a WebApp was deleted, and the operator was started; children that are left",
        hint="No one was there to see the deletion. With owner references, no one has to be.",
    )
    attacks.old_deletion_destroys_nothing(operator, make=one_pod(namespace), wrong=wrong, children=CHILDREN)
    attacks.old_deletion_destroys_nothing(operator, make=one_pod(namespace), wrong=wrong, children=CHILDREN, alive=True)


def children_go_first(operator, app):
    """Delete a WebApp in the foreground, while someone's finalizer holds it: its children go, and stay gone."""
    namespace = app.namespace
    namespace.patch("WebApp", app.name, {"metadata": {"finalizers": ["someone.example/hold"]}})
    mark = operator.settle()
    namespace.client.delete("converge.example/v1", "WebApp", app.name, namespace.name, propagation="Foreground")

    def made():  # by a create, or by an apply of what wasn't there
        return [str(each) for each in operator.recorder.since(mark).writes() if each.status == 201]

    def makes_nothing():
        expect(
            made(),
            [],
            when=f"{app} was being deleted, and its children were gone; what the operator made for it",
            hint="Make nothing for an object with a deletionTimestamp: the garbage collector would have to remove it "
            "again.",
        )

    eventually(
        lambda: [] if made() else children_of(app),
        [],
        when=f"{app} was deleted in the foreground, and someone else's finalizer held it; children that are left",
        hint="An ownerReference with controller: true lets the garbage collector do this. What it can't see is up to "
        "you.",
    )
    makes_nothing()
    operator.settle()
    makes_nothing()
    expect(
        children_of(app),
        [],
        when=f"{app} was being deleted, its children were gone, and the operator came to rest; children it has now",
        hint="Make nothing for an object with a deletionTimestamp: the garbage collector would have to remove it "
        "again.",
    )
    namespace.patch("WebApp", app.name, {"metadata": {"finalizers": None}})
    eventually(app.now, None, when=f"the finalizer was removed from {app}", expected="it goes")


@check(points=3, section="paths-through-the-specs", incident="minio/operator#2038", timeout=90)
def test_every_path_ends_where_a_fresh_start_ends(operator, namespace):
    """However the spec came about, the children are those of a WebApp that had it from the start."""
    operator.start()
    attacks.random_walks(
        operator,
        make=one_pod(namespace),
        fields=FIELDS,
        children=CHILDREN,
        hint="Compare the two: an older spec asked for what is left over.",
    )
