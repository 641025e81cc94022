"""Checks of lab 01, easiest first. Each docstring is the line that the learner reads."""

from converge.grader import check, eventually, expect, fail
from converge.grader.recorder import reads, writes

SOON = 8.0  # seconds; a right operator needs two passes, one second


def wish(app):
    spec = app.spec
    return {"image": spec["image"], "replicas": spec["replicas"]}


def world(namespace, app):
    """Image and number of Pods of the WebApp's Deployment; None when there is none."""
    deployment = namespace.get("Deployment", app.name)
    if deployment is None:
        return None
    images = {each["name"]: each["image"] for each in deployment["spec"]["template"]["spec"]["containers"]}
    return {"image": images.get("web"), "replicas": deployment["spec"]["replicas"]}


def follows(namespace, app, *, when, hint):
    """The Deployment becomes what the WebApp asks for."""
    eventually(lambda: world(namespace, app), wish(app), within=SOON, when=when, hint=hint)


def available(namespace, app):
    """How many Pods of the WebApp's Deployment are available."""
    return (namespace.get("Deployment", app.name) or {}).get("status", {}).get("availableReplicas", 0)


def reports(namespace, app, *, when, hint):
    """The status comes to say that all Pods are available, once they are."""
    number = app.spec["replicas"]
    eventually(lambda: available(namespace, app) == number, within=20)  # Pods take their time on a busy machine
    eventually(lambda: app.status.get("availableReplicas", 0), number, within=SOON, when=when, hint=hint)


def passes(recorder, count):
    """Wait until the operator has listed the WebApps so many times more; until it is quiet, if it watches them."""
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
            namespace,
            app,
            when="two WebApps were created",
            hint="observe() says None when there is no Deployment of the WebApp's name; act() creates it then.",
        )


@check(points=2, section="one-pass", timeout=60)
def test_it_follows_the_number_of_pods(operator, namespace, recorder):
    """When replicas changes, the Deployment follows; when the Deployment changes, it is put right."""
    app = namespace.webapp()
    operator.start()
    follows(namespace, app, when="a WebApp was created", hint="act() creates what is missing.")
    made = namespace.get("Deployment", app.name)["metadata"]["uid"]
    for replicas in (app.spec["replicas"] + 2, 1):
        app.edit(replicas=replicas)
        follows(
            namespace,
            app,
            when=f"replicas was changed to {replicas} and nothing else",
            hint="A Deployment that exists may still differ: compare settings(actual) with settings(desired).",
        )
    if namespace.get("Deployment", app.name)["metadata"]["uid"] != made:
        fail(
            when="replicas was changed, twice",
            expected="the same Deployment, with another number of Pods",
            got="the Deployment was deleted and another one was made: every Pod was stopped",
            hint="Change the Deployment that is there: client.patch merges what you want into it.",
        )
    passes(recorder, 2)
    namespace.patch("Deployment", app.name, {"spec": {"replicas": app.spec["replicas"] + 2}})
    follows(
        namespace,
        app,
        when="somebody scaled the Deployment by hand, and nothing happened to the WebApp",
        hint="Compare with the Deployment in every pass, not only when the WebApp has a new generation.",
    )


@check(
    points=2,
    section="one-pass",
    incident="piyushjajoo/k8s-operators-course: a reference solution never rolls out a new image",
)
def test_it_follows_the_image(operator, namespace):
    """When the image changes, the Deployment follows."""
    old, new = namespace.images.web
    app = namespace.webapp(image=old)
    operator.start()
    follows(namespace, app, when="a WebApp was created", hint="act() creates what is missing.")
    app.edit(image=new)
    follows(
        namespace,
        app,
        when="the image was changed and nothing else",
        hint="Both settings count: a difference in any of them has to be acted on.",
    )


@check(points=2, section="gone-is-an-answer", timeout=60)
def test_a_deleted_webapp_is_no_error(operator, namespace, recorder):
    """A WebApp that is gone is no error, and nothing is made for it."""
    app, other = namespace.webapp(), namespace.webapp()
    operator.start()
    follows(namespace, app, when="a WebApp was created", hint="act() creates what is missing.")
    recorder.wait_quiet(0.2, SOON)  # between two passes: one that is under way may fail to report to a WebApp that goes
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
            expected="it returns: nobody wishes for anything",
            got="it failed",
            seen="\n".join(errors[:3]),
            hint="client.get raises NotFound for a WebApp that is gone. Catch that one error, and return.",
        )
    namespace.delete("Deployment", app.name)
    passes(recorder, 2)
    expect(
        world(namespace, app),
        None,
        when="a WebApp was deleted, then its Deployment, and two more passes were made",
        hint="Without a WebApp there is nothing to build a Deployment for.",
    )
    follows(namespace, other, when="another WebApp was deleted", hint="One WebApp's end is no other's business.")


@check(points=3, section="wish-world-report", incident="nolar/kopf#527", timeout=60)
def test_the_status_says_how_many_are_available(operator, namespace):
    """The status says how many Pods are available."""
    app = namespace.webapp()
    operator.start()
    for replicas in (app.spec["replicas"], app.spec["replicas"] + 1, 0):
        app.edit(replicas=replicas)
        reports(
            namespace,
            app,
            when=f"{replicas} Pods were asked for, and became available",
            hint='Patch the status at its own address, subresource="status"; the number is in deployment["status"], '
            "where it is left out when it is 0.",
        )


@check(points=2, section="nothing-to-do-means-no-write", incident="3scale/3scale-operator#1174", timeout=60)
def test_a_pass_with_nothing_to_do_writes_nothing(operator, namespace, recorder):
    """When all is as it should be, a pass writes nothing."""
    app = namespace.webapp()
    operator.start()
    reports(namespace, app, when="a WebApp was created", hint="First the status has to be reported at all.")
    passes(recorder, 1)  # the one that wrote the last report may still be under way
    mark = recorder.mark()
    passes(recorder, 3)
    written = recorder.since(mark).writes()
    if written:
        fail(
            when="all Pods were available and reported, and three more passes were made",
            expected="reads, and no write",
            got=f"{len(written)} writes",
            seen="\n".join(map(str, written[:4])),
            hint="Compare before each write: the Deployment with what is desired, the status with what you observed.",
        )


@check(points=2, section="wish-world-report", timeout=60)
def test_the_status_is_observed(operator, namespace):
    """Pods that never start are not reported as available."""
    app = namespace.webapp(image=namespace.images.bad)
    operator.start()
    follows(namespace, app, when="a WebApp with an image that cannot be pulled was created", hint="act() creates it.")
    operator.settle()
    available = app.status.get("availableReplicas")
    if available not in (None, 0):
        fail(
            when=f"{app.spec['replicas']} Pods were asked for, with an image that cannot be pulled",
            expected="a status that says 0: none is available",
            got=f"availableReplicas: {available}",
            hint="Report what the Deployment's own status says, not what was asked for.",
        )


@check(
    points=3,
    section="wish-world-report",
    incident="tektoncd/operator#25: its status said that all was installed",
)
def test_a_deleted_deployment_comes_back(operator, namespace, recorder):
    """A deleted Deployment comes back, although the status says that all is well."""
    app = namespace.webapp()
    operator.start()
    reports(namespace, app, when="a WebApp was created", hint="First the status has to be reported at all.")
    operator.settle()
    recorder.note("somebody deletes the Deployment")
    namespace.delete("Deployment", app.name)
    follows(
        namespace,
        app,
        when="all Pods were available, and the Deployment was deleted",
        hint="The status is what you wrote in an earlier pass. Look at the Deployment itself, in every pass.",
    )
    reports(namespace, app, when="the Deployment came back", hint="Report in every pass.")


@check(points=2, section="wish-world-report", timeout=60)
def test_a_wrong_status_is_put_right(operator, namespace, recorder):
    """A status that says something else is put right, and decides nothing."""
    app = namespace.webapp()
    operator.start()
    reports(namespace, app, when="a WebApp was created", hint="First the status has to be reported at all.")
    mark = operator.settle()
    namespace.patch("WebApp", app.name, {"status": {"availableReplicas": 99}}, subresource="status")
    reports(
        namespace,
        app,
        when="somebody wrote 99 into the status",
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
    """A Deployment that could not be read is not taken for a missing one."""
    app = namespace.webapp()
    operator.start()
    follows(namespace, app, when="a WebApp was created", hint="act() creates what is missing.")
    mark = operator.settle()
    broken = recorder.fail(reads("Deployment", verb="get"), status=500, times=1)
    app.poke()
    eventually(lambda: broken.fired, within=3)
    passes(recorder, 1)
    created = recorder.since(mark).writes("Deployment", verb="create")
    if created:
        fail(
            when="the API server answered 500 when the Deployment was read",
            expected="the pass fails, and the next one looks again",
            got="the Deployment was created, although it exists",
            seen="\n".join(map(str, created[:3])),
            hint="Catch NotFound and nothing else: any other error says that you do not know.",
        )


@check(points=3, section="one-pass", incident="rabbitmq/cluster-operator#782", timeout=60)
def test_killed_after_a_write(operator, namespace, recorder):
    """Killed right after any of its writes and started again, it finishes the job."""
    app = namespace.webapp()
    for number in (1, 2):
        killed = recorder.kill_after(writes(), kill=operator.crash)
        operator.start()
        eventually(
            lambda killed=killed: killed.fired and not operator.running,
            within=SOON,
            when=f"a WebApp was created, and the operator was started for the {number}. time",
            expected="it writes: the Deployment first, then the status",
            hint="What an earlier run has done is to be seen in the cluster; what it has not done is still to do.",
        )
    operator.start()
    follows(
        namespace,
        app,
        when="the operator was killed right after its first write, then after its second, and started again",
        hint="Begin each pass from what is there, not from what a run before was about to do.",
    )
    reports(
        namespace,
        app,
        when="the operator was killed right after its first write, then after its second, and started again",
        hint="The report does not depend on who created the Deployment, or when: make it in every pass.",
    )
