"""Checks of lab 02, easiest first. Each docstring is the line that the learner reads."""

from converge.grader import check, eventually, expect, fail
from converge.grader.recorder import events, reads, writes
from converge.grader.rest import rolled_out

SOON = 6.0  # seconds; a right operator needs a fraction of one


def wish(app):
    spec = app.spec
    return {"image": spec["image"], "replicas": spec["replicas"]}


def world(namespace, name):
    """Image and number of Pods of the Deployment of that name; None when there is none."""
    deployment = namespace.get("Deployment", name)
    if deployment is None:
        return None
    images = {each["name"]: each["image"] for each in deployment["spec"]["template"]["spec"]["containers"]}
    return {"image": images.get("web"), "replicas": deployment["spec"]["replicas"]}


def follows(namespace, app, *, when, hint):
    """The Deployment becomes what the WebApp asks for."""
    eventually(lambda: world(namespace, app.name), wish(app), within=SOON, when=when, hint=hint)


def stays(operator, namespace, app, *, when, hint):
    """When all is quiet, the Deployment is what the WebApp asks for: a right moment on the way does not count."""
    operator.settle()
    expect(world(namespace, app.name), wish(app), when=f"{when}, and the operator had come to rest", hint=hint)


def gone(namespace, name, *, when, hint):
    """There is no Deployment of that name any more."""
    eventually(
        lambda: namespace.get("Deployment", name) is None,
        within=SOON,
        when=when,
        expected=f"no Deployment {name}, since there is no WebApp {name}",
        hint=hint,
    )


def another(namespace, app):
    """An image and a number of Pods that the WebApp does not ask for now."""
    now = wish(app)
    return {
        "image": next(image for image in namespace.images.web if image != now["image"]),
        "replicas": now["replicas"] + 2,
    }


def bystander(namespace):
    """A Deployment that is none of the operator's business."""
    labels = {"app": namespace.new_name()}
    pod = {"containers": [{"name": "web", "image": namespace.images.web[0]}]}
    made = namespace.create(
        {
            "kind": "Deployment",
            "metadata": {"name": namespace.new_name()},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        }
    )
    return made["metadata"]["name"]


def at_ease(operator, namespace, app):
    """Wait until nothing calls for another look at the WebApp: no Pod that becomes ready, no write of the operator."""
    eventually(lambda: rolled_out(namespace.get("Deployment", app.name)), within=SOON)
    operator.recorder.wait_quiet(0.3, deadline=2, ignoring=reads())


@check(points=2, section="a-name-and-nothing-else", timeout=60)
def test_a_good_day(operator, namespace):
    """A WebApp gets its Deployment; it follows a change, and goes with the WebApp."""
    operator.start()
    app = namespace.webapp()
    follows(
        namespace,
        app,
        when="a WebApp was created",
        hint="When there is a WebApp of that name: ensure_deployment(self.client, webapp).",
    )
    app.edit(**another(namespace, app))
    follows(namespace, app, when="the WebApp's image and replicas were changed", hint="Read the WebApp at every call.")
    app.delete()
    gone(
        namespace,
        app.name,
        when="the WebApp was deleted",
        hint="When there is no WebApp of that name, there has to be no Deployment: call remove().",
    )


@check(
    points=3,
    section="nothing-in-memory",
    incident="instaclustr/cassandra-operator#398",
    timeout=60,
)
def test_changed_while_it_was_down(operator, namespace):
    """A change that was made while the operator was down is made up for at its start."""
    app = namespace.webapp(replicas=3)
    operator.start()
    follows(
        namespace, app, when="a WebApp existed before the operator was started", hint="Every name comes at the start."
    )
    at_ease(operator, namespace, app)
    operator.stop()
    app.edit(**another(namespace, app))
    operator.start()
    follows(
        namespace,
        app,
        when="image and replicas were changed while the operator was down, and it was started again",
        hint="The Deployment exists, but is it right? Look into it; do not ask your memory, which a restart wipes out.",
    )
    app.edit(replicas=6)
    follows(
        namespace,
        app,
        when="replicas was then changed to 6",
        hint="Set the number that is asked for. Adding a difference to a wrong number gives a wrong number.",
    )


@check(points=2, section="deleted-is-a-level-too", incident="Altinity/clickhouse-operator#2050", timeout=60)
def test_deleted_while_it_was_down(operator, namespace, recorder):
    """The Deployment of a WebApp that was deleted while the operator was down goes at its start, and no other."""
    app, other, stranger = namespace.webapp(), namespace.webapp(), bystander(namespace)
    operator.start()
    for each in (app, other):
        follows(namespace, each, when="two WebApps were created", hint="Each name is looked at.")
        at_ease(operator, namespace, each)
    operator.stop()
    app.delete()
    recorder.fail(writes("Deployment", name=app.name), status=500)
    operator.start()
    gone(
        namespace,
        app.name,
        when="the WebApp was deleted while the operator was down, and it was started again; to its first attempt to "
        "delete the Deployment the server answered 500",
        hint="No event will tell you. But its Deployment is there and has a name: what does requests_for make of it? "
        "And an error that is swallowed is never tried again: of a Deployment that is to go, only NotFound is good.",
    )
    stays(operator, namespace, other, when="another WebApp was deleted", hint="Remove only what has no WebApp.")
    expect(
        namespace.get("Deployment", stranger) is not None,
        True,
        when="a Deployment that somebody else made, without our labels, was in the same namespace",
        hint="Remove only what carries the label of our own Deployments.",
    )


@check(
    points=3,
    section="nothing-in-memory",
    incident="instaclustr/cassandra-operator#410: scaled down and up again, and one node was out for good",
    timeout=60,
)
def test_there_and_back_while_it_was_down(operator, namespace):
    """Replicas 3 → 2 → 3 and a Deployment deleted, all while the operator was down: the Deployment comes back."""
    app = namespace.webapp(replicas=3)
    operator.start()
    follows(namespace, app, when="a WebApp was created", hint="Every name comes at the start.")
    operator.stop()
    app.edit(replicas=2)
    namespace.delete("Deployment", app.name)
    app.edit(replicas=3)
    operator.start()
    follows(
        namespace,
        app,
        when="while the operator was down, replicas went 3 → 2 → 3 and the Deployment was deleted; then it was started",
        hint="The spec is as it was, the world is not. Compare the spec with the world.",
    )


@check(points=2, section="who-nudges", incident="scylladb/scylla-operator#449", timeout=60)
def test_a_deleted_deployment_comes_back(operator, namespace):
    """A Deployment that is deleted under a running operator comes back."""
    app = namespace.webapp()
    operator.start()
    follows(namespace, app, when="a WebApp was created", hint="Every name comes at the start.")
    operator.settle()
    before = namespace.get("Deployment", app.name)["metadata"]["uid"]
    namespace.delete("Deployment", app.name)
    eventually(
        lambda: (namespace.get("Deployment", app.name) or {}).get("metadata", {}).get("uid") not in (None, before),
        within=SOON,
        when="the Deployment was deleted while the operator ran; nothing happened to the WebApp",
        expected=f"a new Deployment {app.name}",
        hint="requests_for hands out the name of its WebApp; and that the spec is the same is no reason to stop.",
    )
    follows(namespace, app, when="the Deployment was deleted and made again", hint="Make it as the WebApp asks.")


@check(points=2, section="who-nudges", timeout=60)
def test_a_lost_event(operator, namespace, recorder):
    """When an event is lost, the next one, about something else, is enough."""
    app = namespace.webapp()
    operator.start()
    follows(namespace, app, when="a WebApp was created", hint="Every name comes at the start.")
    operator.settle()
    lost = recorder.drop(events("WebApp", name=app.name))
    app.edit(**another(namespace, app))
    eventually(lambda: lost.fired, within=2)  # an operator that only polls has no event to lose
    app.poke()
    follows(
        namespace,
        app,
        when="image and replicas were changed and the event was kept back; then an annotation was changed",
        hint="An event of any kind means: look at this object, all of it.",
    )


@check(points=2, section="what-an-event-is-worth", timeout=60)
def test_every_event_twice(operator, namespace, recorder):
    """When every event comes twice, nothing is done twice."""
    for kind in ("WebApp", "Deployment"):
        recorder.duplicate(events(kind), times=None)
    operator.start()
    app = namespace.webapp()
    follows(
        namespace, app, when="a WebApp was created and each event came twice", hint="The second look finds it done."
    )
    app.edit(**another(namespace, app))
    stays(
        operator,
        namespace,
        app,
        when="the WebApp was changed, and each event came twice",
        hint="Set what is asked for; do not add to what is there for each event.",
    )
    mark = recorder.mark()
    app.delete()
    gone(namespace, app.name, when="the WebApp was deleted, and each event came twice", hint="Call remove().")
    recorder.wait_quiet(0.5, deadline=4)
    refused = [each for each in recorder.since(mark).writes("Deployment") if (each.status or 0) >= 400]
    if len(refused) > 5:
        fail(
            when="the WebApp was deleted, each event came twice, and half a second passed without a request",
            expected="a few attempts at most to delete a Deployment that is gone already",
            got=f"{len(refused)} refused attempts, each later than the one before: they are retries",
            seen=[str(each) for each in refused[-4:]],
            hint="That the Deployment is not there is what remove() wants. An error would be retried for ever.",
        )


@check(points=2, section="what-an-event-is-worth", timeout=60)
def test_events_in_the_wrong_order(operator, namespace, recorder):
    """When two events come in the wrong order, the newer wish holds."""
    app = namespace.webapp(replicas=2)
    operator.start()
    stays(operator, namespace, app, when="a WebApp was created", hint="Every name comes at the start.")
    turned = recorder.reorder(events("WebApp", name=app.name), window=2)
    app.edit(replicas=5)
    app.edit(replicas=4, image=another(namespace, app)["image"])
    eventually(lambda: len(turned.fired) == 2, within=2)
    stays(
        operator,
        namespace,
        app,
        when="replicas was set to 5, then to 4, and the operator was told of the second change first",
        hint="Carry out the WebApp as it is now, read by its name; the one in an event may be older.",
    )


@check(points=2, section="what-an-event-is-worth", timeout=60)
def test_many_events_become_one(operator, namespace, recorder):
    """When a deletion and a new WebApp of the same name become one event, the new wish holds."""
    app = namespace.webapp()
    operator.start()
    stays(operator, namespace, app, when="a WebApp was created", hint="Every name comes at the start.")
    held = recorder.hold(events("WebApp", name=app.name))
    new = another(namespace, app)
    app.delete()
    eventually(lambda: app.now() is None, within=SOON)
    app = namespace.webapp(app.name, **new)
    eventually(lambda: len(held.fired) == 2, within=2)
    held.release(collapse=True)
    follows(
        namespace,
        app,
        when="a WebApp was deleted, one of the same name was created, and only the last event came through",
        hint="ADDED does not mean that there is no Deployment yet. Look.",
    )
    stays(operator, namespace, app, when="only the last event came through", hint="Look, and make it so.")


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
            hint="There is a difference between the WebApp and the world.",
        )
        app.edit(**another(namespace, app))
    operator.start()
    follows(
        namespace,
        app,
        when="the operator was killed right after a write, twice; the WebApp changed each time; it was started again",
        hint="What was done before is to be seen in the cluster. A note in memory died with the process.",
    )


@check(points=2, section="what-an-event-is-worth", timeout=60)
def test_a_nudge_for_nothing(operator, namespace, recorder):
    """A nudge with nothing to do leads to no write."""
    app = namespace.webapp()
    operator.start()
    follows(namespace, app, when="a WebApp was created", hint="Every name comes at the start.")
    mark = operator.settle()
    app.poke()
    namespace.patch("Deployment", app.name, {"metadata": {"annotations": {"poked.example/by": "somebody"}}})
    recorder.wait_for(lambda: len({each.resource for each in recorder.since(mark).events}) == 2, 1)
    operator.settle()
    written = recorder.since(mark).writes()
    if written:
        fail(
            when="an annotation was set on the WebApp and one on its Deployment",
            expected="a look, and no write",
            got=f"{len(written)} write(s)",
            seen=[str(each) for each in written[:4]],
            hint="Compare first: what is right already is left alone.",
        )
