"""Checks of lab 06, easiest first. Each docstring is the line that the learner reads."""

import random

from converge.grader import check, eventually, expect, fail
from converge.grader.checks.webapps import (
    CHILDREN,
    children_of,
    containers,
    deleted_without_retries,
    deployment_of,
    namesakes,
    summary,
    uid_of,
    wanted_summary,
)
from converge.recorder import reads
from converge.testing import attacks

BUILDERS = ("desired_deployment", "desired_service")


def child(app, kind, *, when, hint=""):
    """The child of that kind, as soon as it is there."""

    def others():
        names = [each["metadata"]["name"] for each in app.namespace.list(kind)]
        return [f"what there is: {kind} {', '.join(names)}"] if names else []

    return eventually(
        lambda: app.namespace.get(kind, app.name),
        when=when,
        expected=f"a {kind} named {app.name}, like its WebApp",
        hint=hint or "The name of a child is computed from the WebApp's, never made up: so a second run finds it.",
        seen=others,
    )


def both(app, *, when, hint=""):
    """Its Deployment and its Service, as soon as they are there."""
    return [child(app, kind, when=when, hint=hint) for kind in CHILDREN]


def missing(app):
    """What is missing, in words."""
    return "".join(f"there is no {kind} {app.name}; " for kind in CHILDREN if kind not in children_of(app))


def wrong(app):
    """What is missing or not as the WebApp's spec says, in words."""
    if lacking := missing(app):
        return lacking
    found, wanted = summary(*(app.namespace.get(kind, app.name) for kind in CHILDREN)), wanted_summary(app)
    return "; ".join(f"{what}: {found[what]}, not {wanted[what]}" for what in wanted if found[what] != wanted[what])


def essence(child):
    """What a builder decides: labels, annotations and spec, without what the server and Kubernetes itself add."""
    notes = {key: value for key, value in child["metadata"].get("annotations", {}).items() if "kubernetes" not in key}
    spec = {key: value for key, value in child["spec"].items() if not key.startswith("clusterIP")}
    return {"labels": child["metadata"].get("labels", {}), "annotations": notes, "spec": spec}


def all_labels(child):
    """The labels of a child, and of its Pods if it has any."""
    template = child["spec"].get("template", {"metadata": {}})
    return {**child["metadata"].get("labels", {}), **template["metadata"].get("labels", {})}


def one_of_each(namespace, when):
    """Fail unless there is one Deployment and one Service for each WebApp, and nothing else."""
    wanted = sorted(each["metadata"]["name"] for each in namespace.list("WebApp"))
    for kind in CHILDREN:
        expect(
            sorted(each["metadata"]["name"] for each in namespace.list(kind)),
            wanted,
            when=f"{when}; then every {kind} was listed",
            hint="A second run must meet the result of the first: fixed names, and a look before each create.",
        )


@check(points=2, section="a-builder-without-a-past")
def test_a_webapp_gets_a_deployment_and_a_service(operator, namespace):
    """A WebApp gets a Deployment and a Service, as its spec says."""
    labels = {f"team-{random.randrange(1000)}": namespace.new_name()}
    app, none = namespace.webapp(labels=labels), namespace.webapp(replicas=0)
    operator.start()
    for each, when in ((none, "a WebApp with 0 replicas was created"), (app, "a WebApp was created")):
        deployment, service = both(each, when=when)
        expect(
            summary(deployment, service),
            wanted_summary(each),
            when=when,
            hint="The builders take replicas, image and port from the spec, and 0 is a number like any other. The "
            "Service's port leads to that of the container web: its targetPort is the number, or that port's name.",
        )
    expect(
        [port.get("name") for port in service["spec"]["ports"]],
        ["http"],
        when="the name of the Service's port was read",
        hint="One port, called http: others refer to it by this name.",
    )
    template = deployment["spec"]["template"]["metadata"]["labels"]
    for where, found in (
        ("the Deployment", deployment["metadata"].get("labels", {})),
        ("its Pods' template", template),
        ("the Service", service["metadata"].get("labels", {})),
    ):
        expect(
            {key: found.get(key) for key in labels},
            labels,
            when=f"the WebApp has labels, and those of {where} were read",
            hint="child_metadata(webapp) has the labels for both children; the template gets them too.",
        )
    selector = service["spec"].get("selector", {})
    expect(
        bool(selector) and {key: template.get(key) for key in selector} == selector,
        True,
        expected="the Pods carry every label of the selector",
        when="the Service's selector was compared with the labels of the Pods",
        hint="A Service stands for the Pods that carry all labels of its selector; here it finds none.",
        seen=[f"selector of the Service: {selector}", f"labels of the Pods: {template}"],
    )
    for owner, chosen in (("the Service", selector), ("the Deployment", deployment["spec"]["selector"]["matchLabels"])):
        if labels.keys() & chosen.keys():
            fail(
                when=f"the WebApp has the labels {labels}, and the selector of {owner} was read",
                expected="a selector without them",
                got=str(chosen),
                hint="selector(webapp) is all that a selector needs. A user's label can change, and then the Pods that "
                "are there no longer match; the selector of a Deployment can't change at all.",
            )


@check(points=2, section="a-builder-without-a-past")
def test_the_sidecar_is_there_once_and_only_where_it_is_asked_for(request, operator, namespace, submission):
    """A WebApp with a sidecar has one container logger, after any number of runs; one without has none."""
    plain, image = namespace.images.web
    labels = {f"team-{random.randrange(1000)}": "blue"}
    with_it = namespace.webapp(replicas=1, sidecar=image, labels=labels)
    without = namespace.webapp(replicas=1, image=plain)
    hint = "A builder has no past: what it returns must depend only on its WebApp, not on an earlier call."
    operator.start()
    for app in (with_it, without):
        both(app, when="a WebApp with a sidecar and one without were created", hint=hint)
    late = namespace.webapp(replicas=1)
    for app in (with_it, without):
        app.poke()
    both(late, when="a third WebApp, without a sidecar, was created after them", hint=hint)
    operator.settle()
    for app, wanted in ((with_it, ["logger", "web"]), (without, ["web"]), (late, ["web"])):
        found = sorted(containers(deployment_of(app)))
        expect(found, wanted, when=f"the containers of {app} were read after several runs", hint=hint)
        leaky = [kind for kind in CHILDREN if labels.keys() & set(all_labels(namespace.get(kind, app.name)))]
        expect(
            leaky,
            ["Deployment", "Service"] if app is with_it else [],
            when=f"the spec of {with_it} has the labels {labels}, no other WebApp has any; the children of {app} "
            "that carry them",
            hint=hint,
        )
    logger = containers(deployment_of(with_it))["logger"]
    expect(
        logger["image"],
        image,
        when="the image of container logger was read",
        hint="The image is the spec's `sidecar`.",
    )
    before = {kind: essence(namespace.get(kind, with_it.name)) for kind in CHILDREN}
    operator.stop()
    for kind in CHILDREN:
        namespace.delete(kind, with_it.name)
    operator.start()
    when = f"the children of {with_it} were deleted by hand, and the operator was started again"
    both(with_it, when=when, hint=hint)
    expect(
        {kind: essence(namespace.get(kind, with_it.name)) for kind in CHILDREN},
        before,
        when=f"{when}; its new children, compared with the first ones",
        hint="The same WebApp gives the same object, always: no clock, no random numbers, nothing of this process.",
    )
    without.edit(image=image)
    namespace.delete("Deployment", without.name)
    operator.settle()  # a cache has heard of the deletion by then
    without.poke()
    eventually(
        lambda: wrong(without),
        "",
        when="the image in the spec was changed, and the Deployment was deleted by hand",
        expected="a Deployment with the image that the spec has now",
        hint=hint,
    )
    for name in BUILDERS:
        if f"def {name}(".encode() in submission.read_bytes():  # which may be a program
            lab = request.getfixturevalue("lab")
            calls = lab.resolve("converge.grader.library.doubles:call_twice")
            first, second = calls(getattr(lab, name), with_it.now())
            expect(second, first, when=f"{name} was called twice with the same WebApp", hint=hint)


@check(points=3, section="look-then-make-then-be-told", incident="dask/dask-kubernetes#654")
def test_at_rest_nothing_is_written(operator, namespace):
    """Once the children are there, nothing is written, not when the WebApp is touched, and not after a restart."""
    app = namespace.webapp(replicas=1, sidecar=namespace.images.web[0])
    operator.start()
    both(app, when="a WebApp was created")
    app.edit(labels={"team": namespace.new_name()})  # who looks for children with these labels finds none
    operator.settle()
    attacks.zero_writes_at_rest(
        operator,
        app,
        hint="Look before you create, by name: the server refuses or ignores a write that achieves nothing, but the "
        "write isn't free.",
    )


@check(points=2, section="a-builder-without-a-past", incident="keycloak/keycloak#21015")
def test_two_webapps_do_not_touch_each_other(operator, namespace):
    """Two WebApps in one namespace share neither children nor Pods, and a copy under another name isn't a child."""
    attacks.many_at_once(operator, make=lambda: namespace.webapp(replicas=0), wrong=wrong)
    labels = {"team": namespace.new_name()}  # equal labels must not make two WebApps one
    mine, other = namespace.webapp(labels=labels), namespace.webapp(labels=labels)
    pairs = [both(app, when="two WebApps were created") for app in (mine, other)]
    for (deployment, service), (foreign, _) in (pairs, pairs[::-1]):
        pods = foreign["spec"]["template"]["metadata"]["labels"]
        for owner, selector in (
            (f"Service {service['metadata']['name']}", service["spec"]["selector"]),
            (f"Deployment {deployment['metadata']['name']}", deployment["spec"]["selector"]["matchLabels"]),
        ):
            if selector.items() <= pods.items():
                fail(
                    when=f"the selector of {owner} was tried on the Pods of the other WebApp",
                    expected="it does not match them",
                    got=f"{selector} matches Pods with the labels {pods}",
                    hint="Something in the selector has to tell one WebApp's Pods from the other's. Use its name.",
                )
    one_of_each(namespace, when="two WebApps were created")
    for child in pairs[0]:
        copy = {"apiVersion": child["apiVersion"], "kind": child["kind"], "spec": child["spec"]}
        copy["spec"].pop("clusterIP", None), copy["spec"].pop("clusterIPs", None)
        copy["metadata"] = {"name": f"{mine.name}-canary", "labels": child["metadata"].get("labels", {})}
        namespace.create(copy)
        namespace.delete(child["kind"], mine.name)
    operator.settle()  # a cache has heard of the deletion by then
    mine.poke()
    both(
        mine,
        when="someone made copies of its children, with the same labels and other names; then the children were "
        "deleted, and the WebApp was touched",
        hint="Ask for the child by its name: that alone says whether it exists.",
    )


@check(points=3, section="each-step-by-itself", incident="rabbitmq/cluster-operator#782")
def test_a_crash_after_each_write(operator, namespace):
    """Killed after any of its writes and started again, it makes what is missing, and nothing twice."""
    attacks.crash_after_every_write(
        operator,
        make=lambda: namespace.webapp(replicas=1),
        wrong=missing,
        hint="Each child is looked for by itself. Whether one exists says nothing about the other.",
    )
    one_of_each(namespace, when="the operator was killed after each of its writes")


@check(points=3, section="look-then-make-then-be-told", incident="dask/dask-kubernetes#940")
def test_a_stale_read_does_no_harm(operator, namespace, recorder):
    """A stale read leads to no second child and holds up no other step."""
    bystander = namespace.webapp(replicas=1)
    operator.start()
    both(bystander, when="a WebApp was created")
    operator.settle()
    for kind in CHILDREN:
        namespace.delete(kind, bystander.name)
        operator.settle()  # a cache has heard of the deletion by then
        bystander.poke()
        child(
            bystander,
            kind,
            when=f"the {kind} was deleted by hand, and the WebApp touched",
            hint="Whether a child is there is a question for the server, in every pass. What you remember is the past.",
        )
    for stale, other in (CHILDREN, CHILDREN[::-1]):
        past = recorder.freeze(stale)
        app = namespace.webapp(replicas=1)
        both(app, when=f"a WebApp was created while reads of {stale}s showed the past")
        made = uid_of(app, stale)
        namespace.delete(other, app.name)
        operator.settle()  # a cache has heard of the deletion by then
        app.poke()
        child(
            app,
            other,
            when=f"reads did not show the {stale} yet, the {other} was deleted, and the WebApp touched",
            hint=f"AlreadyExists says that the {stale} is there, which is what was wanted: go on with the {other}.",
        )
        operator.settle()
        expect(
            uid_of(app, stale),
            made,
            when=f"reads did not show the {stale} yet, and the WebApp was touched; the uid of the {stale}, before and "
            "after",
            hint="AlreadyExists is good news, and newer than your read. Leave what is there alone.",
        )
        past.thaw()
        operator.settle()
        namespace.delete(stale, app.name)
        operator.settle()  # a cache has heard of the deletion by then
        app.poke()
        child(
            app,
            stale,
            when=f"reads showed the present again, the {stale} was deleted, and the WebApp touched",
            hint="AlreadyExists was an answer about that moment. Whether the child is there is a question for the "
            "server, in every pass.",
        )
    operator.settle()
    one_of_each(namespace, when="reads had shown the past for a while")


@check(points=4, section="look-then-make-then-be-told", incident="cryostatio/cryostat-operator#230", timeout=60)
def test_every_request_may_fail(operator, namespace):
    """Whichever request fails, even if the server did it and the answer was lost: one child of each kind."""
    attacks.fault_at_every_request(
        operator,
        make=lambda name=None, **spec: namespace.webapp(name, **{"replicas": 0, **spec}),
        wrong=missing,
        children=CHILDREN,
        modes=["500", "504", "403", "404", "quota", "reset", "lost"],
        hint="NotFound answers a get and AlreadyExists answers a create. Any other error says that you don't know, "
        "even a 409 that isn't AlreadyExists: let it propagate, and the next pass looks again.",
    )
    one_of_each(namespace, when="each request for a WebApp had failed once")


@check(points=3, section="look-then-make-then-be-told", timeout=60)
def test_a_failed_read_is_no_answer(operator, namespace, recorder):
    """A read that fails doesn't say that something is missing."""
    app = namespace.webapp(replicas=1)
    operator.start()
    both(app, when="a WebApp was created")
    operator.settle()
    for kind in CHILDREN:
        mark = recorder.mark()
        unreadable = recorder.fail(reads(kind, verb="get", name=app.name), status=500)
        app.poke()
        eventually(lambda unreadable=unreadable: unreadable.fired, within=2)  # one that reads a cache has no GET
        operator.settle()
        unreadable.remove()
        if written := recorder.since(mark).writes(kind):
            fail(
                when=f"the API server answered 500 once when the {kind} was read",
                expected="no write: the pass fails, and the next one looks again",
                got=f"it tried to create the {kind}, which exists",
                seen=[str(each) for each in written[:3]],
                hint="NotFound is the one error that answers the question. Any other says that you don't know.",
            )


@check(points=1, section="from-a-change-to-rest", timeout=60)
def test_a_deleted_webapp_is_no_error(operator, namespace):
    """A WebApp that is gone is not an error: nothing is retried, and no child is created for it."""
    app = namespace.webapp(replicas=1)
    operator.start()
    both(app, when="a WebApp was created")
    operator.settle()
    deleted_without_retries(
        operator,
        app,
        hint="The WebApp may be gone by the time you get its name. Catch NotFound there, and return.",
    )


@check(points=2, section="names-are-the-memory", timeout=60)
def test_a_name_and_a_namespace(operator, namespace, other_namespace):
    """Two WebApps with the same name in two namespaces each have their own children."""
    attacks.namesakes_are_independent(
        operator, make=namesakes(), wrong=wrong, children=CHILDREN, rests=True, reborn=True
    )
