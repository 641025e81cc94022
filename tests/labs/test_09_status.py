"""Checks of lab 09, easiest first. Each docstring is the line that the learner reads."""

import random
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from converge.grader import check, eventually, expect, fail
from converge.grader.checks import webapps
from converge.grader.checks.conditions import CONDITIONS, condition_in, conditions_of, events_about
from converge.grader.checks.waits import quiet
from converge.grader.checks.webapps import (
    CHILDREN,
    container,
    deployment_of,
    foreign_deployment,
    foreign_service,
    looks_again_by_itself,
    makes_nothing_while_deleted,
    namesakes_stay_independent,
    no_pass_has_failed,
)
from converge.recorder import reads, writes
from converge.testing import attacks
from converge.testing.objects.history import History, version
from converge.testing.waits.idle import rolled_out

REFUSED = "If the status couldn't be written, nobody got the report. Let the error end the pass, and it runs again."


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


def available(app):
    return conditions_of(app)["Available"]


def running(operator, namespace, **spec):
    """A WebApp that says that it is available."""
    hint = "The status is written to the subresource `status`; a write to the object itself leaves it as it was."
    spec = {"image": namespace.images.web[0], **spec}
    return webapps.running(operator, namespace, until=becomes_available, hint=hint, **spec)


def image_of(deployment):
    return container(deployment, "web")["image"]


def told(app):
    """How often Events have said something about it: one that is repeated may be counted in the one that is there."""
    return sum(max(1, each.get("count") or 1) for each in events_about(app))


def foreign_condition(type, message="all well"):
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"type": type, "status": "True", "reason": "Seen", "message": message, "lastTransitionTime": now}


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


def rollout_fails(app):
    """Wait until the controller manager has called the rollout failed.

    It sets itself an alarm for the deadline, but not if it has just called the Deployment failed for a rollout that
    was over. Then it waits for the next event about it.
    """
    for touched in range(5):
        if eventually(lambda: has_failed(deployment_of(app), app.spec["image"]), within=2.5):
            return
        app.namespace.patch("Deployment", app.name, {"metadata": {"annotations": {"touched": str(touched)}}})


def unfounded(history, app, newest):
    """Reports of Degraded for the newest generation, whose rollout had not failed when they were made."""
    deployments = history.versions("Deployment", app.name)
    found = []
    for webapp in history.versions("WebApp", app.name):
        status, generation = webapp.get("status", {}), webapp["metadata"]["generation"]
        if condition_in(webapp, "Degraded").get("status") != "True" or status.get("observedGeneration") != generation:
            continue
        if generation != newest:  # an older rollout did fail, and some answers know it from the Pods, earlier than this
            continue
        before = [each for each in deployments if version(each) < version(webapp)]
        if before and not any(has_failed(each, webapp["spec"]["image"]) for each in before):
            found.append(f"generation {generation}, when the Deployment had {describe(before[-1])}")
    return found


def has_failed(deployment, image):
    """Whether this version of a Deployment says that the rollout of that image has failed."""
    of_this = deployment.get("status", {}).get("observedGeneration") == deployment["metadata"]["generation"]
    progressing = condition_in(deployment, "Progressing").get("status")
    return of_this and image_of(deployment) == image and progressing == "False"


@check(points=2, section="a-report-has-its-own-address", incident="zalando-incubator/kopf#313")
def test_the_status_says_what_is_there(operator, namespace):
    """The status of a WebApp has its generation, the replicas that are available, and its URL."""
    app, empty = namespace.webapp(replicas=random.randint(2, 3)), namespace.webapp(replicas=0)
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
        "without an error. Fields that the CRD does not know are dropped, again without an error.",
        seen=lambda: f"its status: {app.status}",
    )
    becomes_available(
        empty,
        when="a WebApp with replicas=0 was created",
        hint="No Pod is wanted and none is there, so all that the spec asks for is there. A Deployment's status leaves "
        "out counts that are 0.",
    )
    no_pass_has_failed(operator, when="two WebApps were created")
    theirs = {"name": "metrics", "port": 9100, "targetPort": 9100}
    namespace.patch("Service", app.name, [{"op": "add", "path": "/spec/ports/0", "value": theirs}], type="json")
    generation = app.edit(register=namespace.new_name())["metadata"]["generation"]  # so that a report comes after this
    eventually(
        lambda: {key: app.status.get(key) for key in ("observedGeneration", "url")},
        {"observedGeneration": generation, "url": wanted["url"]},
        when="someone added another port to its Service, in front of yours, and a field of the spec was changed that "
        "has no bearing on the children",
        hint="The PORT is the one that the spec asks for. What others add to a Service may come before it.",
        seen=lambda: f"the ports of the Service: {namespace.get('Service', app.name)['spec']['ports']}",
    )
    operator.stop()
    namespace.patch("WebApp", app.name, {"status": None}, subresource="status")
    operator.start()
    becomes_available(
        app,
        when="the status of a WebApp was removed while the operator was down",
        hint="Base the report on what exists. A WebApp may be running without any condition yet.",
    )


@check(points=2, section="conditions")
def test_conditions_of_a_webapp_that_runs(operator, namespace):
    """A WebApp whose rollout is done is Available, not Progressing, and not Degraded."""
    app = running(operator, namespace)
    eventually(
        lambda: conditions_of(app),
        {"Available": "True", "Progressing": "False", "Degraded": "False"},
        when="a WebApp was created, and its Pods came up",
        hint="These are three questions, and each has its own answer: is it there, is it on its way, has it failed?",
    )
    of_this_generation(app, when="a WebApp was created, and its Pods came up")
    app.edit(autoscaled=True)
    of_this_generation(app, when="then autoscaled was switched on, which changes nothing that a condition says")
    namespace.patch("Deployment", app.name, {"spec": {"minReadySeconds": 20}})
    app.edit(image=namespace.images.web[1])
    eventually(
        lambda: conditions_of(app),
        {"Available": "False", "Progressing": "True", "Degraded": "False"},
        when="the image was changed, and the rollout takes 20 s, because minReadySeconds was set by hand",
        hint="A rollout that is under way is not done, and has not failed either.",
        seen=lambda: f"the status of the Deployment: {namespace.get('Deployment', app.name)['status']}",
    )
    of_this_generation(app, when="the image was changed")


def of_this_generation(app, *, when):
    """Fail unless each condition says of which generation it is."""
    generation = app.now()["metadata"]["generation"]
    eventually(
        lambda: {type: condition_in(app.now(), type).get("observedGeneration", "none") for type in CONDITIONS},
        dict.fromkeys(CONDITIONS, generation),
        when=f"{when}; the observedGeneration of each condition",
        hint="Each condition has its own observedGeneration, and `kubectl wait` looks at it.",
    )


@check(points=2, section="conditions", incident="rabbitmq/messaging-topology-operator#251")
def test_at_rest_nothing_is_written(operator, namespace, recorder):
    """With nothing new to report, nothing is written, however often the WebApp is touched."""
    app = running(operator, namespace)
    body = [{"op": "add", "path": "/status/conditions/0", "value": foreign_condition("example.com/Audited")}]
    namespace.patch("WebApp", app.name, body, type="json", subresource="status")
    hint = (
        "Compare what you have to say with what the status says, without the conditions of others. A time that "
        "changes in every pass is never the same, and a status that you write in every pass calls you again."
    )
    mark = recorder.mark()

    def restless():
        return [str(each) for each in recorder.since(mark).writes("WebApp")[8:]]

    eventually(lambda: restless() or recorder.wait_quiet(0.5, deadline=1, ignoring=reads()))
    when = "a WebApp was available, nothing was touched, and it kept writing; what it wrote after its eighth status"
    expect(restless(), [], when=when, hint=hint)
    # After a restart, an operator that remembers its applies in memory may send each again, if that changes nothing.
    attacks.zero_writes_at_rest(operator, app, restart=False, hint=hint)
    each_start_says_the_same(operator, app)


def each_start_says_the_same(operator, app):
    """Restart the operator with other hashes each time, and fail if it then says the same facts in other words.

    The hashes decide the order of a set. Their seeds are fixed, so that an answer is judged the same each time.
    """
    first = operator.launch
    # Each start is a Python of its own, as isolated as before but for this one variable.
    command = [part for each in first.command for part in (("-P", "-s") if each == "-I" else (each,))]
    operator.launch = replace(first, command=tuple(command), preload=())
    before, passed = app.status, f"/{app.name}: reconciled in "  # only our runtime says so
    for seed in range(1, 5):
        operator.stop()
        operator.environment["PYTHONHASHSEED"] = str(seed)
        passes = operator.log.count(passed)
        operator.start()
        eventually(lambda passes=passes: operator.log.count(passed) > passes, within=1) or quiet(operator)
        expect(
            app.status,
            before,
            when="the operator was started again, and nothing else had happened; the status of the WebApp",
            hint="That's no news. The order of a set, or of what is sorted by a hash, differs from one process to the "
            "next: put your words in an order of your own.",
        )
    operator.launch = first
    del operator.environment["PYTHONHASHSEED"]


@check(points=3, section="of-which-generation", incident="openstack-k8s-operators/keystone-operator#560")
def test_a_bad_image_is_not_available(operator, namespace):
    """A WebApp that gets an image which cannot start is no longer Available, though its old Pods still run."""
    apps = [running(operator, namespace, replicas=number) for number in (1, 2)]
    hint = "The old Pods keep running, and availableReplicas says so. They are not what the spec asks for now."
    for app in apps:
        app.edit(image=namespace.images.bad)
    for app in apps:
        when = (
            f"a WebApp with {app.spec['replicas']} replicas ran, and its image was changed to one that can't be pulled"
        )
        eventually(
            lambda app=app: available(app),
            "False",
            when=when,
            hint=hint,
            seen=lambda app=app: f"the Deployment: {describe(deployment_of(app))}",
        )
        operator.settle()
        expect(
            available(app),
            "False",
            when=f"{when}, and all came to rest",
            hint=hint,
            seen=f"the Deployment: {describe(deployment_of(app))}",
        )
    app.edit(image=namespace.images.web[1])
    becomes_available(app, when="the image was fixed", hint="A report follows what exists, in both directions.")


@check(points=3, section="of-which-generation", incident="project-koku/koku-service-operator#176")
def test_available_only_when_this_generation_is_rolled_out(operator, namespace):
    """Available is never reported for a generation whose rollout is not done."""
    app = running(operator, namespace, replicas=2)
    history = History(namespace, "Deployment", "WebApp")
    hint = (
        "Right after a write, the status of the Deployment is still about the Deployment before: compare its "
        "observedGeneration with its generation. And of its Pods, count those that are up to date."
    )
    first, second = namespace.images.web
    for change in ({"image": second}, {"replicas": 4}, {"image": first}, {"replicas": 1}):
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
    """A generation that was not acted on yet is not reported as done."""
    app = running(operator, namespace)
    operator.settle()
    two = namespace.images.web[1]

    def ahead():
        now = app.now()
        behind = image_of(deployment_of(app)) != now["spec"]["image"]
        claims = now["status"].get("observedGeneration") == now["metadata"]["generation"]
        if not behind:
            return ""
        if claims:
            said = f"observedGeneration {now['status']['observedGeneration']}, Available {available(app)}"
            return f"{said}; the Deployment has the old image"
        return "Degraded" if condition_in(now, "Degraded").get("status") == "True" else ""

    with recorder.fail(writes("Deployment"), status=500, times=None) as refused:
        app.edit(image=two)
        eventually(lambda: len(refused.fired) >= 3 or ahead(), within=5)
        operator.recorder.wait_quiet(0.2, deadline=1)
        expect(
            ahead(),
            "",
            expected="an observedGeneration that is not ahead of the Deployment, and no word of Degraded",
            when="the image was changed, and every write of the Deployment was refused with 500",
            hint="observedGeneration means that you've acted on that generation. Write it after the children, not "
            "before, and not if they failed: an error of the API server passes, so raise it. Degraded is for a failed "
            "rollout or a taken name.",
        )
    becomes_available(app, when="the server took writes of the Deployment again", hint="An error is tried again.")
    operator.settle()
    history = History(namespace, "Deployment", "WebApp")
    operator.pause()  # a pass may come late, after an error: the image is not to change before the other field
    app.edit(register=namespace.new_name())
    recorder.meanwhile(reads("Deployment", verb="get"), lambda: app.edit(image=namespace.images.web[0]))
    operator.resume()
    becomes_available(app, when="the spec was changed again while the operator was at work", hint="Look again.")
    expect(
        premature(history, app),
        [],
        when="a field of the spec was changed, and then the image, while the operator was at work on the first change",
        hint="Report the generation of the WebApp that you read and acted on, not of one that you read later.",
    )
    operator.settle()
    app.edit(register=namespace.new_name())
    becomes_available(
        app,
        when="a field of the spec was changed that has no bearing on the children",
        hint="A new generation is news even if nothing else in your report changes: people wait for it.",
    )


@check(points=3, section="conditions")
def test_the_time_of_a_condition_changes_with_its_status(operator, namespace):
    """lastTransitionTime changes when the status of a condition changes, and not otherwise."""
    app = running(operator, namespace)
    old = "2020-02-20T20:20:20Z"
    operator.stop()
    aged = [{**each, "lastTransitionTime": old} for each in app.status["conditions"]]
    namespace.patch("WebApp", app.name, {"status": {"conditions": aged}}, subresource="status")
    history, began = History(namespace, "Deployment", "WebApp"), datetime.now(UTC) - timedelta(seconds=2)
    app.edit(labels={"new": "label"})  # a new generation, and perhaps a new message
    operator.start()
    becomes_available(app, when="a label was added", hint="")
    operator.settle()
    history = History(namespace, "Deployment", "WebApp")
    app.edit(image=namespace.images.bad)
    eventually(
        lambda: available(app), "False", when="the image was changed to a bad one", hint="It isn't available now."
    )
    changed = condition_in(app.now(), "Available")["lastTransitionTime"]
    if parsed(changed) < began:
        fail(
            when="Available changed from True to False",
            expected=f"a lastTransitionTime of now, not earlier than {began:%Y-%m-%dT%H:%M:%SZ}",
            got=changed,
            hint="The time says when the condition's status last changed.",
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
    namespace.patch("Deployment", app.name, {"spec": {"progressDeadlineSeconds": 1}})  # and now for another reason
    rollout_fails(app)
    eventually(
        lambda: conditions_of(app)["Degraded"],
        "True",
        when="while Available was False, the Deployment got past its progress deadline",
        hint="The Deployment says so itself, in its condition Progressing, with status False.",
    )
    operator.settle()
    versions = history.versions("WebApp", app.name)
    for before, after in pairwise(versions):
        for type in CONDITIONS:
            one, other = condition_in(before, type), condition_in(after, type)
            if one and one.get("status") == other.get("status"):
                expect(
                    other["lastTransitionTime"],
                    one["lastTransitionTime"],
                    when=f"{type} was {one['status']} ({one['reason']}) and stayed so ({other['reason']})",
                    hint="As long as its status is the same, a condition keeps its lastTransitionTime, whatever "
                    "becomes of reason and message: people read it as `how long has it been like this?`",
                )


def parsed(time):
    return datetime.fromisoformat(time.replace("Z", "+00:00"))


@check(points=3, section="conditions-of-others")
def test_conditions_of_others_survive(operator, namespace, second_writer, recorder):
    """Conditions of others stay as they are, even those added or changed while the operator is writing."""
    app = running(operator, namespace)
    now = foreign_condition("")["lastTransitionTime"]

    def foreign(type, message="all well"):
        return {**foreign_condition(type, message), "lastTransitionTime": now}

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
    becomes_available(app, when="the spec was changed", hint="Your own conditions follow what exists.")
    operator.settle()
    between = "between the operator's read of the WebApp and its write of the status"
    for want, event in (
        (foreign("example.com/Audited", "audited again"), f"changed the message of a condition of theirs {between}"),
        (foreign("example.com/BackedUp"), f"added a condition {between}"),
    ):
        expect(
            condition_in(app.now(), want["type"]),
            want,
            when=f"another writer {event}",
            hint="A merge patch replaces the whole list. Apply only your own conditions, which are merged by type, or "
            "send the resourceVersion that you have read, so that the server refuses a list that is out of date.",
        )


@check(points=2, section="report-do-not-decide", incident="streamnative/pulsar-resources-operator#308")
def test_the_spec_is_never_edited(operator, namespace):
    """The spec stays as its user wrote it, whatever the operator finds."""
    app = running(operator, namespace, autoscaled=True)
    number = random.randint(2, 3)
    namespace.patch("Deployment", app.name, {"spec": {"replicas": number}}, subresource="scale")
    eventually(
        lambda: (app.status.get("availableReplicas"), available(app)),
        (number, "True"),
        when=f"the WebApp is autoscaled, and the autoscaler set {number} replicas; availableReplicas and Available",
        hint="When something else scales the Deployment, the number to compare with is the one in the Deployment.",
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
    """A rollout past its deadline is Degraded, and once it is fixed, no longer."""
    app = running(operator, namespace)
    namespace.patch("Deployment", app.name, {"spec": {"progressDeadlineSeconds": 1}})
    app.edit(image=namespace.images.bad)
    rollout_fails(app)
    # Both in one look: the controller manager may call a rollout failed for a moment when it has just begun, since the
    # one before it is longer ago than the deadline.
    eventually(
        lambda: {type: conditions_of(app)[type] for type in ("Available", "Degraded")},
        {"Available": "False", "Degraded": "True"},
        when="the image cannot be pulled, and the Deployment is past its progress deadline",
        hint="The Deployment says so itself, in its condition Progressing, with status False. If it has failed, it "
        "isn't available.",
        seen=lambda: (
            f"conditions of the Deployment: {namespace.get('Deployment', app.name)['status'].get('conditions')}"
        ),
    )
    operator.settle()
    history = History(namespace, "Deployment", "WebApp")
    newest = app.edit(image=namespace.images.web[1])["metadata"]["generation"]
    eventually(
        lambda: conditions_of(app),
        {"Available": "True", "Progressing": "False", "Degraded": "False"},
        when="the image was fixed",
        hint="Compute every condition in every pass. If you only ever set it to True, it stays True.",
    )
    expect(
        unfounded(history, app, newest),
        [],
        when="the image was fixed after a failed rollout; reports of Degraded for the new generation",
        hint="Right after your write, the Deployment's conditions, like its counts, still describe the Deployment as "
        "it was before: the rollout that failed was another one.",
    )


@check(points=2, section="conditions", timeout=60)
def test_a_taken_name_is_degraded(operator, namespace):
    """If the name of a child is taken, the WebApp is Degraded, with a message that names the child's kind."""
    lost = running(operator, namespace)
    operator.settle()
    apps, before = [], told(lost)
    for kind, foreign in (("Deployment", foreign_deployment), ("Service", foreign_service)):
        foreign(namespace, name := namespace.new_name())
        apps.append((kind, namespace.webapp(name, replicas=1), f"someone else's {kind} had the name of the WebApp"))
    owner = namespace.create({"kind": "ConfigMap", "metadata": {"name": namespace.new_name()}})
    other = {"apiVersion": "v1", "kind": "ConfigMap", "controller": True}
    other |= {key: owner["metadata"][key] for key in ("name", "uid")}
    body = [{"op": "replace", "path": "/metadata/ownerReferences", "value": [other]}]
    namespace.patch("Deployment", lost.name, body, type="json")
    lost.edit(port=webapps.another_port(lost))
    apps.append(("Deployment", lost, "the Deployment of a running WebApp got another controller"))
    for kind, app, when in apps:
        eventually(
            lambda app=app: {type: conditions_of(app)[type] for type in ("Available", "Degraded")},
            {"Available": "False", "Degraded": "True"},
            when=when,
            hint="What keeps you from doing your work belongs in the report: `ensure_owned` raises NameTaken.",
        )
        message = condition_in(app.now(), "Degraded").get("message", "")
        if kind.lower() not in message.lower():
            fail(
                when=when,
                expected=f"a message of Degraded that names the {kind}",
                got=message or "an empty message",
                hint="The message is for the person who has to fix it: say which object is in the way.",
            )
    eventually(
        lambda: told(lost) > before,
        when=f"{apps[-1][2]}, and Available stopped being True",
        expected="an Event about the WebApp",
        hint="An Event tells people when Available changes, whatever the reason is.",
    )
    eventually(
        lambda: lost.status.get("availableReplicas") or 0,
        0,
        when=f"{apps[-1][2]}; availableReplicas of the WebApp",
        hint="Those Pods are someone else's now. Remove what you reported earlier and can't see anymore.",
    )
    eventually(
        lambda: lost.status.get("url") in (None, f"http://{lost.name}.{namespace}.svc:{lost.spec['port']}"),
        when=f"{apps[-1][2]}, and its port was changed; the url in the status",
        expected="none, or one with the new port",
        hint="What you reported before and leave out now has to be removed: a patch leaves alone what it doesn't name.",
        seen=lambda: f"url: {lost.status.get('url')}",
    )
    namespace.patch("Service", lost.name, body, type="json")
    freed = [{"op": "remove", "path": "/metadata/ownerReferences"}]
    namespace.patch("Deployment", lost.name, freed, type="json")
    lost.poke()
    eventually(
        lambda: "service" in condition_in(lost.now(), "Degraded").get("message", "").lower(),
        when="then its Service got another controller, the Deployment lost its own, and the WebApp was touched",
        expected="a message of Degraded that names the Service",
        seen=lambda: condition_in(lost.now(), "Degraded"),
        hint="Status and reason are the same as before, but the message isn't. Compare the whole condition before "
        "you decide that there's nothing new to write.",
    )
    kind, app, when = apps[0]
    app.poke()  # a pass that has nothing new to say
    operator.settle()
    looks = re.findall(rf"/{app.name}: reconciled in .*", operator.log)  # only our runtime says so
    if any("again in" in each for each in looks) and operator.looks_again_in(app) is None:
        fail(
            when=f"{when}, the WebApp was touched, and there was nothing new to report",
            expected="every pass over it asks for another look after a while",
            got="the last one didn't, so nobody looks once the name is free",
            seen=looks[-3:],
            hint="As long as the name is taken, answer Result(requeue_after=30), whether or not there's news.",
        )
    namespace.delete(kind, app.name, propagation="Background")
    eventually(lambda: uid_changed(namespace, kind, app), within=5)
    looks_again_by_itself(
        operator,
        app,
        lambda: available(app) == "True",
        when=f"{when}; then that {kind} was deleted, and nothing else happened",
        hint="No event tells you that someone else's object is gone: answer Result(requeue_after=30), as in lesson 08.",
    )
    app.edit(labels={"try": "again"})
    becomes_available(app, when=f"that {kind} was deleted, and the WebApp was changed", hint="Look again each time.")
    expect(
        conditions_of(app)["Degraded"],
        "False",
        when="the name was free again",
        hint="Take a condition back when it no longer holds.",
    )


def uid_changed(namespace, kind, app):
    """Whether someone else's object of that name is gone."""
    found = namespace.get(kind, app.name)
    return not found or "legacy" not in str(found["spec"])


@check(points=3, section="events-are-for-people")
def test_an_event_tells_people(operator, namespace, recorder):
    """An Event says each time that a WebApp becomes Available or stops being so, and none comes without a change."""
    app = namespace.webapp(replicas=1, image=namespace.images.web[0])
    hint = "A status says how things are, an Event says what happened. Create one when Available changes."
    with recorder.fail(writes("WebApp"), status=500, times=None) as refused:
        operator.start()
        eventually(
            lambda: len(refused.fired) >= (1 if deployment_of(app) else 3),  # one may report before it acts as well
            when="a WebApp was created",
            expected="a write of its status",
            hint="Report in every pass.",
        )
        operator.stop()
    when = "a WebApp became Available"
    if deployment_of(app):
        eventually(lambda: rolled_out(deployment_of(app)))
        when += "; its Pods came up while the operator was down, so this was the first report about it"
    operator.start()
    becomes_available(app, when="a WebApp was created, and its Pods came up", hint="Report what is there.")
    eventually(
        lambda: events_about(app),
        when=when,
        expected="an Event about the WebApp",
        hint=f"{hint} No condition yet counts as False.",
    )
    operator.settle()
    flips = [("False", 500), ("True", 0), ("False", 500)]  # seconds; less than the progress deadline
    for number, (status, seconds) in enumerate(flips, 1):
        generation = app.edit(register=namespace.new_name())["metadata"]["generation"]  # some words name it
        reached = f"a field of the spec was changed that has no bearing on the children, to generation {generation}"
        eventually(lambda: app.status.get("observedGeneration"), generation, when=reached, hint="Report it.")
        quiet(operator)
        before, since = told(app), condition_in(app.now(), "Available")["lastTransitionTime"]
        eventually(lambda since=since: datetime.now(UTC) > parsed(since) + timedelta(seconds=1.1))  # whole seconds
        if last := number == len(flips):  # the Event and the status are two writes: between them it dies
            recorder.kill_after(writes(), nth=1, kill=operator.crash)
        if down := number == 1:
            operator.stop()
        namespace.patch("Deployment", app.name, {"spec": {"minReadySeconds": seconds}})
        when = f"minReadySeconds of the Deployment was set to {seconds}, so Available became {status}"
        if down:
            eventually(lambda: not rolled_out(deployment_of(app)))
            operator.start()
            when += ", while the operator was down"
        if last:
            eventually(lambda: not operator.running, when=when, expected="a write", hint=hint)
            operator.start()
            when += ", and the operator was killed after the first of its writes and started again"
        eventually(lambda status=status: available(app), status, when=when, hint="Look at availableReplicas.")
        eventually(
            lambda before=before: told(app) > before,
            when=f"{when}; it is change number {number} since the WebApp was Available for the first time",
            expected="another Event about the WebApp",
            hint="Make the Event before you write the status: the next pass finds the status as it was, and makes it "
            "again."
            if last
            else f"{hint} The WebApp's status says what was there before: this process may have been started since."
            if down
            else f"{hint} EventRecorder drops an Event that says the same words again, so say what differs.",
            seen=lambda: [f"Event {each['reason']}: {each['message']}" for each in events_about(app)],
        )
        quiet(operator)  # its rollout is never done while minReadySeconds is long
        if status == "False":
            eventually(
                lambda: app.status.get("availableReplicas") or 0,
                0,
                when=f"{when}; availableReplicas of the WebApp",
                hint="A Deployment's status leaves out counts that are 0.",
            )
    mark = recorder.mark()
    for _ in range(3):
        app.poke()
    generation = app.edit(replicas=2)["metadata"]["generation"]
    eventually(
        lambda: app.status.get("observedGeneration"),
        generation,
        when="while Available was False, replicas were changed",
        hint="Report in every pass.",
    )
    quiet(operator)
    expect(
        [str(each) for each in recorder.since(mark).writes("Event")],
        [],
        when="the WebApp was touched three times and asked for a second Pod, and all the time it was not Available",
        hint="Say it when something changes, not in every pass.",
    )
    a_namesake_says_what_any_new_one_says(operator, namespace)


def a_namesake_says_what_any_new_one_says(operator, namespace):
    """Replace an available WebApp by one of the same name that never was, and fail if that one makes more Events."""
    former = namespace.webapp(replicas=1, image=namespace.images.web[0])
    becomes_available(former, when="another WebApp was created", hint="Report what is there.")
    quiet(operator)
    before = told(former)
    former.delete()
    eventually(lambda: former.now() is None and not webapps.children_of(former))
    quiet(operator)
    namesake, any_new_one = (namespace.webapp(name, image=namespace.images.bad) for name in (former.name, None))
    when = "two WebApps were created whose image can't be pulled, one with the name of a deleted one that was Available"
    for app in (namesake, any_new_one):
        eventually(lambda app=app: available(app), "False", when=when, hint="Report in every pass.")
    quiet(operator)
    if told(namesake) - before > told(any_new_one):
        fail(
            when=when,
            expected=f"as many Events about it as about the other: {told(any_new_one)}",
            got=told(namesake) - before,
            seen=[f"Event {each['reason']}: {each['message']}" for each in events_about(namesake)],
            hint="It was never Available, so it hasn't stopped being so. What you remember by name is about another "
            "WebApp; the status says what was there before.",
        )


@check(points=2, section="of-which-generation", timeout=60)
def test_a_refused_request_is_made_again(operator, namespace, recorder):
    """Any request may fail, a write of the status too: the report is true in the end."""

    def wrong(app):
        now = app.now()
        status = now.get("status", {})
        done = status.get("observedGeneration") == now["metadata"]["generation"] and available(app) == "True"
        return "" if done else f"its status: {status}"

    attacks.fault_at_every_request(
        operator,
        make=lambda name=None, **spec: namespace.webapp(name, **{"replicas": 1, **spec}),
        wrong=wrong,
        children=CHILDREN,
        modes=["500", "409"],
        hint=REFUSED,
    )
    app = running(operator, namespace)
    operator.settle()
    recorder.fail(writes("WebApp", name=app.name), status=500)
    app.edit(register=namespace.new_name())  # this leads to one report, and no event comes after it
    when = "a field that no child depends on was changed, and the report about it was answered with 500"
    becomes_available(app, when=when, hint=REFUSED)


@check(points=2, section="report-do-not-decide")
def test_nothing_is_made_while_the_webapp_is_deleted(operator, namespace):
    """As in lesson 08, children that go while their WebApp is being deleted are not created again."""
    makes_nothing_while_deleted(
        operator,
        running(operator, namespace),
        hint="A WebApp with a metadata.deletionTimestamp is on its way out: there's nothing to make or to report.",
    )


@check(points=2, section="of-which-generation")
def test_namesakes_in_two_namespaces(operator, other_namespace):
    """Two WebApps with the same name in two namespaces each have their own report."""

    def wrong(app):
        url = f"http://{app.name}.{app.namespace}.svc:{app.spec['port']}"
        wanted = {"Available": "True", "url": url, "generation": app.now()["metadata"]["generation"]}
        found = {"Available": available(app), "url": app.status.get("url")}
        found["generation"] = app.status.get("observedGeneration")
        return "\n".join(f"{key}: {found[key]}, not {wanted[key]}" for key in wanted if found[key] != wanted[key])

    namesakes_stay_independent(operator, wrong)
