"""Checks of lab 06, easiest first. Each docstring is the line that the learner reads."""

import random

from converge.grader import attacks, check, eventually, expect, fail
from converge.grader.recorder import writes

CHILDREN = ("Deployment", "Service")


def containers(deployment):
    """The containers of a Deployment's Pods, by name."""
    return {each["name"]: each for each in deployment["spec"]["template"]["spec"]["containers"]}


def child(namespace, kind, app, *, when, hint=""):
    """The child of that kind, as soon as it is there."""

    def others():
        names = [each["metadata"]["name"] for each in namespace.list(kind)]
        return [f"what there is: {kind} {', '.join(names)}"] if names else []

    return eventually(
        lambda: namespace.get(kind, app.name),
        when=when,
        expected=f"a {kind} named {app.name}, like its WebApp",
        hint=hint or "The name of a child is computed from the WebApp's, never made up: so a second run finds it.",
        seen=others,
    )


def both(namespace, app, *, when, hint=""):
    return [child(namespace, kind, app, when=when, hint=hint) for kind in CHILDREN]


def missing(namespace, app):
    """What is missing, in words."""
    return "".join(f"there is no {kind} {app.name}; " for kind in CHILDREN if namespace.get(kind, app.name) is None)


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
    app = namespace.webapp(labels=labels)
    spec, when = app.spec, "a WebApp was created"
    operator.start()
    deployment, service = both(namespace, app, when=when)
    web = containers(deployment).get("web", {})
    expect(
        {
            "replicas": deployment["spec"]["replicas"],
            "image of container web": web.get("image"),
            "ports of container web": [port["containerPort"] for port in web.get("ports", [])],
            "port of the Service": [port["port"] for port in service["spec"].get("ports", [])],
        },
        {
            "replicas": spec["replicas"],
            "image of container web": spec["image"],
            "ports of container web": [spec["port"]],
            "port of the Service": [spec["port"]],
        },
        when=when,
        hint="The builders take replicas, image and port from the spec.",
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
        when="the Service's selector was compared with the labels of the Pods",
        hint="A Service stands for the Pods that carry all labels of its selector; here it finds none.",
        seen=[f"selector of the Service: {selector}", f"labels of the Pods: {template}"],
    )


@check(points=2, section="a-builder-without-a-past")
def test_the_sidecar_is_there_once_and_only_where_it_is_asked_for(operator, namespace):
    """A WebApp with a sidecar has one container logger, after any number of runs; one without has none."""
    plain, image = namespace.images.web
    with_it, without = namespace.webapp(replicas=1, sidecar=image), namespace.webapp(replicas=1, image=plain)
    hint = "A builder has no past: what it returns must depend on its WebApp alone, not on an earlier call."
    operator.start()
    for app in (with_it, without):
        both(namespace, app, when="a WebApp with a sidecar and one without were created", hint=hint)
    late = namespace.webapp(replicas=1)
    for app in (with_it, without):
        app.poke()
    both(namespace, late, when="a third WebApp, without a sidecar, was created after them", hint=hint)
    operator.settle()
    for app, wanted in ((with_it, ["logger", "web"]), (without, ["web"]), (late, ["web"])):
        pod = namespace.get("Deployment", app.name)["spec"]["template"]["spec"]
        found = sorted(each["name"] for each in pod["containers"])
        expect(found, wanted, when=f"the containers of {app} were read after several runs", hint=hint)
    logger = containers(namespace.get("Deployment", with_it.name))["logger"]
    expect(logger["image"], image, when="the image of container logger was read", hint="It is the spec's `sidecar`.")


@check(points=3, section="look-then-make-then-be-told", incident="dask/dask-kubernetes#654")
def test_at_rest_nothing_is_written(operator, namespace):
    """Once the children are there, nothing is written, neither when the WebApp is touched nor after a restart."""
    app = namespace.webapp(replicas=1, sidecar=namespace.images.web[0])
    operator.start()
    both(namespace, app, when="a WebApp was created")
    attacks.zero_writes_at_rest(
        operator,
        app,
        hint="Look before you create: a write that achieves nothing is refused or ignored by the server, but not free.",
    )


@check(points=2, section="a-builder-without-a-past", incident="keycloak/keycloak#21015")
def test_two_webapps_do_not_touch_each_other(operator, namespace):
    """Two WebApps in one namespace share neither children nor Pods."""
    labels = {"team": namespace.new_name()}  # equal labels must not make two WebApps one
    mine, other = namespace.webapp(labels=labels), namespace.webapp(labels=labels)
    operator.start()
    pairs = [both(namespace, app, when="two WebApps were created") for app in (mine, other)]
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
                    hint="Something in the selector has to tell one WebApp's Pods from the other's: its name.",
                )
    one_of_each(namespace, when="two WebApps were created")


@check(points=2, section="look-then-make-then-be-told")
def test_a_refused_create_is_tried_again(operator, namespace, recorder):
    """A create that the server refuses with a 500 is tried again."""
    for kind in CHILDREN:
        recorder.fail(writes(kind), status=500)
    app = namespace.webapp(replicas=1)
    operator.start()
    hint = "AlreadyExists is the one error to be content with. Any other must be raised, so that the pass is retried."
    both(namespace, app, when="the first write of the Deployment and of the Service was answered with 500", hint=hint)
    operator.settle()
    one_of_each(namespace, when="the first write of each child was answered with 500")


@check(points=3, section="names-are-the-memory", incident="cryostatio/cryostat-operator#163")
def test_a_lost_answer_leaves_one_child(operator, namespace, recorder):
    """When the answer to a create is lost, there is still one child of each kind in the end."""
    for kind in CHILDREN:
        recorder.lose_answer(writes(kind))
    app = namespace.webapp(replicas=1)
    operator.start()
    when = "the server created each child, but its answer was lost"
    both(namespace, app, when=when, hint="Raise what you do not know how to handle: the next pass sees what is there.")
    operator.settle()
    one_of_each(namespace, when=when)


@check(points=3, section="each-step-by-itself", incident="rabbitmq/cluster-operator#782")
def test_a_crash_after_each_write(operator, namespace):
    """Killed after any of its writes and started again, it makes what is missing, and nothing twice."""
    attacks.crash_after_every_write(
        operator,
        make=lambda: namespace.webapp(replicas=1),
        wrong=lambda app: missing(namespace, app),
        hint="Each child is looked for by itself. Whether one exists says nothing about the other.",
    )
    one_of_each(namespace, when="the operator was killed after each of its writes")


@check(points=3, section="look-then-make-then-be-told", incident="dask/dask-kubernetes#940")
def test_a_stale_read_does_no_harm(operator, namespace, recorder):
    """A read that does not show an own write yet leads to no second child and holds up no other step."""
    bystander = namespace.webapp(replicas=1)
    operator.start()
    both(namespace, bystander, when="a WebApp was created")
    operator.settle()
    for stale, other in (CHILDREN, CHILDREN[::-1]):
        past = recorder.freeze(stale)
        app = namespace.webapp(replicas=1)
        both(namespace, app, when=f"a WebApp was created while reads of {stale}s showed the past")
        namespace.delete(other, app.name)
        app.poke()
        child(
            namespace,
            other,
            app,
            when=f"reads did not show the {stale} yet, the {other} was deleted, and the WebApp touched",
            hint=f"AlreadyExists says that the {stale} is there, which is what was wanted: go on with the {other}.",
        )
        past.thaw()
    operator.settle()
    one_of_each(namespace, when="reads had shown the past for a while")
