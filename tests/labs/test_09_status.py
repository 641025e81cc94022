"""Checks of lab 09, easiest first. Each docstring is the line that the learner reads."""

import random
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from converge.grader import attacks, check, eventually, expect, fail
from converge.grader.history import History, version
from converge.grader.recorder import reads, writes
from converge.grader.rest import rolled_out

OURS = ("Available", "Progressing", "Degraded")


def states(app):
    """The status of each of our conditions, by type; "none" where there is no such condition."""
    there = {each["type"]: each["status"] for each in app.status.get("conditions", [])}
    return {type: there.get(type, "none") for type in OURS}


def available(app):
    return states(app)["Available"]


def becomes_available(app, *, when, hint):
    """Wait until the WebApp says of its newest generation that it is available."""

    def said():
        now = app.now()
        generation = now["metadata"]["generation"]
        seen = now.get("status", {}).get("observedGeneration")
        reached = "the newest" if seen == generation else f"{seen}, and the newest is {generation}"
        return {"Available": condition_in(now, "Available").get("status"), "observedGeneration": reached}

    eventually(
        said,
        {"Available": "True", "observedGeneration": "the newest"},
        when=when,
        hint=hint,
        seen=lambda: f"its status: {app.status}",
    )


def running(operator, namespace, **spec):
    """A WebApp that says that it is available."""
    app = namespace.webapp(**{"replicas": 1, "image": namespace.images.web[0], **spec})
    if not operator.running:
        operator.start()
    hint = "The status is written to the subresource `status`; a write to the object itself leaves it as it was."
    becomes_available(app, when="a WebApp was created", hint=hint)
    return app


def condition_in(webapp, type):
    return next((each for each in webapp.get("status", {}).get("conditions", []) if each["type"] == type), {})


def image_of(deployment):
    return next(each["image"] for each in deployment["spec"]["template"]["spec"]["containers"] if each["name"] == "web")


def describe(deployment):
    """What the status of a Deployment says, in words."""
    status, generation = deployment.get("status", {}), deployment["metadata"]["generation"]
    total, updated, available = (status.get(key, 0) for key in ("replicas", "updatedReplicas", "availableReplicas"))
    seen = f"its generation was {generation}, its observedGeneration {status.get('observedGeneration')}"
    return f"{total} replicas, {updated} of them updated, {available} available; {seen}"


def premature(history, app):
    """Reports of Available for a generation whose rollout was not done when they were made."""
    deployments = history.versions("Deployment", app.name)
    found = []
    for webapp in history.versions("WebApp", app.name):
        status, generation = webapp.get("status", {}), webapp["metadata"]["generation"]
        if condition_in(webapp, "Available").get("status") != "True" or status.get("observedGeneration") != generation:
            continue
        before = [each for each in deployments if version(each) < version(webapp)]
        wanted = webapp["spec"]["image"], webapp["spec"]["replicas"]
        if before and ((image_of(before[-1]), before[-1]["spec"]["replicas"]) != wanted or not rolled_out(before[-1])):
            found.append(f"generation {generation}, when the Deployment had {describe(before[-1])}")
    return found


@check(points=2, section="a-report-has-its-own-address", incident="nolar/kopf#574")
def test_the_status_says_what_is_there(operator, namespace):
    """The status of a WebApp has its generation, the replicas that are available, and its URL."""
    app = namespace.webapp(replicas=random.randint(2, 3))
    operator.start()
    wanted = {
        "observedGeneration": 1,
        "availableReplicas": app.spec["replicas"],
        "url": f"http://{app.name}.{namespace}.svc:{app.spec['port']}",
    }
    eventually(
        lambda: {key: app.status.get(key) for key in wanted},
        wanted,
        when="a WebApp was created, and its Pods came up",
        hint="The status is written to the subresource `status`: a write to the object itself leaves it as it was, "
        "without an error. Fields that the CRD does not know are dropped, also without an error.",
        seen=lambda: f"its status: {app.status}",
    )


@check(points=2, section="conditions")
def test_conditions_of_a_webapp_that_runs(operator, namespace):
    """A WebApp whose rollout is done is Available, not Progressing, and not Degraded."""
    app = running(operator, namespace)
    eventually(
        lambda: states(app),
        {"Available": "True", "Progressing": "False", "Degraded": "False"},
        when="a WebApp was created, and its Pods came up",
        hint="Three questions, each with an answer of its own: is it there, is it on its way, has it failed?",
    )
    namespace.patch("Deployment", app.name, {"spec": {"minReadySeconds": 20}})
    app.edit(image=namespace.images.web[1])
    eventually(
        lambda: states(app),
        {"Available": "False", "Progressing": "True", "Degraded": "False"},
        when="the image was changed, and the rollout takes 20 s, because somebody has set minReadySeconds",
        hint="A rollout that is under way is not done, and has not failed either.",
        seen=lambda: f"the status of the Deployment: {namespace.get('Deployment', app.name)['status']}",
    )


@check(points=2, section="conditions", incident="strimzi/strimzi-kafka-operator#13079")
def test_at_rest_nothing_is_written(operator, namespace, recorder):
    """With nothing new to say, nothing is written, however often the WebApp is touched."""
    app = running(operator, namespace)
    hint = (
        "Compare what you have to say with what the status says. A time that is new in every pass is never the same, "
        "and a status that is written at every pass calls you again."
    )
    mark = recorder.mark()

    def restless():
        return [str(each) for each in recorder.since(mark).writes("WebApp")[8:]]

    eventually(lambda: restless() or recorder.wait_quiet(0.5, deadline=1, ignoring=reads()))
    when = "a WebApp was available, nobody touched anything, and it kept writing; what it wrote after its eighth status"
    expect(restless(), [], when=when, hint=hint)
    # Who remembers its applies in memory may send each of them once more after a restart, if it changes nothing.
    attacks.zero_writes_at_rest(operator, app, restart=False, hint=hint)


@check(points=3, section="of-which-generation", incident="openstack-k8s-operators/keystone-operator#560")
def test_a_bad_image_is_not_available(operator, namespace):
    """A WebApp that gets an image which cannot start is no longer Available, though its old Pods still run."""
    app = running(operator, namespace, replicas=2)
    hint = "The old Pods keep running, and availableReplicas says so. They are not what the spec asks for now."
    app.edit(image=namespace.images.bad)
    eventually(
        lambda: available(app),
        "False",
        when="the image of a running WebApp was changed to one that cannot be pulled",
        hint=hint,
        seen=lambda: f"the status of the Deployment: {namespace.get('Deployment', app.name)['status']}",
    )
    operator.settle()
    expect(
        available(app),
        "False",
        when="the image of a running WebApp was changed to one that cannot be pulled, and all came to rest",
        hint=hint,
    )
    app.edit(image=namespace.images.web[1])
    becomes_available(app, when="the image was mended", hint="A report follows the world, in both directions.")


@check(points=3, section="of-which-generation", incident="project-koku/koku-service-operator#176")
def test_available_only_when_this_generation_is_rolled_out(operator, namespace):
    """Available is never said of a generation whose rollout is not done."""
    app = running(operator, namespace, replicas=2)
    history = History(namespace)
    hint = (
        "Right after a write, the status of the Deployment is still about the Deployment before: compare its "
        "observedGeneration with its generation. And of its Pods, count those that are up to date."
    )
    for change in ({"image": namespace.images.web[1]}, {"replicas": 4}, {"image": namespace.images.web[0]}):
        app.edit(**change)
        becomes_available(app, when=f"the spec was changed: {change}", hint="When the rollout is done, say so.")
    expect(
        premature(history, app),
        [],
        when="image and replicas were changed, and every version of the WebApp and of its Deployment was looked at",
        hint=hint,
    )


@check(points=3, section="of-which-generation", incident="cloudnative-pg/cloudnative-pg#11390")
def test_observed_generation_does_not_run_ahead(operator, namespace, recorder):
    """A generation that was not acted upon yet is not reported as done."""
    app = running(operator, namespace)
    operator.settle()
    two = namespace.images.web[1]

    def ahead():
        now = app.now()
        behind = image_of(namespace.get("Deployment", app.name)) != now["spec"]["image"]
        claims = now["status"].get("observedGeneration") == now["metadata"]["generation"]
        if behind and claims and condition_in(now, "Available").get("status") == "True":
            return (
                f"Available, observedGeneration {now['status']['observedGeneration']}; the Deployment has the old image"
            )
        return ""

    with recorder.fail(writes("Deployment"), status=500, times=None) as refused:
        app.edit(image=two)
        eventually(lambda: len(refused.fired) >= 3 or ahead(), within=5)
        operator.recorder.wait_quiet(0.2, deadline=1)
        expect(
            ahead(),
            "",
            when="the image was changed, and every write of the Deployment was refused with 500",
            hint="observedGeneration says: I have acted upon this. Write it after the children, not before.",
        )
    becomes_available(app, when="the server took writes of the Deployment again", hint="An error is tried again.")
    operator.settle()
    history = History(namespace)
    operator.pause()  # a pass may come late, after an error: the image is not to change before the other field
    app.edit(register=namespace.new_name())
    recorder.meanwhile(reads("Deployment", verb="get"), lambda: app.edit(image=namespace.images.web[0]))
    operator.resume()
    becomes_available(app, when="the spec was changed again while the operator was at work", hint="Look again.")
    expect(
        premature(history, app),
        [],
        when="a field of the spec was changed, and then the image, while the operator was at work on the first change",
        hint="Report the generation of the WebApp that you have read and acted upon, not of one that you read later.",
    )
    operator.settle()
    app.edit(register=namespace.new_name())
    becomes_available(
        app,
        when="a field of the spec was changed that has no bearing on the children",
        hint="A generation that changes nothing else in your report is news all the same: people wait for it.",
    )


@check(points=3, section="conditions")
def test_the_time_of_a_condition_changes_with_its_status(operator, namespace):
    """lastTransitionTime changes when the status of a condition changes, and not otherwise."""
    app = running(operator, namespace)
    old = "2020-02-20T20:20:20Z"
    operator.stop()
    aged = [{**each, "lastTransitionTime": old} for each in app.status["conditions"]]
    namespace.patch("WebApp", app.name, {"status": {"conditions": aged}}, subresource="status")
    history, began = History(namespace), datetime.now(UTC) - timedelta(seconds=2)
    app.edit(labels={"new": "label"})  # a new generation, and perhaps a new message
    operator.start()
    becomes_available(app, when="a label was added", hint="")
    operator.settle()
    history = History(namespace)
    app.edit(image=namespace.images.bad)
    eventually(
        lambda: available(app), "False", when="the image was changed to a bad one", hint="It is not available now."
    )
    changed = condition_in(app.now(), "Available")["lastTransitionTime"]
    if parsed(changed) < began:
        fail(
            when="Available changed from True to False",
            expected=f"a lastTransitionTime of now, not earlier than {began:%Y-%m-%dT%H:%M:%SZ}",
            got=changed,
            hint="The time is that of the last change of the condition's status.",
        )
    operator.settle()
    eventually(lambda: datetime.now(UTC) > parsed(changed) + timedelta(seconds=1.1))  # times are in whole seconds
    generation = app.edit(replicas=2)["metadata"]["generation"]  # still not available, but of two
    eventually(
        lambda: app.status.get("observedGeneration"),
        generation,
        when="while Available was False, replicas were changed",
        hint="Report in every pass.",
    )
    operator.settle()
    versions = history.versions("WebApp", app.name)
    for before, after in pairwise(versions):
        for type in OURS:
            one, other = condition_in(before, type), condition_in(after, type)
            if one and one.get("status") == other.get("status"):
                expect(
                    other["lastTransitionTime"],
                    one["lastTransitionTime"],
                    when=f"{type} was {one['status']} ({one['reason']}) and stayed so ({other['reason']})",
                    hint="As long as its status is the same, a condition keeps its lastTransitionTime, whatever "
                    "becomes of reason and message: `how long has it been so?` is what people read in it.",
                )


def parsed(time):
    return datetime.fromisoformat(time.replace("Z", "+00:00"))


@check(points=3, section="conditions-of-others")
def test_conditions_of_others_survive(operator, namespace, second_writer, recorder):
    """Conditions of somebody else stay as they are, also when they come or change while the operator is writing."""
    app = running(operator, namespace)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def foreign(type, message="all well"):
        return {"type": type, "status": "True", "reason": "Seen", "message": message, "lastTransitionTime": now}

    def patch(*body):
        second_writer.patch("WebApp", app.name, list(body), type="json", subresource="status")

    def add(type):
        return {"op": "add", "path": "/status/conditions/-", "value": foreign(type)}

    def meanwhile():
        place = [each["type"] for each in app.status["conditions"]].index("example.com/Audited")
        news = {"op": "replace", "path": f"/status/conditions/{place}/message", "value": "audited again"}
        patch(news, add("example.com/BackedUp"))

    patch(add("example.com/Audited"))
    operator.settle()
    recorder.meanwhile(writes("WebApp"), meanwhile)
    app.edit(replicas=2)
    becomes_available(app, when="the spec was changed", hint="Your own conditions follow the world.")
    operator.settle()
    between = "between the operator's read of the WebApp and its write of the status"
    for want, event in (
        (foreign("example.com/Audited", "audited again"), f"changed the message of a condition of theirs {between}"),
        (foreign("example.com/BackedUp"), f"added a condition {between}"),
    ):
        expect(
            condition_in(app.now(), want["type"]),
            want,
            when=f"somebody else {event}",
            hint="A merge patch replaces the whole list. Apply only your own conditions, which are merged by type, or "
            "send the resourceVersion that you have read, so that the server refuses a list that is out of date.",
        )


@check(points=2, section="report-do-not-decide", incident="red-hat-data-services/rhods-operator#128")
def test_the_spec_is_never_edited(operator, namespace):
    """The spec stays as its user wrote it, whatever the operator finds."""
    app = running(operator, namespace, autoscaled=True)
    number = random.randint(2, 3)
    namespace.patch("Deployment", app.name, {"spec": {"replicas": number}}, subresource="scale")
    eventually(
        lambda: (app.status.get("availableReplicas"), available(app)),
        (number, "True"),
        when=f"the WebApp is autoscaled, and the autoscaler set {number} replicas; availableReplicas and Available",
        hint="The number that is wanted is the one in the Deployment, when somebody else scales it.",
    )
    operator.settle()
    now = app.now()
    expect(
        {"generation": now["metadata"]["generation"], "spec": now["spec"]},
        {"generation": 1, "spec": app.spec},
        when="an autoscaled WebApp ran and was scaled; its generation and its spec",
        hint="The spec is the user's. What you have found out belongs in the status.",
    )


@check(points=2, section="conditions")
def test_a_failed_rollout_is_degraded(operator, namespace):
    """A rollout that is past its deadline is Degraded, and when it is mended, it is not any more."""
    app = running(operator, namespace)
    namespace.patch("Deployment", app.name, {"spec": {"progressDeadlineSeconds": 1}})
    app.edit(image=namespace.images.bad)
    # Both in one look: the controller manager may call a rollout failed for a moment when it has just begun, since the
    # one before it is longer ago than the deadline.
    eventually(
        lambda: {type: states(app)[type] for type in ("Available", "Degraded")},
        {"Available": "False", "Degraded": "True"},
        when="the image cannot be pulled, and the Deployment is past its progress deadline",
        hint="The Deployment says so itself, in its condition Progressing, with status False. What has failed is not "
        "available.",
        seen=lambda: (
            f"conditions of the Deployment: {namespace.get('Deployment', app.name)['status'].get('conditions')}"
        ),
    )
    app.edit(image=namespace.images.web[1])
    eventually(
        lambda: states(app),
        {"Available": "True", "Progressing": "False", "Degraded": "False"},
        when="the image was mended",
        hint="Compute every condition in every pass: one that is only ever set to True stays so.",
    )


@check(points=2, section="conditions")
def test_a_taken_name_is_degraded(operator, namespace):
    """A WebApp whose Deployment is somebody else's is Degraded, with a message that names the Deployment."""
    name = namespace.new_name()
    labels = {"run": name}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "x", "image": namespace.images.web[0]}]},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    namespace.create({"kind": "Deployment", "metadata": {"name": name}, "spec": spec})
    app = namespace.webapp(name, replicas=1)
    operator.start()
    eventually(
        lambda: {type: states(app)[type] for type in ("Available", "Degraded")},
        {"Available": "False", "Degraded": "True"},
        when="a Deployment of somebody else has the name of the WebApp",
        hint="What keeps you from doing your work is a report, too: `ensure_owned` raises NameTaken.",
    )
    message = condition_in(app.now(), "Degraded").get("message", "")
    expect(
        "deployment" in message.lower(),
        True,
        when="a Deployment of somebody else has the name of the WebApp",
        hint="The message is for the person who has to do something about it: say which object is in the way.",
        seen=f"the message of Degraded: {message!r}",
    )
    namespace.delete("Deployment", name, propagation="Background")
    eventually(lambda: not namespace.get("Deployment", name), within=5)
    app.edit(labels={"try": "again"})
    becomes_available(app, when="that Deployment was deleted, and the WebApp was changed", hint="Look again each time.")
    expect(states(app)["Degraded"], "False", when="the name was free again", hint="A condition is taken back, too.")


@check(points=2, section="events-are-for-people")
def test_an_event_tells_people(operator, namespace):
    """An Event tells people when a WebApp becomes Available and when it ceases to be, and nothing is said twice."""
    app = running(operator, namespace)

    def remarks():
        about = [each for each in namespace.list("Event") if each["involvedObject"].get("name") == app.name]
        return [each for each in about if each["involvedObject"].get("kind") == "WebApp"]

    hint = "A status says how it is, an Event what has happened: create one when Available changes."
    first = len(eventually(remarks, when="a WebApp became Available", expected="an Event about the WebApp", hint=hint))
    app.edit(image=namespace.images.bad)
    eventually(lambda: available(app), "False", when="the image was changed to a bad one", hint="")
    eventually(
        lambda: len(remarks()) > first,
        when="the image was changed to a bad one, and the WebApp was no longer Available",
        expected="another Event about the WebApp",
        hint=hint,
        seen=lambda: [f"Event {each['reason']}: {each['message']}" for each in remarks()],
    )
    mark = operator.settle()
    for _ in range(3):
        app.poke()
    operator.settle()
    expect(
        [str(each) for each in operator.recorder.since(mark).writes("Event")],
        [],
        when="the WebApp was touched three times, and nothing had happened to it",
        hint="Say it when it changes, not in every pass.",
    )
