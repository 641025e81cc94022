"""Checks of lab 01, easiest first. Each docstring is the line that the learner reads."""

from functools import partial

from converge.grader import check, eventually, expect, fail
from converge.grader.checks.webapps import (
    available_pods,
    deployment_follows,
    deployment_of,
    image_and_replicas,
    namesakes,
    other_image,
    uid_of,
    wanted_image_and_replicas,
)
from converge.recorder import reads, writes
from converge.testing import attacks

A_TIME = "2026-01-01T00:00:00Z"
SOON = 8.0  # seconds; a right operator needs two passes, one second

UNREADABLE = (
    (500, None, "500"),
    (403, None, "403"),
    (429, None, "429"),
    (404, "", "404 page not found, which is UnknownKind: for a moment it didn't serve that kind,"),
)

follows = partial(deployment_follows, within=SOON)


def reports(app, *, when, hint):
    """The status comes to say that all Pods are available, once they are."""
    number = app.spec["replicas"]
    eventually(lambda: available_pods(app) == number, within=20)  # Pods take their time on a busy machine
    eventually(lambda: app.status.get("availableReplicas"), number, within=SOON, when=when, hint=hint)


def wrong(app):
    """What is not as it should be, in words: the Deployment, then the report."""
    found, wanted = image_and_replicas(app), wanted_image_and_replicas(app)
    if found != wanted:
        return f"the Deployment has {found}, the WebApp asks for {wanted}" if found else f"no Deployment {app.name}"
    reported, available = app.status.get("availableReplicas", 0), available_pods(app)
    return "" if reported == available else f"the status says {reported} available Pods, the Deployment {available}"


def passes(recorder, count):
    """Wait until the operator has listed the WebApps that many times more, or is quiet, if it watches them."""
    mark = recorder.mark()
    if recorder.watches("WebApp"):
        recorder.wait_quiet(0.5, SOON)
        return
    recorder.wait_for(lambda: len(recorder.since(mark).reads("WebApp", verb="list")) >= count, SOON)


@check(points=2, section="one-pass", timeout=60)
def test_a_webapp_gets_a_deployment(operator, namespace):
    """A WebApp gets a Deployment with its image and its number of Pods."""
    first, second = namespace.webapp(), namespace.webapp()
    operator.start()
    for app in (first, second):
        follows(
            app,
            when="two WebApps were created",
            hint="observe() returns None when there is no Deployment with the WebApp's name; then act() creates it.",
        )


@check(points=2, section="one-pass", timeout=60)
def test_it_follows_the_number_of_pods(operator, namespace, recorder):
    """When replicas changes, the Deployment follows; when the Deployment is changed, it is set back."""
    app = namespace.webapp()
    operator.start()
    follows(app, when="a WebApp was created", hint="act() creates what is missing.")
    made = uid_of(app, "Deployment")
    for replicas in (app.spec["replicas"] + 2, 0, 1):
        before = app.spec["replicas"]
        app.edit(replicas=replicas)
        follows(
            app,
            when=f"replicas was changed from {before} to {replicas} and nothing else",
            hint="A Deployment that exists may still differ: compare settings(actual) with settings(desired). 0 is a "
            "number like any other.",
        )
    if uid_of(app, "Deployment") != made:
        fail(
            when="replicas was changed, three times",
            expected="the same Deployment, with another number of Pods",
            got="the Deployment was deleted and another one created: every Pod was stopped",
            hint="Change the Deployment that is there: client.patch merges what you want into it.",
        )
    passes(recorder, 2)
    namespace.patch("Deployment", app.name, {"spec": {"replicas": app.spec["replicas"] + 2}})
    follows(
        app,
        when="the Deployment was scaled by hand, and the WebApp was left alone",
        hint="Compare with the Deployment in every pass, not only when the WebApp has a new generation.",
    )


@check(
    points=2,
    section="one-pass",
    incident="jthomperoo/custom-pod-autoscaler-operator#53: a new image never reached what already existed",
)
def test_it_follows_the_image(operator, namespace, recorder):
    """When the image changes, the Deployment follows, and what others have added to it stays."""
    old, new = namespace.images.web
    app = namespace.webapp(image=old)
    operator.start()
    follows(app, when="a WebApp was created", hint="act() creates what is missing.")
    app.edit(image=new)
    follows(
        app,
        when="the image was changed and nothing else",
        hint="Both settings count: act on a difference in any of them.",
    )
    template = {
        "metadata": {"annotations": {"injected.example/by": "a-mesh"}},
        "spec": {"containers": [{"name": "proxy", "image": old}]},
    }
    relabelled = {"labels": {"app.kubernetes.io/instance": "relabelled"}}
    namespace.patch("Deployment", app.name, {"metadata": relabelled, "spec": {"template": template}}, type="strategic")
    app.edit(image=old)
    follows(
        app,
        when="someone changed a label of the Deployment, and the WebApp's image was changed back",
        hint="Both settings count: act on a difference in any of them. And the Deployment is found by its name, "
        "whatever its labels are.",
    )
    passes(recorder, 2)
    found = deployment_of(app)["spec"]["template"]
    expect(
        {
            "containers": sorted(each["name"] for each in found["spec"]["containers"]),
            "annotation": found["metadata"].get("annotations", {}).get("injected.example/by"),
        },
        {"containers": ["proxy", "web"], "annotation": "a-mesh"},
        when="a service mesh added a container `proxy` and an annotation to the Deployment, and then the WebApp's "
        "image was changed",
        hint="What others have added has to stay. A strategic patch merges lists by name; a merge patch replaces them, "
        "and so does a replace with what you want.",
    )
    late = {"metadata": {"annotations": {"late.example/note": namespace.new_name()}}}
    recorder.meanwhile(
        writes("Deployment", name=app.name), lambda: namespace.patch("Deployment", app.name, late), times=1
    )
    app.edit(image=new)
    when = "the image was changed, and right before the operator's write arrived, someone annotated the Deployment"
    follows(app, when=when, hint="If the server refuses the write, look again and write again.")
    left = deployment_of(app)["metadata"].get("annotations", {})
    expect(
        {key: left.get(key) for key in late["metadata"]["annotations"]},
        late["metadata"]["annotations"],
        when=f"{when}; that annotation",
        hint="A PUT without the version that you read takes away what others have added since. A patch sends only "
        "what you want.",
    )


@check(points=2, section="gone-is-an-answer", timeout=60)
def test_a_deleted_webapp_is_no_error(operator, namespace, recorder):
    """A deleted WebApp is not an error, and nothing is created for it."""
    app, other = namespace.webapp(), namespace.webapp()
    operator.start()
    follows(app, when="a WebApp was created", hint="act() creates what is missing.")
    passes(recorder, 2)  # one that is under way may fail to report to a WebApp that goes
    printed = len(operator.output)
    app.delete()
    passes(recorder, 2)
    errors = [
        line
        for line in operator.output[printed:].splitlines()
        if app.name in line and "ERROR" in line and "TODO" not in line and "WebApp/status" not in line
    ]
    if errors:
        fail(
            when="a WebApp was deleted, and reconcile was called with its name once more",
            expected="it returns: there is nothing to do",
            got="it failed",
            seen="\n".join(errors[:3]),
            hint="client.get raises NotFound for a WebApp that is gone. Catch that one error, and return.",
        )
    namespace.delete("Deployment", app.name)
    passes(recorder, 2)
    expect(
        image_and_replicas(app),
        None,
        when="a WebApp was deleted, then its Deployment, and two more passes were made",
        hint="Without a WebApp there is nothing to build a Deployment for.",
    )
    follows(other, when="another WebApp was deleted", hint="Deleting one WebApp must not affect another.")


@check(
    points=3,
    section="wish-world-report",
    incident="zalando-incubator/kopf#313: it patched the status through the object itself, and the status was lost",
    timeout=60,
)
def test_the_status_says_how_many_are_available(operator, namespace, recorder):
    """The status says how many Pods are available, even while their number changes."""
    app = namespace.webapp()
    operator.start()
    few = app.spec["replicas"]
    for replicas in (few, few + 1, 0):
        mark = recorder.mark()
        app.edit(replicas=replicas)
        reports(
            app,
            when=f"{replicas} Pods were asked for, and became available" if replicas else "replicas was set to 0",
            hint='Patch the status at its own address, subresource="status"; the number is in deployment["status"], '
            "where it is left out when it is 0. Does act() return the Deployment in every case?",
        )
        fewer = [each for each in recorder.since(mark).writes("WebApp") if claimed(each) in range(few)]
        if replicas > few and fewer:
            fail(
                when=f"{few} Pods were available, and one more was asked for",
                expected=f"no report of fewer than {few}: that many kept running",
                got=f"a report of {claimed(fewer[0])} available Pods",
                seen="\n".join(map(str, fewer[:3])),
                hint="After a patch, return what the server answered: that Deployment has a status. What you sent "
                "has none.",
            )
    app.edit(replicas=few)
    reports(app, when=f"replicas was set back to {few}", hint="Report the number as it is now.")
    namespace.patch("Deployment", app.name, {"spec": {"minReadySeconds": 300}})
    eventually(lambda: available_pods(app) == 0, within=20)
    eventually(
        lambda: app.status.get("availableReplicas", 0),
        0,
        within=SOON,
        when="someone set minReadySeconds on the Deployment, so that its Pods are ready and not available yet",
        hint="The number is availableReplicas, not readyReplicas: a Pod is available once it has been ready for a "
        "while. The field is left out when it is 0.",
    )
    for report, seen in reports_and_what_was_seen(recorder, app):
        if claimed(report) not in seen[-2:]:
            fail(
                when=f"replicas was set to {few}, {few + 1}, 0 and {few} again; each report was compared with what the "
                "server had answered about the Deployment before",
                expected=f"a report of {' or '.join(map(str, sorted(set(seen[-2:]))))} available Pods",
                got=f"a report of {claimed(report)}",
                seen=[str(report)],
                hint="The number is the one in the Deployment's status, as the server answered it, whatever it is: not "
                "computed from what was asked for.",
            )


def reports_and_what_was_seen(recorder, app):
    """Each report, with the numbers of available Pods in the answers about the Deployment before it.

    Nothing for an operator that lists or watches the Deployments: those answers aren't kept.
    """
    if recorder.watches("Deployment") or recorder.reads("Deployment", verb="list"):
        return
    seen = []
    for each in sorted(recorder.requests, key=lambda request: request.time):
        answered = each.status in (200, 201) and each.verb != "delete" and each.answer
        if each.resource == "deployments" and each.name == app.name and answered:
            seen.append((each.answer.get("status") or {}).get("availableReplicas", 0))
        elif each.resource == "webapps" and each.is_write and claimed(each) is not None and seen:
            yield each, list(seen)


@check(points=2, section="nothing-to-do-means-no-write", incident="3scale/3scale-operator#1167", timeout=60)
def test_a_pass_with_nothing_to_do_writes_nothing(operator, namespace, recorder):
    """A pass with nothing to do writes nothing."""
    app = namespace.webapp()
    operator.start()
    reports(app, when="a WebApp was created", hint="First of all, report a status.")
    passes(recorder, 1)  # the one that wrote the last report may still be under way
    condition = {"type": "Backup", "status": "True", "reason": "Done", "message": "", "lastTransitionTime": A_TIME}
    namespace.patch("WebApp", app.name, {"status": {"conditions": [condition]}}, subresource="status")
    passes(recorder, 1)
    mark = recorder.mark()
    passes(recorder, 3)
    written = recorder.since(mark).writes()
    if written:
        fail(
            when="all Pods were available and reported, another program added a condition to the status, and three "
            "more passes were made",
            expected="reads, and no write",
            got=f"{len(written)} writes",
            seen="\n".join(map(str, written[:4])),
            hint="Compare before each write: the Deployment with what is desired, your number in the status with what "
            "you observed. The rest of the status isn't yours.",
        )
    expect(
        app.now()["metadata"]["generation"],
        1,
        expected="generation 1: nobody has changed the WebApp's spec since it was created",
        when="a WebApp was created, and its Pods became available",
        hint="The spec belongs to its user. An operator reads it and writes only the status.",
    )


@check(points=2, section="wish-world-report", timeout=60)
def test_the_status_is_observed(operator, namespace, recorder):
    """Pods that never start are never reported as available, and a corrected image gets through to them."""
    apps = [namespace.webapp(image=namespace.images.bad) for _ in range(5)]
    app = apps[0]
    operator.start()
    for each in apps:
        follows(
            each,
            when="five WebApps with an image that cannot be pulled were created",
            hint="act() creates each of them. A pass looks, acts, reports what it saw, and ends: it doesn't wait for "
            "Pods, since the other WebApps wait for it.",
        )
    when = f"{app.spec['replicas']} Pods were asked for, with an image that cannot be pulled"
    operator.settle()
    claims = [each for each in recorder.writes("WebApp") if claimed(each)]
    if claims:
        fail(
            when=when,
            expected="a status that says 0, or nothing yet, from the first report on",
            got=f"a report of {claimed(claims[0])} available Pods",
            seen="\n".join(map(str, claims[:3])),
            hint="Report what the Deployment's own status says, not what was asked for. A Deployment that was created "
            "a moment ago has none of its Pods available.",
        )
    app.edit(image=namespace.images.web[0])
    follows(
        app,
        when="the image that cannot be pulled was replaced by a good one",
        hint="act() changes what differs, whether or not the last change has been carried out.",
    )


def claimed(write):
    """The number of available Pods that the WebApp's status had after this write."""
    status = (write.answer or {}).get("status")  # of a refusal, a word
    return status.get("availableReplicas") if isinstance(status, dict) else None


@check(
    points=3,
    section="wish-world-report",
    incident="tektoncd/operator#25: its status said that everything was installed",
)
def test_a_deleted_deployment_comes_back(operator, namespace, recorder):
    """A deleted Deployment comes back, although the status says that all Pods are available."""
    app = namespace.webapp()
    operator.start()
    reports(app, when="a WebApp was created", hint="First of all, report a status.")
    operator.settle()
    recorder.note("a user deletes the Deployment")
    namespace.delete("Deployment", app.name)
    follows(
        app,
        when="all Pods were available, and the Deployment was deleted",
        hint="The status is what you wrote in an earlier pass. Look at the Deployment itself, in every pass.",
    )
    reports(app, when="the Deployment came back", hint="Report in every pass.")


@check(points=2, section="wish-world-report", timeout=60)
def test_a_wrong_status_is_put_right(operator, namespace, recorder):
    """A wrong status is corrected, and doesn't change what happens to the Deployment."""
    app = namespace.webapp()
    operator.start()
    reports(app, when="a WebApp was created", hint="First of all, report a status.")
    mark = operator.settle()
    namespace.patch("WebApp", app.name, {"status": {"availableReplicas": 99}}, subresource="status")
    reports(
        app,
        when="a user wrote 99 into the status",
        hint="Compare what the status says with what you observed in this pass.",
    )
    expect(
        [str(each) for each in recorder.since(mark).writes("Deployment")],
        [],
        when="the status was wrong, and the Deployment was not",
        hint="What you do to the Deployment must not depend on the status.",
    )


@check(points=2, section="gone-is-an-answer", timeout=60)
def test_unreadable_is_not_missing(operator, namespace, recorder):
    """A Deployment that can't be read is not treated as missing, and no error is swallowed, not even of a report."""
    app = namespace.webapp()
    operator.start()
    follows(app, when="a WebApp was created", hint="act() creates what is missing.")
    operator.settle()
    for status, reason, answer in UNREADABLE:
        for kind in ("Deployment", "WebApp"):
            mark, printed = recorder.mark(), len(operator.output)
            broken = recorder.fail(reads(kind, verb="get"), status=status, reason=reason, times=1)
            app.poke()
            eventually(lambda broken=broken: broken.fired, within=3)  # one that lists has nothing to be told
            passes(recorder, 1)
            broken.remove()
            written = recorder.since(mark).writes("Deployment")
            if written:
                fail(
                    when=f"the API server answered {answer} when the {kind} was read",
                    expected="the pass fails, and the next one looks again",
                    got=f"a write to the Deployment, which exists and is right: {written[0].verb}",
                    seen="\n".join(map(str, written[:3])),
                    hint="Catch NotFound and nothing else: any other error means that you don't know.",
                )
            if broken.fired and not eventually(lambda printed=printed: operator.output[printed:].strip(), within=3):
                fail(
                    when=f"the API server answered {answer} when the {kind} was read",
                    expected="the error propagates, and the caller of reconcile logs it",
                    got="the operator printed nothing: this pass looked like one with nothing to do",
                    hint="Don't catch what you can't handle. Every error but NotFound has to leave reconcile().",
                )
    made, mark = uid_of(app, "Deployment"), not_there_for_a_moment(operator, app, recorder)
    invented = [each for each in recorder.since(mark).writes("WebApp") if each.status == 200 and not claimed(each)]
    if invented:
        fail(
            when=f"{app.spec['replicas']} Pods were available, and a read that lagged behind said once that there is "
            "no Deployment",
            expected="no report of 0: the Deployment exists, and nobody has seen it with no Pod available",
            got="a report of 0 available Pods",
            seen="\n".join(map(str, invented[:3])),
            hint="act() returns the Deployment that there is now, as the server answered it. If create() says that it "
            "exists already, let that propagate: the next pass looks again.",
        )
    for kind, write, status, because in (
        ("Deployment", "a write to the Deployment", 403, "a permission was missing"),
        ("Deployment", "a write to the Deployment", 422, "a policy of the cluster refused it"),
        ("WebApp", "the write to the status", 403, "a permission was missing"),
    ):
        printed = len(operator.output)
        refused = recorder.fail(writes(kind), status=status, times=1)
        app.edit(replicas=app.spec["replicas"] + 1)
        eventually(lambda refused=refused: refused.fired, within=SOON)
        told = eventually(lambda printed=printed: operator.output[printed:].strip(), within=3)
        refused.remove()
        if uid_of(app, "Deployment") != made:
            fail(
                when=f"the API server answered {write} with {status}: {because}",
                expected="the Deployment stays, and the next pass writes again",
                got="the Deployment was deleted and another one created: every Pod was stopped",
                hint="A refusal says that this write can't be carried out now. Let it propagate: what others added "
                "to the Deployment has to stay.",
            )
        if refused.fired and not told:
            fail(
                when=f"the API server answered {write} with {status}: {because}",
                expected="the error propagates, and the caller of reconcile logs it",
                got="the operator printed nothing: this pass looked like one that went well",
                hint="Don't catch what you can't handle. Every error but NotFound has to leave reconcile().",
            )
        reports(app, when=f"{write} had been refused once", hint="The next pass compares again, and writes again.")


def not_there_for_a_moment(operator, app, recorder):
    """The Deployment runs, and one read of it finds nothing, as from a server that lags behind. Since when."""
    reports(app, when="a WebApp was created", hint="Report in every pass.")
    mark = operator.settle()
    lagging = recorder.fail(reads("Deployment", verb="get", name=app.name), status=404, times=1)
    app.poke()
    eventually(lambda: lagging.fired, within=3)  # one that lists is never told
    passes(recorder, 2)
    lagging.remove()
    return mark


@check(points=3, section="one-pass", incident="rabbitmq/cluster-operator#782: a crash between two steps", timeout=60)
def test_killed_after_a_write(operator, namespace, recorder):
    """Killed right after any of its writes and started again, it finishes the job."""
    app = namespace.webapp()
    for number in (1, 2):
        if number == 2:  # some answers have no second write before a Pod is available
            eventually(lambda: available_pods(app), within=20)
        killed = recorder.kill_after(writes(), kill=operator.crash)
        operator.start()
        eventually(
            lambda killed=killed: killed.fired and not operator.running,
            within=SOON,
            when=f"a WebApp was created, and the operator was started (run {number})",
            expected="it writes: the Deployment first, then the status",
            hint="The cluster shows what an earlier run did; the rest is still to do.",
        )
    operator.start()
    follows(
        app,
        when="the operator was killed right after its first write, then after its second, and started again",
        hint="Start each pass from what exists, not from what an earlier run was about to do.",
    )
    reports(
        app,
        when="the operator was killed right after its first write, then after its second, and started again",
        hint="The report doesn't depend on who created the Deployment, or when: write it in every pass.",
    )


@check(points=2, section="gone-is-an-answer", timeout=90)
def test_every_request_may_fail(operator, namespace):
    """Whichever request fails, the Deployment and the status are right in the end."""
    attacks.fault_at_every_request(
        operator,
        make=lambda name=None, **spec: namespace.webapp(name, **{"replicas": 1, **spec}),
        wrong=wrong,
        children=["Deployment"],
        edit=lambda app: app.edit(image=other_image(app)),
        modes=["500", "lost"],
        hint="Let an error end the pass. The next one starts from what exists by then, and does what is missing.",
    )


@check(points=2, section="your-turn", timeout=60)
def test_a_name_and_a_namespace(operator, namespace, other_namespace):
    """Two WebApps with the same name in two namespaces have nothing to do with each other."""
    attacks.namesakes_are_independent(
        operator,
        make=namesakes(),
        wrong=wrong,
        children=["Deployment"],
        edit=lambda app: app.edit(replicas=3),
        rests=True,
        reborn=True,
    )
