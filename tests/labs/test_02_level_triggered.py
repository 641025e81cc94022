"""Checks of lab 02, easiest first. Each docstring is the line that the learner reads."""

from functools import partial

from converge.grader import check, eventually, expect, fail
from converge.grader.checks.waits import quiet
from converge.grader.checks.webapps import (
    deployment_follows,
    deployment_of,
    foreign_deployment,
    image_and_replicas,
    namesakes,
    other_image,
    uid_of,
    wanted_image_and_replicas,
)
from converge.recorder import events, reads, writes
from converge.testing import attacks
from converge.testing.waits.idle import rolled_out

SOON = 6.0  # seconds; a right operator needs a fraction of one

follows = partial(deployment_follows, within=SOON)


def stays(operator, app, *, when, hint):
    """At rest, the Deployment is what the WebApp asks for: a right moment on the way doesn't count."""
    follows(app, when=when, hint=hint)  # an event takes its time to the operator, which is at rest until then
    operator.settle()
    when = f"{when}, and the operator had come to rest"
    expect(image_and_replicas(app), wanted_image_and_replicas(app), when=when, hint=hint)


def gone(app, *, when, hint):
    """The WebApp's Deployment goes."""
    eventually(
        lambda: f"Deployment {app.name} is still there" if deployment_of(app) else "",
        "",
        within=SOON,
        when=when,
        expected=f"no Deployment {app.name}, since there is no WebApp {app.name}",
        hint=hint,
    )


def may_conflict(deletion):
    """Whether a Conflict says nothing about whose Deployment it is. With a uid alone it does: it's another one now."""
    return list((deletion.sent or {}).get("preconditions", {})) != ["uid"]


def restore(namespace, deployment):
    """Create a Deployment once more, as a restored backup does: with its labels and owners, and with another uid."""
    kept = ("name", "labels", "annotations", "ownerReferences")
    metadata = {field: value for field, value in deployment["metadata"].items() if field in kept}
    namespace.create({"kind": "Deployment", "metadata": metadata, "spec": deployment["spec"]})


def looked_at(app, recorder):
    """Touch a WebApp, and wait until the operator reads it, if another worker of it is free to."""
    mark = recorder.mark()
    app.poke()
    recorder.wait_for(lambda: recorder.since(mark).reads("WebApp", verb="get", name=app.name), 1)


def another(app):
    """An image and a number of Pods that the WebApp does not ask for now."""
    return {"image": other_image(app), "replicas": app.spec["replicas"] + 2}


def at_ease(operator, app):
    """Wait until nothing calls for another look at the WebApp: no Pod that becomes ready, no write of the operator."""
    eventually(lambda: rolled_out(deployment_of(app)), within=SOON)
    quiet(operator, deadline=2)


@check(points=2, section="a-name-and-nothing-else", timeout=60)
def test_a_good_day(operator, namespace, recorder):
    """A WebApp gets its Deployment; it follows a change, and goes with the WebApp."""
    operator.start()
    app = namespace.webapp()
    follows(
        app,
        when="a WebApp was created",
        hint="When there is a WebApp of that name: ensure_deployment(self.client, webapp).",
    )
    app.edit(**another(app))
    follows(app, when="the WebApp's image and replicas were changed", hint="Read the WebApp at every call.")
    made = uid_of(app, "Deployment")
    for replicas in (0, 1):
        app.edit(replicas=replicas)
        follows(app, when=f"replicas was set to {replicas}", hint="0 is a number of Pods like any other.")
    if uid_of(app, "Deployment") != made:
        fail(
            when="replicas was set to 0, and then to 1",
            expected="the same Deployment, with 0 Pods and then with 1",
            got="the Deployment was deleted and another one created: what others had added to it is lost",
            hint="There must be no Deployment only if there is no WebApp. A WebApp that asks for 0 Pods is there.",
        )
    namespace.patch(app.kind, app.name, {"metadata": {"finalizers": ["backup.example/keeps-it"]}})
    mark, before = operator.settle(), uid_of(app, "Deployment")
    app.delete()
    recorder.wait_for(lambda: recorder.since(mark).delivered("WebApp", name=app.name), 2)  # one that polls has no event
    operator.settle()
    if uid_of(app, "Deployment") != before:
        fail(
            when="the WebApp was being deleted, and someone else's finalizer still held it: it was there, with a "
            "deletionTimestamp",
            expected="its Deployment stays until the WebApp is gone",
            got="the Deployment was deleted",
            seen=[str(each) for each in recorder.since(mark).writes("Deployment")[:3]],
            hint="Ask whether there is a WebApp of that name now. One that is being deleted is still there: only "
            "NotFound says that it's gone.",
        )
    namespace.patch(app.kind, app.name, {"metadata": {"finalizers": None}})
    gone(
        app,
        when="the WebApp was deleted",
        hint="When there is no WebApp of that name, there must be no Deployment: call remove().",
    )


@check(
    points=3,
    section="nothing-in-memory",
    incident="instaclustr/cassandra-operator#398: a change it missed left a volume claim behind",
    timeout=60,
)
def test_changed_while_it_was_down(operator, namespace):
    """A change made while the operator was down is applied when it starts."""
    app = namespace.webapp(replicas=3)
    operator.start()
    follows(
        app, when="a WebApp existed before the operator was started", hint="At the start, every name is handed out."
    )
    at_ease(operator, app)
    operator.stop()
    app.edit(**another(app))
    operator.start()
    follows(
        app,
        when="image and replicas were changed while the operator was down, and it was started again",
        hint="The Deployment exists, but is it right? Look inside it. Don't rely on memory: a restart wipes it out.",
    )
    app.edit(replicas=6)
    follows(
        app,
        when="replicas was then changed to 6",
        hint="Set the number that is asked for. Adding a difference to a wrong number gives a wrong number.",
    )


@check(
    points=2,
    section="deleted-is-a-level-too",
    incident="Altinity/clickhouse-operator#473: Pods left behind by a deletion that was cut short",
    timeout=60,
)
def test_deleted_while_it_was_down(operator, namespace, recorder):
    """If a WebApp is deleted while the operator is down, its Deployment goes at the next start, and no other."""
    app, other, stranger = namespace.webapp(), namespace.webapp(), namespace.new_name()
    foreign_deployment(namespace, stranger, container="web")
    operator.start()
    for each in (app, other):
        follows(each, when="two WebApps were created", hint="Each name is looked at.")
        at_ease(operator, each)
    backup = deployment_of(app)
    operator.stop()
    app.delete()
    recorder.fail(writes("Deployment", name=app.name), status=500)
    operator.start()
    gone(
        app,
        when="the WebApp was deleted while the operator was down, and it was started again; to its first attempt to "
        "delete the Deployment the server answered 500",
        hint="No event will tell you. But its Deployment is there and has a name: what does requests_for make of it? "
        "And don't swallow errors, or nothing tries again: when you delete a Deployment, only NotFound is fine.",
    )
    kept = uid_of(other, "Deployment")
    two_at_once = recorder.meanwhile(reads("WebApp", verb="get", name=app.name), lambda: looked_at(other, recorder))
    restore(namespace, backup)
    eventually(lambda: two_at_once.fired, within=2)  # one that reads a cache asks nothing
    operator.settle()
    if uid_of(other, "Deployment") != kept:
        fail(
            when=f"the Deployment of a deleted WebApp came back out of a backup, and while one worker asked for "
            f"that WebApp, another one looked at {other.name}",
            expected=f"the Deployment of {other.name} stays: its WebApp is there",
            got="it was deleted",
            hint="Several workers call the same reconciler, each with another name. Keep the name in a variable of the "
            "call, not on `self`.",
        )
    gone(
        app,
        when="the operator had removed the Deployment, which then came back out of a backup, and there was still no "
        "WebApp",
        hint="Having removed it once says nothing about now. Remember nothing, and look each time.",
    )
    stays(operator, other, when="another WebApp was deleted", hint="Remove only what has no WebApp.")
    expect(
        namespace.get("Deployment", stranger) is not None,
        True,
        expected="that Deployment stays",
        when="a Deployment that another team made, without our labels, was in the same namespace",
        hint="Remove only what carries the label of our own Deployments.",
    )


@check(
    points=3,
    section="nothing-in-memory",
    incident="instaclustr/cassandra-operator#410: scaled down and up again, and one node stayed decommissioned",
    timeout=60,
)
def test_there_and_back_while_it_was_down(operator, namespace):
    """Replicas 3 → 2 → 3 and a Deployment deleted, all while the operator was down: the Deployment comes back."""
    app = namespace.webapp(replicas=3)
    operator.start()
    follows(app, when="a WebApp was created", hint="At the start, every name is handed out.")
    operator.stop()
    app.edit(replicas=2)
    namespace.delete("Deployment", app.name)
    app.edit(replicas=3)
    operator.start()
    follows(
        app,
        when="while the operator was down, replicas went 3 → 2 → 3 and the Deployment was deleted; then it was started",
        hint="The spec is what it was before, and the cluster isn't. Compare the two.",
    )


@check(points=2, section="who-nudges", incident="scylladb/scylla-operator#449", timeout=60)
def test_a_deleted_deployment_comes_back(operator, namespace, recorder):
    """A Deployment that is deleted or changed under a running operator is put right."""
    app = namespace.webapp()
    operator.start()
    follows(app, when="a WebApp was created", hint="At the start, every name is handed out.")
    operator.settle()
    before = uid_of(app, "Deployment")
    namespace.delete("Deployment", app.name, propagation="Foreground")
    eventually(
        lambda: uid_of(app, "Deployment") not in (None, before),
        within=SOON,
        when="the Deployment was deleted while the operator ran, its Pods first (--cascade=foreground); nothing "
        "happened to the WebApp",
        expected=f"a new Deployment {app.name}",
        hint="requests_for hands out the name of its WebApp, whatever happened to the Deployment, even while it's "
        "being deleted. And an unchanged spec isn't a reason to stop.",
    )
    follows(app, when="the Deployment was deleted and created again", hint="Create it as the WebApp asks.")
    at_ease(operator, app)
    label = {"app.kubernetes.io/instance": namespace.new_name()}
    namespace.patch("Deployment", app.name, {"metadata": {"labels": label}})
    quiet(operator)
    namespace.patch("Deployment", app.name, {"spec": {"replicas": app.spec["replicas"] + 1}})
    follows(
        app,
        when="the label app.kubernetes.io/instance of the Deployment was changed by hand, and then its replicas",
        hint="The Deployment has the name of its WebApp. A label is only what someone has written there.",
    )
    mark = operator.settle()
    changes = writes("Deployment", name=app.name, where=lambda request: request.verb not in ("create", "delete"))
    too_late = recorder.meanwhile(changes, lambda: namespace.delete("Deployment", app.name))
    app.edit(image=other_image(app))
    when = "the image was changed, and the Deployment was deleted right before the operator's write arrived"
    follows(app, when=when, hint="Create it as the WebApp asks.")
    deleted = recorder.since(mark).writes("Deployment", verb="delete", name=app.name)
    if too_late.fired and deleted:  # one that deletes and creates for every change has nothing that comes too late
        fail(
            when=when,
            expected="the operator creates it again, since the WebApp still exists",
            got="the operator sent a delete for the Deployment of a WebApp that still exists",
            seen=[str(each) for each in recorder.since(mark).writes("Deployment", name=app.name)[:4]],
            hint="This NotFound is about the Deployment. Only the one from reading the WebApp says that there is no "
            "WebApp: keep everything else out of that try.",
        )


@check(points=2, section="who-nudges", timeout=60)
def test_a_lost_event(operator, namespace, recorder):
    """When an event is lost, the next one, about something else, is enough."""
    app = namespace.webapp()
    operator.start()
    follows(app, when="a WebApp was created", hint="At the start, every name is handed out.")
    operator.settle()
    lost = recorder.drop(events("WebApp", name=app.name))
    app.edit(**another(app))
    eventually(lambda: lost.fired, within=2)  # an operator that only polls has no event to lose
    app.poke()
    follows(
        app,
        when="image and replicas were changed and the event was kept back; then an annotation was changed",
        hint="Any event means: look at this object, and at all of it.",
    )


@check(points=2, section="what-an-event-is-worth", timeout=60)
def test_every_event_twice(operator, namespace, recorder):
    """When every event comes twice, nothing is done twice."""
    for kind in ("WebApp", "Deployment"):
        recorder.duplicate(events(kind), times=None)
    operator.start()
    app = namespace.webapp()
    follows(app, when="a WebApp was created and each event came twice", hint="The second look finds it done.")
    app.edit(**another(app))
    stays(
        operator,
        app,
        when="the WebApp was changed, and each event came twice",
        hint="Set what the spec asks for. Don't add something for each event.",
    )
    mark = recorder.mark()
    app.delete()
    gone(app, when="the WebApp was deleted, and each event came twice", hint="Call remove().")
    recorder.wait_quiet(0.5, deadline=4)
    refused = [each for each in recorder.since(mark).writes("Deployment") if (each.status or 0) >= 400]
    if len(refused) > 5:
        fail(
            when="the WebApp was deleted, each event came twice, and half a second passed without a request",
            expected="at most a few attempts to delete a Deployment that's already gone",
            got=f"{len(refused)} refused attempts, each later than the one before: they are retries",
            seen=[str(each) for each in refused[-4:]],
            hint="A Deployment that's already gone is what remove() wants. If you raise here, the error is retried "
            "forever.",
        )


@check(points=2, section="what-an-event-is-worth", timeout=60)
def test_events_in_the_wrong_order(operator, namespace, recorder):
    """When two events come in the wrong order, the newer spec wins."""
    app = namespace.webapp(replicas=2)
    operator.start()
    stays(operator, app, when="a WebApp was created", hint="At the start, every name is handed out.")
    turned = recorder.reorder(events("WebApp", name=app.name), window=2)
    app.edit(replicas=5)
    app.edit(replicas=4, image=other_image(app))
    eventually(lambda: len(turned.fired) == 2, within=2)
    stays(
        operator,
        app,
        when="replicas was set to 5, then to 4, and the event of the second change came first",
        hint="Read the WebApp by its name, and act on what it says now. The one in the event may be older.",
    )


@check(points=2, section="what-an-event-is-worth", timeout=60)
def test_many_events_become_one(operator, namespace, recorder):
    """When a deletion and a new WebApp of the same name become one event, the new spec wins."""
    app = namespace.webapp()
    operator.start()
    stays(operator, app, when="a WebApp was created", hint="At the start, every name is handed out.")
    held = recorder.hold(events("WebApp", name=app.name))
    new = another(app)
    app.delete()
    eventually(lambda: app.now() is None, within=SOON)
    app = namespace.webapp(app.name, **new)
    eventually(lambda: len(held.fired) == 2, within=2)
    held.release(collapse=True)
    follows(
        app,
        when="a WebApp was deleted, one of the same name was created, and only the last event came through",
        hint="Neither an event nor what you remember says whether there is a Deployment, or for which WebApp. Look.",
    )
    stays(operator, app, when="only the last event came through", hint="Look, then fix what differs.")


@check(points=2, section="nothing-in-memory", incident="rabbitmq/cluster-operator#782", timeout=60)
def test_killed_in_the_middle(operator, namespace, recorder):
    """Killed right after a write, changed while it is dead, started again: it gets there."""
    app = namespace.webapp()
    for what in ("created", "changed"):
        killed = recorder.kill_after(writes(), kill=operator.crash)
        operator.start()
        eventually(
            lambda killed=killed: killed.fired and not operator.running,
            within=SOON,
            when=f"a WebApp was {what} and the operator was started",
            expected="it writes something",
            hint="The WebApp asks for something that isn't in the cluster yet.",
        )
        app.edit(**another(app))
    operator.start()
    follows(
        app,
        when="the operator was killed right after a write, twice; the WebApp changed each time; it was started again",
        hint="The cluster shows what was done before. Anything kept in memory died with the process.",
    )


@check(points=2, section="what-an-event-is-worth", timeout=60)
def test_a_nudge_for_nothing(operator, namespace, recorder):
    """A nudge with nothing to do leads to no write."""
    app = namespace.webapp()
    operator.start()
    follows(app, when="a WebApp was created", hint="At the start, every name is handed out.")
    mark = operator.settle()
    app.poke()
    namespace.patch("Deployment", app.name, {"metadata": {"annotations": {"poked.example/by": "a-user"}}})
    recorder.wait_for(lambda: len({each.resource for each in recorder.since(mark).events}) == 2, 1)
    operator.settle()
    written = recorder.since(mark).writes()
    if written:
        fail(
            when="an annotation was set on the WebApp and one on its Deployment",
            expected="a look, and no write",
            got="1 write" if len(written) == 1 else f"{len(written)} writes",
            seen=[str(each) for each in written[:4]],
            hint="Compare first, and leave alone what is already right.",
        )


@check(points=3, section="a-name-and-nothing-else", timeout=60)
def test_an_unreadable_webapp_is_not_gone(operator, namespace, recorder):
    """When a WebApp can't be read, its Deployment stays."""
    operator.start()
    cases = []
    for status, reason, answer in (
        (500, None, "500"),
        (504, None, "504"),
        (403, None, "403"),
        (429, None, "429"),
        (404, "", "404 page not found, which is UnknownKind: for a moment it didn't serve any WebApp,"),
    ):
        app = namespace.webapp(replicas=1)
        cases.append((app, status, reason, answer))
    for app, *_ in cases:
        follows(app, when="a WebApp was created", hint="At the start, every name is handed out.")
        at_ease(operator, app)
    mark, faults = recorder.mark(), []
    before = {app.name: uid_of(app, "Deployment") for app, *_ in cases}
    for app, status, reason, _ in cases:
        faults.append(recorder.fail(reads("WebApp", verb="get", name=app.name), status=status, reason=reason))
        app.poke()
    eventually(lambda: all(each.fired for each in faults), within=3)  # one that reads a cache has none
    operator.settle()
    for app, _, _, answer in cases:
        deleted = recorder.since(mark).writes("Deployment", verb="delete", name=app.name)
        if deleted or uid_of(app, "Deployment") != before[app.name]:
            fail(
                when=f"the API server answered {answer} once when the WebApp was read",
                expected="the Deployment stays: the WebApp exists, it just couldn't be read",
                got="the Deployment of a running WebApp was deleted",
                seen=[str(each) for each in deleted[:3]],
                hint="Only NotFound says that there is no WebApp. Any other error says that you don't know: let it "
                "propagate, and the pass is run again.",
            )


def not_followed(app):
    """How the Deployment differs from what the WebApp asks for, in words."""
    found, wanted = image_and_replicas(app), wanted_image_and_replicas(app)
    return "" if found == wanted else f"the Deployment has {found}, the WebApp asks for {wanted}"


@check(points=2, section="a-name-and-nothing-else", timeout=120)
def test_every_request_may_fail(operator, namespace, recorder):
    """Whichever request fails, the Deployment is created, follows and goes in the end."""
    attacks.fault_at_every_request(
        operator,
        make=lambda name=None, **spec: namespace.webapp(name, **{"replicas": 1, **spec}),
        wrong=not_followed,
        children=["Deployment"],
        edit=lambda app: app.edit(image=other_image(app)),
        deletion=True,
        modes=["500", "504", "lost"],
        hint="Let an error propagate, and the pass is run again. An error that is caught and logged is forgotten. "
        "NotFound is the one exception: for the WebApp it means that the Deployment must go, for the Deployment that "
        "it is gone.",
    )
    app = namespace.webapp(replicas=1)
    follows(app, when="a WebApp was created", hint="Every name that an event is about is handed out.")
    operator.settle()
    lagging = recorder.fail(reads("Deployment", verb="get", name=app.name), status=404, times=None)
    mark = recorder.mark()
    app.edit(image=other_image(app))
    eventually(lambda: recorder.since(mark).writes("Deployment", name=app.name), within=2)  # one that lists has no GET
    lagging.remove()
    follows(
        app,
        when="the image was changed, and reads that lagged behind said for a moment that there is no Deployment",
        hint="AlreadyExists says that there is a Deployment, and not what is in it. Let it propagate: the next pass "
        "looks again.",
    )
    for status, because in ((403, "a permission was missing"), (422, "a policy of the cluster refused it")):
        at_ease(operator, app)  # nothing else nudges
        refused = recorder.fail(writes("Deployment", name=app.name), status=status)
        app.edit(image=other_image(app))
        eventually(lambda refused=refused: refused.fired, within=SOON)
        follows(
            app,
            when=f"the image was changed, and the API server answered {status} to the first write: {because}",
            hint="Let the error propagate as it is, and the pass is run again. Nobody can know that it will be refused "
            "again.",
        )
    for match, what in (
        (reads("WebApp", verb="get", name=app.name), "read of the WebApp"),
        (writes("Deployment", name=app.name), "write to the Deployment"),
    ):
        at_ease(operator, app)
        outage = recorder.fail(match, status=503, times=None)
        app.edit(image=other_image(app))
        recorder.wait_for(lambda outage=outage: len(outage.fired) >= 6, 2)  # a pause after each, ever longer
        outage.remove()
        follows(
            app,
            when=f"the image was changed, and for a while the API server answered 503 to every {what}, "
            f"{len(outage.fired)} times in all",
            hint="Nobody knows how long an outage lasts. A pass that has tried often enough must still raise: if it "
            "returns, nothing tries again.",
        )
    at_ease(operator, app)
    recorder.fail(writes("Deployment", verb="delete", name=app.name, where=may_conflict), status=409)
    app.delete()
    gone(
        app,
        when="the WebApp was deleted, and the API server answered 409 Conflict to the first attempt to delete the "
        "Deployment",
        hint="Conflict says that nothing was done. Let it propagate, and the next pass looks again: when you delete a "
        "Deployment, only NotFound is fine.",
    )


@check(points=2, section="a-name-and-nothing-else", timeout=60)
def test_a_name_and_a_namespace(operator, namespace, other_namespace):
    """Two WebApps with the same name in two namespaces: each has its own Deployment, and loses only that."""
    attacks.namesakes_are_independent(
        operator,
        make=namesakes(),
        wrong=not_followed,
        children=["Deployment"],
        edit=lambda app: app.edit(replicas=3),
        deletion=True,
        reborn=True,
    )
