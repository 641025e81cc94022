"""Checks of lab 07, easiest first. Each docstring is the line that the learner reads."""

import random

from converge.grader import attacks, check, eventually, expect
from converge.grader.history import History
from converge.grader.recorder import reads, writes

CHILDREN = ("Deployment", "Service")


def containers(deployment):
    """The containers of a Deployment's Pods, by name."""
    return {each["name"]: each for each in deployment["spec"]["template"]["spec"]["containers"]}


def summary(namespace, app):
    """What the children say about every field of the WebApp's spec."""
    deployment, service = namespace.get("Deployment", app.name), namespace.get("Service", app.name)
    if not deployment or not service:
        return f"Deployment {'there' if deployment else 'missing'}, Service {'there' if service else 'missing'}"
    inside = containers(deployment)
    web, logger = inside.get("web", {}), inside.get("logger")
    return {
        "replicas": deployment["spec"]["replicas"],
        "image of web": web.get("image"),
        "ports of web": [port["containerPort"] for port in web.get("ports", [])],
        "image of logger": logger and logger["image"],
        "port of the Service": [port["port"] for port in service["spec"].get("ports", [])],
        "where it leads": [target(port, web) for port in service["spec"].get("ports", [])],
    }


def target(port, web):
    """The number of the container's port behind a port of the Service, which may name it."""
    named = {each.get("name"): each["containerPort"] for each in web.get("ports", [])}
    wanted = port.get("targetPort", port["port"])
    return named.get(wanted, wanted)


def wanted(app, **other):
    """The summary that the WebApp's spec asks for."""
    spec = app.spec
    return {
        "replicas": spec["replicas"],
        "image of web": spec["image"],
        "ports of web": [spec["port"]],
        "image of logger": spec.get("sidecar"),
        "port of the Service": [spec["port"]],
        "where it leads": [spec["port"]],
    } | other


def follows(namespace, app, *, when, hint, **other):
    """Wait until the children are as the spec says."""
    eventually(lambda: summary(namespace, app), wanted(app, **other), when=when, hint=hint)


def labels_of(namespace, app):
    """The labels at each of the three places where the spec's labels belong; none where there is no such object."""
    deployment = namespace.get("Deployment", app.name) or {"metadata": {}, "spec": {"template": {"metadata": {}}}}
    service = namespace.get("Service", app.name) or {"metadata": {}}
    return {
        "the Deployment": deployment["metadata"].get("labels", {}),
        "its Pods' template": deployment["spec"]["template"]["metadata"].get("labels", {}),
        "the Service": service["metadata"].get("labels", {}),
    }


def carries(namespace, app, labels, *, when, hint):
    """Wait until each place has these labels; a value of None means that the label is not there."""
    want = dict.fromkeys(("the Deployment", "its Pods' template", "the Service"), labels)
    eventually(
        lambda: {place: {key: found.get(key) for key in labels} for place, found in labels_of(namespace, app).items()},
        want,
        when=when,
        hint=hint,
    )


def running(operator, namespace, **spec):
    """A WebApp whose children are there; with one Pod, if nothing else is said, because rollouts take time."""
    app = namespace.webapp(**{"replicas": 1, **spec})
    operator.start()
    follows(namespace, app, when="a WebApp was created", hint="First of all, the children of lesson 06 must be there.")
    return app


def quiet(operator):
    """Wait until it has stopped writing, for a moment at least."""
    operator.recorder.wait_quiet(0.3, deadline=5, ignoring=reads())


def another(number, low, high):
    """Another number than that."""
    return random.choice([each for each in range(low, high) if each != number])


@check(points=2, section="compare-what-you-own", incident="minio/operator#931")
def test_every_field_of_the_spec_reaches_its_children(operator, namespace):
    """Each field of the spec, changed by itself, reaches the Deployment and the Service."""
    one, two = namespace.images.web
    app = running(operator, namespace, image=one, labels={"tier": "front"})
    for field, value in (
        ("image", two),
        ("replicas", another(app.spec["replicas"], 0, 4)),
        ("sidecar", one),
        ("port", another(app.spec["port"], 1024, 9999)),
    ):
        app.edit(**{field: value})
        follows(
            namespace,
            app,
            when=f"{field} was changed to {value}",
            hint=f"Compare `{field}` as well, on each child that uses it.",
        )
    app.edit(labels={"tier": "back"})
    carries(
        namespace,
        app,
        {"tier": "back"},
        when="a label's value was changed in the spec",
        hint="Labels are fields of the children, too. A selector cannot change: keep the user's labels out of it.",
    )


@check(points=2, section="compare-what-you-own", incident="minio/operator#2038")
def test_what_is_removed_from_the_spec_is_removed_from_the_children(operator, namespace):
    """A label or a sidecar that is taken out of the spec disappears from the children."""
    app = running(operator, namespace, labels={"keep": "a", "drop": "b"}, sidecar=namespace.images.web[0])
    app.edit(labels={"drop": None})
    hint = "What you once put there and no longer want is yours to remove; so you need to know what you put there."
    carries(namespace, app, {"keep": "a", "drop": None}, when="the label `drop` was removed from the spec", hint=hint)
    app.edit(sidecar=None)
    follows(namespace, app, when="the sidecar was removed from the spec", hint=hint)
    app.edit(labels=None)
    carries(namespace, app, {"keep": None}, when="all labels were removed from the spec", hint=hint)


@check(points=3, section="server-side-apply", incident="minio/operator#2208")
def test_what_others_have_written_survives(operator, namespace):
    """Labels and annotations of others stay when the spec changes, and the Service keeps its address."""
    app = running(operator, namespace, labels={"ours": "1"})
    before = namespace.get("Service", app.name)
    mark = {"labels": {"mesh.example/exported": "true"}, "annotations": {"cost.example/centre": namespace.new_name()}}
    namespace.patch("Service", app.name, {"metadata": mark})
    namespace.patch("Deployment", app.name, {"metadata": mark, "spec": {"template": {"metadata": mark}}})
    app.edit(replicas=another(app.spec["replicas"], 0, 4), port=another(app.spec["port"], 1024, 9999))
    when = "replicas and port were changed"
    follows(namespace, app, when=when, hint="Each field of the spec reaches the children.")
    deployment, service = namespace.get("Deployment", app.name), namespace.get("Service", app.name)
    expect(
        [service["spec"]["clusterIP"], service["metadata"]["uid"]],
        [before["spec"]["clusterIP"], before["metadata"]["uid"]],
        when=f"{when}; clusterIP and uid of the Service before and after",
        hint="Change the Service that is there. One that is deleted and made anew has another address.",
    )
    for place, metadata in (
        ("the Deployment", deployment["metadata"]),
        ("its Pods' template", deployment["spec"]["template"]["metadata"]),
        ("the Service", service["metadata"]),
    ):
        expect(
            {part: {key: metadata.get(part, {}).get(key) for key in mark[part]} for part in mark},
            mark,
            when=f"somebody else had put a label and an annotation on {place}, then {when}",
            hint="Write only the fields that are yours: a PUT of the object that you built sets all others to nothing.",
        )


@check(points=2, section="compare-what-you-own")
def test_an_injected_container_stays(operator, namespace):
    """A container that somebody injects, before ours, stays, and ours is still found by its name."""
    one, two = namespace.images.web
    app = running(operator, namespace, image=one, sidecar=one)
    template = namespace.get("Deployment", app.name)["spec"]["template"]["spec"]["containers"]
    proxy = {"name": "proxy", "image": one, "args": ["--upstream", app.name]}
    body = [{"op": "replace", "path": "/spec/template/spec/containers", "value": [proxy, *template]}]
    namespace.patch("Deployment", app.name, body, type="json")
    app.edit(image=two)
    follows(
        namespace,
        app,
        when="a container `proxy` was injected before `web`, then the image was changed",
        hint="Find the container by its name: containers[0] is now somebody else's.",
    )
    app.edit(sidecar=None)
    follows(namespace, app, when="the sidecar was removed from the spec", hint="Only `logger` is to go.")
    found = containers(namespace.get("Deployment", app.name)).get("proxy", {})
    expect(
        {key: found.get(key) for key in proxy},
        proxy,
        when="a container `proxy` was injected, then image and sidecar were changed",
        hint="A list of containers that is written as a whole drops the containers of others.",
    )


@check(points=3, section="server-side-apply", incident="openshift/hive#2943")
def test_at_rest_nothing_is_written(operator, namespace):
    """When everything is as it should be, nothing is written, however often the WebApp is touched."""
    app = running(operator, namespace, labels={"a": "b"}, sidecar=namespace.images.web[0])
    attacks.zero_writes_at_rest(
        operator,
        app,
        restart=False,  # who remembers its applies in memory may send each of them once more, if it changes nothing
        hint="Compare the fields that you want with the same fields of what is there. The server adds defaults, so the "
        "whole specs are never equal; and an apply or a PUT that changes nothing is a write all the same.",
    )


@check(points=3, section="server-side-apply")
def test_manual_edits_of_our_fields_are_mended(operator, namespace):
    """Whoever changes a field of ours by hand is corrected; one who removes a label of ours, too."""
    one, two = namespace.images.web
    app = running(operator, namespace, image=one, labels={"ours": "yes"})
    hint = "A field that somebody else has changed is still wanted as the spec says. With server-side apply: force."
    web = [{"name": "web", "image": two}]
    namespace.patch("Deployment", app.name, {"spec": {"template": {"spec": {"containers": web}}}}, type="strategic")
    follows(namespace, app, when="the image was changed in the Deployment by hand", hint=hint)
    namespace.patch("Deployment", app.name, {"spec": {"replicas": another(app.spec["replicas"], 0, 4)}})
    follows(namespace, app, when="the Deployment was scaled by hand, and the WebApp is not autoscaled", hint=hint)
    operator.settle()  # so that only the Service, and not a Pod of the Deployment, calls for the next look
    body = [{"op": "replace", "path": "/spec/ports/0/targetPort", "value": another(app.spec["port"], 1024, 9999)}]
    namespace.patch("Service", app.name, body, type="json")
    follows(namespace, app, when="targetPort was changed in the Service by hand", hint=hint)
    for kind in ("Deployment", "Service"):
        namespace.patch(kind, app.name, {"metadata": {"labels": {"ours": None}}})
    carries(namespace, app, {"ours": "yes"}, when="a label of ours was removed from both children by hand", hint=hint)


@check(points=2, section="see-it-fail", incident="defilantech/LLMKube#484")
def test_the_autoscaler_has_the_last_word_on_replicas(operator, namespace):
    """When a WebApp is autoscaled, the number of replicas is the autoscaler's."""
    one, two = namespace.images.web
    app = namespace.webapp(image=one, replicas=1, autoscaled=True)
    operator.start()
    eventually(
        lambda: namespace.get("Service", app.name), when="an autoscaled WebApp was created", expected="its Service"
    )
    quiet(operator)
    number = random.randint(3, 5)
    namespace.patch("Deployment", app.name, {"spec": {"replicas": number}}, subresource="scale")
    app.edit(image=two, replicas=2)
    follows(
        namespace,
        app,
        when=f"the autoscaler set {number} replicas, then image and replicas were changed in the spec",
        hint="When it is autoscaled, `replicas` is not your field: do not write it, and do not leave it out of a PUT.",
        replicas=number,
    )
    quiet(operator)
    expect(
        namespace.get("Deployment", app.name)["spec"]["replicas"],
        number,
        when=f"the autoscaler set {number} replicas, and the operator came to rest",
        hint="When the WebApp is autoscaled, `replicas` is not your field.",
    )


@check(points=2, section="compare-what-you-own")
def test_a_crash_between_two_updates(operator, namespace, recorder):
    """Killed after any write of an update and started again, it finishes the update."""
    app = running(operator, namespace, labels={"round": "0"})
    quiet(operator)
    for number in range(1, len(CHILDREN) + 1):
        recorder.kill_after(writes(), nth=number, kill=operator.crash)
        app.edit(port=another(app.spec["port"], 1024, 9999), labels={"round": str(number)})
        gone = f"a write {number}, after which it is killed"
        eventually(lambda: not operator.running, when="port and labels were changed", expected=gone)
        operator.start()
        when = f"the operator was killed right after write {number} of an update and started again"
        hint = "Each child is compared by itself, with what is there now, not with what was done before."
        follows(namespace, app, when=when, hint=hint)
        carries(namespace, app, {"round": str(number)}, when=when, hint=hint)


@check(points=3, section="letting-go", incident="apache/superset-kubernetes-operator#151")
def test_replicas_are_handed_over_and_taken_back(operator, namespace):
    """Switching autoscaled on keeps the number of Pods as it is; switching it off takes the number back."""
    app = running(operator, namespace, replicas=random.randint(2, 4))
    quiet(operator)
    number, history = app.spec["replicas"], History(namespace)
    app.edit(autoscaled=True, labels={"scaled": "yes"})
    carries(namespace, app, {"scaled": "yes"}, when="autoscaled was switched on", hint="Other fields are still yours.")
    quiet(operator)
    expect(
        list(dict.fromkeys(each["spec"]["replicas"] for each in history.versions("Deployment", app.name))),
        [number],
        when=f"a WebApp with {number} replicas was switched to autoscaled; the numbers of the Deployment since then",
        hint="A field that you applied and now leave out is removed, if nobody else owns it, and then defaulted to 1. "
        "Keep its value until somebody takes it; to put it back is too late, the Pods are gone.",
    )
    more = number + random.randint(1, 2)
    namespace.patch("Deployment", app.name, {"spec": {"replicas": more}}, subresource="scale")
    app.edit(labels={"scaled": "up"})
    carries(namespace, app, {"scaled": "up"}, when="the autoscaler had scaled, and a label was changed", hint="")
    quiet(operator)
    expect(
        namespace.get("Deployment", app.name)["spec"]["replicas"],
        more,
        when=f"the autoscaler set {more} replicas, and a label was changed in the spec",
        hint="From its first scale on, the number is the autoscaler's.",
    )
    app.edit(autoscaled=False)
    follows(
        namespace,
        app,
        when="autoscaled was switched off",
        hint="Now the number of the spec counts again, whoever set the one that is there.",
    )


@check(points=2, section="lists-have-keys")
def test_a_renumbered_port_is_mended(operator, namespace):
    """A port of the Service that is renumbered by hand gets its number back, and no other port stays."""
    app = running(operator, namespace)
    before = namespace.get("Service", app.name)["metadata"]["uid"]
    body = [{"op": "replace", "path": "/spec/ports/0/port", "value": another(app.spec["port"], 1024, 9999)}]
    namespace.patch("Service", app.name, body, type="json")
    hint = (
        "Ports are merged by their number: to the server, the renumbered one is somebody else's, and yours is missing. "
        "Added beside it, it has the same name twice, and the write is refused. Write the list as a whole."
    )
    follows(namespace, app, when="the port of the Service was renumbered by hand", hint=hint)
    app.edit(port=another(app.spec["port"], 1024, 9999))
    follows(namespace, app, when="after that, the port was changed in the spec", hint=hint)
    expect(
        namespace.get("Service", app.name)["metadata"]["uid"],
        before,
        when="the port of the Service was renumbered by hand; its uid before and after it was mended",
        hint="A Service that is deleted and made anew has another address, and what others wrote on it is gone.",
    )
