"""WebApps in a check: create one, read its children, wait until they match its spec.

app = running(operator, namespace, until=follows, hint="…", replicas=2)
container(deployment_of(app), "web")["image"]
"""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from converge.grader.checks.expect import expect, fail
from converge.testing import attacks
from converge.testing.verdicts.failure import Failure
from converge.testing.waits.waiting import eventually

if TYPE_CHECKING:
    from converge.grader.checks.course_namespace import CourseNamespace
    from converge.testing.objects.custom_resource import CustomResource
    from converge.testing.operator import Operator

CHILDREN = ("Deployment", "Service")
MOST_READS_AFTER_DELETE = 5  # at a WebApp that is gone: a nudge or two, and not yet a retry after each failure
MOST_READS_WHEN_GONE = 7  # of an object: one for its own event, and some for those of its children
LONGEST_REQUEUE = 60.0  # seconds; an operator that looks again later than that leaves its users waiting


def running(
    operator: Operator, namespace: CourseNamespace, *, until: Callable[..., object], hint: str, **spec: Any
) -> CustomResource:
    """A new WebApp under a running operator, once `until(app, when=…, hint=…)` has seen what it waits for.

    It has one Pod unless `spec` says otherwise, because rollouts take time.
    """
    app = namespace.webapp(**{"replicas": 1, **spec})
    if not operator.running:
        operator.start()
    until(app, when="a WebApp was created", hint=hint)
    return app


def namesakes(**spec: Any) -> Callable[[CourseNamespace, str], CustomResource]:
    """For `attacks.namesakes_are_independent`: makes WebApps of one name that differ in image, replicas and port."""
    numbers = count()

    def make(namespace: CourseNamespace, name: str) -> CustomResource:
        number = next(numbers) % 2
        values = {"image": namespace.images.web[number], "replicas": 1 + number, "port": 8080 + number}
        return namespace.webapp(name, **{**values, **spec})

    return make


# Its children.


def deployment_of(app: CustomResource) -> Any:
    """The WebApp's Deployment as it is now, or None."""
    return app.namespace.get("Deployment", app.name)


def service_of(app: CustomResource) -> Any:
    """The WebApp's Service as it is now, or None."""
    return app.namespace.get("Service", app.name)


def children_of(app: CustomResource) -> list[str]:
    """The kinds of the children that exist now."""
    return [kind for kind in CHILDREN if app.namespace.get(kind, app.name)]


def uid_of(app: CustomResource, kind: str) -> str | None:
    """The uid of the WebApp's child of that kind, or None: it tells a child from its replacement."""
    found = app.namespace.get(kind, app.name)
    return found["metadata"]["uid"] if found else None


def containers(deployment: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The containers of a Deployment's Pods, by name."""
    return {each["name"]: each for each in deployment["spec"]["template"]["spec"]["containers"]}


def container(deployment: dict[str, Any], name: str) -> dict[str, Any]:
    """The container of that name in a Deployment's Pods; empty when there is none."""
    return containers(deployment).get(name, {})


def available_pods(app: CustomResource) -> int:
    """How many Pods of its Deployment are available, as the Deployment's own status says."""
    status: dict[str, Any] = (deployment_of(app) or {}).get("status", {})
    return int(status.get("availableReplicas", 0))


# What they say, beside what the spec asks for.


def image_and_replicas(app: CustomResource) -> dict[str, Any] | None:
    """Image and number of Pods of the WebApp's Deployment, or None when there is no Deployment."""
    deployment = deployment_of(app)
    if deployment is None:
        return None
    return {"image": container(deployment, "web").get("image"), "replicas": deployment["spec"]["replicas"]}


def wanted_image_and_replicas(app: CustomResource) -> dict[str, Any]:
    """The same, as the WebApp's spec asks for it."""
    return {"image": app.spec["image"], "replicas": app.spec["replicas"]}


def deployment_follows(app: CustomResource, *, within: float, when: str, hint: str) -> None:
    """Wait until the Deployment has the image and the number of Pods that the WebApp asks for."""
    eventually(lambda: image_and_replicas(app), wanted_image_and_replicas(app), within=within, when=when, hint=hint)


def summary(deployment: dict[str, Any], service: dict[str, Any]) -> dict[str, Any]:
    """What two children say about the fields of a WebApp's spec."""
    web, ports = container(deployment, "web"), service["spec"].get("ports", [])
    return {
        "replicas": deployment["spec"]["replicas"],
        "image of web": web.get("image"),
        "ports of web": [port["containerPort"] for port in web.get("ports", [])],
        "image of logger": container(deployment, "logger").get("image"),
        "port of the Service": [port["port"] for port in ports],
        "where it leads": [_target(port, web) for port in ports],
    }


def wanted_summary(app: CustomResource) -> dict[str, Any]:
    """The summary that the WebApp's spec asks for."""
    spec = app.spec
    return {
        "replicas": spec["replicas"],
        "image of web": spec["image"],
        "ports of web": [spec["port"]],
        "image of logger": spec.get("sidecar"),
        "port of the Service": [spec["port"]],
        "where it leads": [spec["port"]],
    }


def _target(port: dict[str, Any], web: dict[str, Any]) -> Any:
    """The number of the container's port behind a port of the Service, which may name it."""
    named = {each.get("name"): each["containerPort"] for each in web.get("ports", [])}
    wanted = port.get("targetPort", port["port"])
    return named.get(wanted, wanted)


# What a check does to them.


def deleted_without_retries(operator: Operator, app: CustomResource, *, hint: str) -> None:
    """Delete the WebApp, and fail if the operator takes that for an error and tries again and again."""
    recorder, mark = operator.recorder, operator.recorder.mark()
    app.delete()
    eventually(lambda: app.now() is None, within=5)
    recorder.wait_quiet(0.5, deadline=4)
    asked = recorder.since(mark).reads("WebApp", verb="get", name=app.name)
    if len(asked) > MOST_READS_AFTER_DELETE:
        raise Failure(
            when="a WebApp was deleted, and half a second passed without a request",
            expected="a look or two: it is gone, so there is nothing to do",
            got=f"{len(asked)} attempts to read it, each later than the one before: they are retries",
            seen=[str(each) for each in asked[-3:]],
            hint=hint,
        )


def other_image(app: CustomResource) -> str:
    """An image that runs here and that the WebApp doesn't ask for now."""
    runnable = cast("CourseNamespace", app.namespace).images.web
    return next(image for image in runnable if image != app.spec["image"])


def another(number: int, low: int, high: int) -> int:
    """Another number than that, from `low` to below `high`."""
    return random.choice([each for each in range(low, high) if each != number])


def another_port(app: CustomResource) -> int:
    """Another port than the WebApp asks for."""
    return another(app.spec["port"], 1024, 9999)


def foreign_deployment(
    namespace: CourseNamespace, name: str, container: str = "legacy", **metadata: Any
) -> dict[str, Any]:
    """Create a Deployment with which the operator under test has nothing to do."""
    labels = {"run": name}
    pod = {"containers": [{"name": container, "image": namespace.images.web[0]}]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return namespace.create({"kind": "Deployment", "metadata": {"name": name, **metadata}, "spec": spec})


def foreign_service(namespace: CourseNamespace, name: str, **metadata: Any) -> dict[str, Any]:
    """Create a Service with which the operator under test has nothing to do."""
    spec = {"selector": {"run": name}, "ports": [{"name": "legacy", "port": 70}]}
    return namespace.create({"kind": "Service", "metadata": {"name": name, **metadata}, "spec": spec})


# What an operator does with them.


def looks_again_by_itself(
    operator: Operator, app: CustomResource, done: Callable[[], object], *, when: str, hint: str
) -> None:
    """Fail unless it is done, or the operator's last pass over the object has asked for another one within a minute.

    That saves a 30-second wait, and also accepts operators that watch or retry.
    """
    eventually(
        lambda: done() or (operator.looks_again_in(app) or LONGEST_REQUEUE + 1) <= LONGEST_REQUEUE,
        within=35,
        when=when,
        expected="the operator looks again by itself",
        hint=hint,
    )


def comes_back(operator: Operator, app: CustomResource, kind: str, *, when: str, hint: str, within: float = 10) -> None:
    """Delete the WebApp's child of that kind, with nothing else to do, and wait until there is another one."""
    operator.settle()
    before = uid_of(app, kind)
    app.namespace.delete(kind, app.name)
    eventually(
        lambda: uid_of(app, kind) not in (None, before),
        within=within,
        when=f"{kind} {app.name} was deleted, and {when}",
        expected=f"another {kind} {app.name}",
        hint=hint,
    )


def namesakes_stay_independent(
    operator: Operator, wrong: Callable[[CustomResource], str], *, replicas: int = 1
) -> None:
    """`attacks.namesakes_are_independent` with ports that differ, an edit, a deletion and another one of that name."""
    ports = iter((8001, 8002, 8004))
    attacks.namesakes_are_independent(
        operator,
        make=lambda namespace, name: cast("CourseNamespace", namespace).webapp(
            name, replicas=replicas, port=next(ports)
        ),
        wrong=wrong,
        children=CHILDREN,
        edit=lambda app: app.edit(port=8003),
        deletion=True,
        reborn=True,
    )


def makes_nothing_while_deleted(
    operator: Operator, app: CustomResource, *, hint: str, once_it_is: Callable[[], object] = lambda: None
) -> None:
    """Delete a WebApp that someone else's finalizer holds, and its children; fail if a child is made again.

    `once_it_is` is called when its deletion has begun, before the children go.
    """
    namespace = app.namespace
    namespace.patch(app.kind, app.name, {"metadata": {"finalizers": ["backup.example/keeps-it"]}})
    operator.settle()
    app.delete()
    operator.settle()  # a cache has heard of the deletion by then
    once_it_is()
    for kind in CHILDREN:
        namespace.delete(kind, app.name)
    eventually(lambda: not children_of(app), within=3)
    app.poke()  # an operator that doesn't watch its children looks now
    operator.settle()
    expect(
        children_of(app),
        [],
        when=f"{app} was being deleted, held by someone else's finalizer, and its children were deleted; the children "
        "that are there again",
        hint=hint,
    )
    namespace.patch(app.kind, app.name, {"metadata": {"finalizers": None}})
    eventually(lambda: app.now() is None, when="that finalizer was removed", expected="no WebApp")
    gone_without_retries(operator, app)


def no_pass_fails(operator: Operator, app: CustomResource) -> None:
    """Touch an object that is as it should be; fail if a pass over it ends with an error."""
    before = len(operator.output)
    app.poke()
    operator.settle()
    no_pass_has_failed(operator, since=before, when="all was as the spec says, and the WebApp was touched")


def no_pass_has_failed(operator: Operator, *, when: str, since: int = 0) -> None:
    """Fail if a pass logged an error since `since`, an offset in the output, though no fault was injected."""
    failed = [line for line in operator.output[since:].splitlines() if "will be tried again" in line]
    expect(
        failed[:2],
        [],
        when=f"{when}; passes that ended with an error",
        hint="A pass that fails is run again and again, even if it has done its work before it failed.",
    )


def gone_without_retries(operator: Operator, app: CustomResource) -> None:
    """Fail if an operator keeps asking for an object that is gone."""
    recorder = operator.recorder
    recorder.wait_quiet(1, deadline=4)  # the eighth retry of a work queue comes 0.64 s after the one before
    asked = [each for each in recorder.reads(app.kind, verb="get", name=app.name) if each.status == 404]
    if len(asked) > MOST_READS_WHEN_GONE:
        fail(
            when=f"{app} was deleted and gone, and a second passed without a request",
            expected="a look at it for each event of its children at most: it is gone, so there is nothing to do",
            got=f"{len(asked)} attempts to read it, each later than the one before: they are retries",
            hint="The WebApp may be gone by the time you get its name. Catch NotFound there, and return.",
        )
