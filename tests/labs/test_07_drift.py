"""Checks of lab 07, easiest first. Each docstring is the line that the learner reads."""

import random
from functools import partial

from converge.grader import check, eventually, expect, fail
from converge.grader.checks import webapps
from converge.grader.checks.oracles import wrong_webapp
from converge.grader.checks.waits import quiet
from converge.grader.checks.webapps import (
    CHILDREN,
    another,
    another_port,
    container,
    deleted_without_retries,
    deployment_of,
    namesakes,
    service_of,
    summary,
    uid_of,
    wanted_summary,
)
from converge.grader.library.remote import Raised
from converge.recorder import reads, writes
from converge.testing import attacks
from converge.testing.attacks.drift import absent
from converge.testing.objects.history import History


def children_say(app):
    """What the children say about every field of the WebApp's spec."""
    deployment, service = deployment_of(app), service_of(app)
    if not deployment or not service:
        return f"Deployment {'there' if deployment else 'missing'}, Service {'there' if service else 'missing'}"
    return summary(deployment, service)


def follows(app, *, when, hint, **other):
    """Wait until the children match the spec; `other` names what the spec does not decide."""
    eventually(lambda: children_say(app), wanted_summary(app) | other, when=when, hint=hint)


running = partial(webapps.running, until=follows, hint="First of all, the children of lesson 06 must be there.")


# Fields that no WebApp says anything about, next to ours and inside what is ours.
BESIDE_OURS = {
    "Deployment": {
        "revisionHistoryLimit": 3,
        "template": {
            "spec": {
                "terminationGracePeriodSeconds": 7,
                "containers": [{"name": "web", "env": [{"name": "TRACING", "value": "on"}]}],
            }
        },
    },
    "Service": {"sessionAffinity": "ClientIP"},
}


def labels_of(app):
    """The labels at each of the three places where the spec's labels belong; none where there is no such object."""
    deployment = deployment_of(app) or {"metadata": {}, "spec": {"template": {"metadata": {}}}}
    service = service_of(app) or {"metadata": {}}
    return {
        "the Deployment": deployment["metadata"].get("labels", {}),
        "its Pods' template": deployment["spec"]["template"]["metadata"].get("labels", {}),
        "the Service": service["metadata"].get("labels", {}),
    }


def carries(app, labels, *, when, hint):
    """Wait until each place has these labels; a value of None means that the label is not there."""
    want = dict.fromkeys(("the Deployment", "its Pods' template", "the Service"), labels)
    eventually(
        lambda: {place: {key: found.get(key) for key in labels} for place, found in labels_of(app).items()},
        want,
        when=when,
        hint=hint,
    )


@check(points=2, section="compare-what-you-own", incident="minio/operator#931")
def test_every_field_of_the_spec_reaches_its_children(operator, namespace):
    """Each field of the spec, changed by itself, reaches the Deployment and the Service."""
    one, two = namespace.images.web
    app = running(operator, namespace, image=one, labels={"tier": "front"})
    for field, value in (
        ("image", two),
        ("replicas", another(app.spec["replicas"], 0, 4)),
        ("sidecar", one),
        ("port", another_port(app)),
    ):
        app.edit(**{field: value})
        follows(
            app,
            when=f"{field} was changed to {value}",
            hint=f"Compare `{field}` as well, on each child that uses it.",
        )
    app.edit(labels={"tier": "back", "canary": ""})
    carries(
        app,
        {"tier": "back", "canary": ""},
        when="a label's value was changed in the spec, and a label with an empty value was added",
        hint="Labels are fields of the children, just like the rest. A selector can't change, so keep the user's "
        "labels out of it.",
    )


@check(points=2, section="compare-what-you-own", incident="minio/operator#2038")
def test_what_is_removed_from_the_spec_is_removed_from_the_children(operator, namespace):
    """A label or a sidecar that is taken out of the spec disappears from the children, at once or at the next start."""
    app = running(operator, namespace, labels={"keep": "a", "drop": "b"}, sidecar=namespace.images.web[0])
    app.edit(labels={"drop": None})
    hint = "What you put there and no longer want is yours to remove, so you need to know what you put there."
    carries(app, {"keep": "a", "drop": None}, when="the label `drop` was removed from the spec", hint=hint)
    operator.settle()  # or what's left of the rollout calls it once more when it has started
    operator.stop()
    app.edit(sidecar=None)
    operator.start()
    follows(
        app,
        when="the sidecar was removed from the spec while the operator was down",
        hint=f"{hint} A process forgets that when it ends; the object itself can remember it.",
    )
    app.edit(labels=None)
    carries(app, {"keep": None}, when="all labels were removed from the spec", hint=hint)


@check(points=3, section="server-side-apply", incident="minio/operator#2208")
def test_what_others_have_written_survives(operator, namespace, recorder):
    """Labels and annotations of others stay, even those that come as you write, and the Service keeps its address."""
    app = running(operator, namespace, labels={"ours": "1"})
    before = service_of(app)
    mark = {"labels": {"mesh.example/exported": "true"}, "annotations": {"cost.example/centre": namespace.new_name()}}
    namespace.patch("Service", app.name, {"metadata": mark})
    namespace.patch("Deployment", app.name, {"metadata": mark, "spec": {"template": {"metadata": mark}}})
    for kind, fields in BESIDE_OURS.items():
        namespace.patch(kind, app.name, {"spec": fields}, type="strategic")
    app.edit(replicas=another(app.spec["replicas"], 0, 4), port=another_port(app))
    when = "replicas and port were changed"
    follows(app, when=when, hint="Each field of the spec reaches the children.")
    deployment, service = deployment_of(app), service_of(app)
    expect(
        [service["spec"]["clusterIP"], service["metadata"]["uid"]],
        [before["spec"]["clusterIP"], before["metadata"]["uid"]],
        when=f"{when}; clusterIP and uid of the Service before and after",
        hint="Change the Service that is there. One that is deleted and created again has another address.",
    )
    for place, metadata in (
        ("the Deployment", deployment["metadata"]),
        ("its Pods' template", deployment["spec"]["template"]["metadata"]),
        ("the Service", service["metadata"]),
    ):
        expect(
            {part: {key: metadata.get(part, {}).get(key) for key in mark[part]} for part in mark},
            mark,
            when=f"another writer had put a label and an annotation on {place}, then {when}",
            hint="Write only the fields that are yours: a PUT of the object that you built sets all others to nothing.",
        )
    expect(
        {kind: absent(fields, namespace.get(kind, app.name)["spec"]) for kind, fields in BESIDE_OURS.items()},
        {kind: set() for kind in BESIDE_OURS},
        when=f"another writer had set fields that the WebApp says nothing about, {BESIDE_OURS}, then {when}; the ones "
        "that were gone afterwards",
        hint="Only certain fields are yours, even inside your own container: its image and its port, and no more.",
    )
    quiet(operator)
    late = {"metadata": {"annotations": {"late.example/note": namespace.new_name()}}}
    injected = {
        "spec": {"template": {"spec": {"containers": [{"name": "late-proxy", "image": namespace.images.web[0]}]}}}
    }
    written = {"Deployment": late | injected, "Service": late}
    for kind, fields in written.items():
        recorder.meanwhile(
            writes(kind, name=app.name),
            lambda kind=kind, fields=fields: namespace.patch(kind, app.name, fields, type="strategic"),
        )
    app.edit(port=another_port(app), labels={"ours": "2"})
    when = (
        "port and a label were changed, and between your read and your write another writer annotated each child and "
        "injected a container into the Deployment"
    )
    hint = (
        "A PUT puts back all that you read, old values included, and so does a patch with a list as a whole. Send the "
        "resourceVersion that you read with it: the server answers 409 if the object has changed since, and the next "
        "pass reads again. Or write only your fields."
    )
    follows(app, when=when, hint=hint)
    carries(app, {"ours": "2"}, when=when, hint=hint)
    quiet(operator)
    expect(
        {kind: absent(fields, namespace.get(kind, app.name)) for kind, fields in written.items()},
        {kind: set() for kind in written},
        when=f"{when}; what of that was gone afterwards",
        hint=hint,
    )


@check(points=2, section="compare-what-you-own")
def test_an_injected_container_stays(operator, namespace):
    """An injected container stays, even in front of ours, and ours is still found by name."""
    one, two = namespace.images.web
    app = running(operator, namespace, image=one, sidecar=one)
    template = deployment_of(app)["spec"]["template"]["spec"]["containers"]
    proxy = {"name": "proxy", "image": one, "args": ["--upstream", app.name]}
    body = [{"op": "replace", "path": "/spec/template/spec/containers", "value": [proxy, *template]}]
    namespace.patch("Deployment", app.name, body, type="json")
    app.edit(image=two)
    follows(
        app,
        when="a container `proxy` was injected before `web`, then the image was changed",
        hint="Find the container by its name: containers[0] now belongs to someone else.",
    )
    app.edit(sidecar=None)
    follows(app, when="the sidecar was removed from the spec", hint="Remove only `logger`.")
    by_hand = {"template": {"spec": {"containers": [{"name": "web", "image": one}]}}}
    namespace.patch("Deployment", app.name, {"spec": by_hand}, type="strategic")
    follows(
        app, when="the image of `web` was changed by hand, beside an injected container", hint="That field is yours."
    )
    found = container(deployment_of(app), "proxy")
    expect(
        {key: found.get(key) for key in proxy},
        proxy,
        when="a container `proxy` was injected, then image and sidecar were changed, and the image once more by hand",
        hint="If you write the list of containers as a whole, it drops the containers of others.",
    )


@check(points=3, section="server-side-apply", incident="openshift/hive#2943")
def test_at_rest_nothing_is_written(operator, namespace):
    """At rest nothing is written, however often the WebApp is touched, nor when it is gone."""
    app = running(operator, namespace, labels={"a": "b"}, sidecar=namespace.images.web[0])
    attacks.zero_writes_at_rest(
        operator,
        app,
        restart=False,  # one that remembers its applies in memory may send each again, if that changes nothing
        hint="Compare the fields that you want with the same fields of what is there. The server adds defaults, so the "
        "whole specs are never equal; and an apply or a PUT that changes nothing is still a write.",
    )
    app.edit(autoscaled=True, labels={"a": "c"})
    when = "autoscaled was switched on, and a label was changed"
    carries(app, {"a": "c"}, when=when, hint="Other fields are still yours.")  # so it has seen the edit
    attacks.zero_writes_at_rest(
        operator,
        app,
        restart=False,
        hint="The WebApp is autoscaled by now, and no autoscaler has scaled yet, so you keep the number that is there. "
        "Add it to what you want before you compare.",
    )
    deleted_without_retries(operator, app, hint="As in lesson 06: catch NotFound for the WebApp, and return.")


@check(points=3, section="server-side-apply")
def test_manual_edits_of_our_fields_are_undone(operator, namespace, recorder):
    """A field of ours that is changed by hand is set back; a label of ours that is removed comes back."""
    one, two = namespace.images.web
    app = running(operator, namespace, image=one, labels={"ours": "yes"}, sidecar=one)
    hint = "A field that someone else changed must still be what the spec says. With server-side apply: force."
    web = [{"name": "web", "image": two}]
    namespace.patch("Deployment", app.name, {"spec": {"template": {"spec": {"containers": web}}}}, type="strategic")
    follows(app, when="the image was changed in the Deployment by hand", hint=hint)
    namespace.patch("Deployment", app.name, {"spec": {"replicas": another(app.spec["replicas"], 0, 4)}})
    follows(app, when="the Deployment was scaled by hand, and the WebApp is not autoscaled", hint=hint)
    operator.settle()  # so that only the Service, and not a Pod of the Deployment, calls for the next look
    body = [{"op": "replace", "path": "/spec/ports/0/targetPort", "value": another_port(app)}]
    namespace.patch("Service", app.name, body, type="json")
    follows(app, when="targetPort was changed in the Service by hand", hint=hint)
    before = service_of(app)["spec"]
    for what, (path, value) in {
        "the selector": ("/selector", dict.fromkeys(before["selector"], "by-hand")),
        "the name of the port": ("/ports/0/name", "by-hand"),
    }.items():
        namespace.patch("Service", app.name, [{"op": "replace", "path": f"/spec{path}", "value": value}], type="json")
        eventually(
            lambda: {key: service_of(app)["spec"][key] for key in ("selector", "ports")},
            {key: before[key] for key in ("selector", "ports")},
            when=f"{what} of the Service was changed by hand; its selector and ports",
            hint=hint,
        )
    namespace.patch("Service", app.name, {"metadata": {"labels": {"ours": "no"}}})
    carries(app, {"ours": "yes"}, when="the value of a label of ours was changed in the Service by hand", hint=hint)
    logger = [{"name": "logger", "$patch": "delete"}]
    namespace.patch("Deployment", app.name, {"spec": {"template": {"spec": {"containers": logger}}}}, type="strategic")
    follows(app, when="the container logger was removed from the Deployment by hand", hint=hint)
    operator.settle()  # with all as wanted for a while: the generation doesn't tell it of the next edit
    for where in ("/metadata", "/spec/template/metadata"):
        body = [{"op": "remove", "path": f"{where}/labels/ours"}]
        namespace.patch("Deployment", app.name, body, type="json")
        carries(
            app, {"ours": "yes"}, when=f"a label of ours was removed by hand from {where} of the Deployment", hint=hint
        )
    operator.settle()
    recorder.fail(writes("Service", name=app.name), status=500)
    namespace.patch("Service", app.name, {"metadata": {"labels": {"ours": None}}})
    carries(
        app,
        {"ours": "yes"},
        when="a label of ours was removed from the Service by hand, and the first write that puts it back was answered "
        "500",
        hint="Any error that you don't expect must propagate, so that the pass runs again.",
    )
    operator.stop()
    selector = service_of(app)["spec"]["selector"]
    namespace.delete("Service", app.name)
    port = {"name": "http", "port": app.spec["port"], "targetPort": another_port(app)}
    by_hand = {"selector": selector, "ports": [port]}
    namespace.create({"kind": "Service", "metadata": {"name": app.name}, "spec": by_hand})
    operator.start()
    when = "while the operator was down, the Service was deleted and created by hand, with another targetPort"
    follows(app, when=when, hint="Nothing in this Service is yours yet, but it still has to match what you want.")
    carries(app, {"ours": "yes"}, when=when, hint="Nothing in this Service is yours yet: not even its labels.")


@check(points=2, section="see-it-fail", incident="defilantech/LLMKube#484")
def test_the_autoscaler_has_the_last_word_on_replicas(operator, namespace, recorder):
    """When a WebApp is autoscaled, the number of replicas is the autoscaler's."""
    one, two = namespace.images.web
    app = namespace.webapp(image=one, replicas=1, autoscaled=True)
    operator.start()
    for child in (service_of, deployment_of):
        eventually(lambda child=child: child(app), when="an autoscaled WebApp was created", expected="its children")
    quiet(operator)
    number = random.randint(3, 5)
    mark = recorder.mark()
    namespace.patch("Deployment", app.name, {"spec": {"replicas": number}}, subresource="scale")
    operator.settle()
    if written := recorder.since(mark).writes("Deployment", changed=True):
        fail(
            when=f"the autoscaler set {number} replicas, and nothing else happened",
            expected="the operator changes nothing: the number isn't its field, and all others are right",
            got=f"{len(written)} write{'s' * (len(written) > 1)} to the Deployment",
            seen=[str(each) for each in written[:3]],
            hint="When the WebApp is autoscaled, `replicas` is not your field. Don't apply it, not even with the value "
            "that it has, and do not leave it out of a PUT: both take the field from the autoscaler.",
        )
    app.edit(image=two, replicas=2)
    follows(
        app,
        when=f"the autoscaler set {number} replicas, then image and replicas were changed in the spec",
        hint="When it is autoscaled, `replicas` is not your field: do not write it, and do not leave it out of a PUT.",
        replicas=number,
    )
    quiet(operator)
    expect(
        deployment_of(app)["spec"]["replicas"],
        number,
        when=f"the autoscaler set {number} replicas, and the operator came to rest",
        hint="When the WebApp is autoscaled, `replicas` is not your field.",
    )


@check(points=2, section="compare-what-you-own")
def test_a_crash_between_two_updates(operator, namespace, recorder):
    """Killed after any write of an update and started again, it finishes the update."""
    app = running(operator, namespace, labels={"round": "0", "first": "yes"})
    quiet(operator)
    hint = (
        "Each child is compared by itself, with what is there now, not with what was done before. And what an "
        "earlier process put there is yours to change and to remove: after a restart you are still the same owner."
    )
    same_write = (
        "Whatever remembers that you put it there has to come in the same write, or in one before it: between two "
        "writes, the operator can be killed."
    )
    for number, first in ((1, "yes"), (2, None)):
        recorder.kill_after(writes(), nth=number, kill=operator.crash)
        labels = {"round": str(number), "first": first, f"since-{number}": "yes"}
        app.edit(port=another_port(app), labels=labels)
        gone = f"a write {number}, after which it is killed"
        eventually(lambda: not operator.running, when="port and labels were changed", expected=gone)
        operator.start()
        when = f"the operator was killed right after write {number} of an update and started again"
        if first is None:
            when = f"{when}; the update also removed the label `first` from the spec"
        follows(app, when=when, hint=hint)
        carries(app, labels, when=when, hint=hint)
    carries(app, {"since-1": "yes", "since-2": "yes"}, when="both updates were done", hint=hint)
    app.edit(labels={"since-1": None, "since-2": None})
    carries(
        app,
        {"since-1": None, "since-2": None},
        when="the operator was killed right after a write of the updates that added two labels and started again; then "
        "these labels were removed from the spec",
        hint=same_write,
    )
    for kind in CHILDREN:
        quiet(operator)
        recorder.kill_after(writes(kind, name=app.name), kill=operator.crash)
        app.edit(labels={"brief": kind})
        eventually(lambda: not operator.running, when="a label was added", expected=f"a write to the {kind}")
        app.edit(labels={"brief": None})
        operator.start()
        carries(
            app,
            {"brief": None},
            when=f"a label was added to the spec, and the operator was killed right after its first write to the "
            f"{kind}; before it was started again, the label was removed from the spec",
            hint=same_write,
        )


@check(points=3, section="letting-go", incident="kubernetes/kubernetes#67135")
def test_replicas_are_handed_over_and_taken_back(operator, namespace, recorder):
    """Switching autoscaled on keeps the number of Pods as it is; switching it off takes the number back."""
    app, none = running(operator, namespace, replicas=random.randint(2, 4)), running(operator, namespace, replicas=0)
    quiet(operator)
    history = History(namespace, "Deployment", "WebApp")

    def numbers(each):
        return list(dict.fromkeys(old["spec"]["replicas"] for old in history.versions("Deployment", each.name)))

    for each in (app, none):
        number = each.spec["replicas"]
        recorder.fail(reads("Deployment", verb="get", name=each.name), status=500)
        each.edit(autoscaled=True, replicas=number + 1, labels={"scaled": "yes"})
        when = (
            f"a WebApp with {number} replicas was switched to autoscaled, its replicas were set to {number + 1} and a "
            "label was added, all at once; if the Deployment was read then, the first answer was 500"
        )
        carries(each, {"scaled": "yes"}, when=when, hint="Other fields are still yours.")
        quiet(operator)
        expect(
            numbers(each),
            [number],
            when=f"{when}; the numbers of the Deployment since then",
            hint="A field that you applied and now leave out is removed, if no one else owns it, and then defaulted to "
            "1. Keep its value until another writer takes it, even if it's 0; putting it back is too late, because the "
            "Pods are gone by then. The number of the spec doesn't count while the WebApp is autoscaled.",
        )
    operator.stop()
    for each in (app, none):
        each.edit(labels={"scaled": "again"})
    operator.start()
    for each in (app, none):
        when = (
            "a WebApp was switched to autoscaled, and no autoscaler had scaled yet; then a label was changed while the "
            "operator was down, and it was started again"
        )
        carries(each, {"scaled": "again"}, when=when, hint="Other fields are still yours.")
        quiet(operator)
        expect(
            numbers(each),
            [each.spec["replicas"] - 1],
            when=f"{when}; the numbers of the Deployment since it was switched",
            hint="The number is still yours to keep: that you once applied it is noted in the object, not in your "
            "process, which may have been started since.",
        )
    number = deployment_of(app)["spec"]["replicas"]
    more = number + 2
    namespace.patch("Deployment", app.name, {"spec": {"replicas": more}}, subresource="scale")
    app.edit(labels={"scaled": "up"})
    carries(app, {"scaled": "up"}, when="the autoscaler had scaled, and a label was changed", hint="")
    quiet(operator)
    expect(
        deployment_of(app)["spec"]["replicas"],
        more,
        when=f"the autoscaler set {more} replicas, and a label was changed in the spec",
        hint="Once the autoscaler has scaled, the number belongs to it.",
    )
    app.edit(autoscaled=False)
    follows(
        app,
        when="autoscaled was switched off",
        hint="Now the number of the spec counts again, no matter who set the current one.",
    )


def ports_called_http(app):
    """The ports of the Service with that name, and the container's ports that they lead to."""
    deployment, service = deployment_of(app), service_of(app)
    if not deployment or not service:
        return []
    said, names = summary(deployment, service), [port.get("name") for port in service["spec"].get("ports", [])]
    found = zip(names, said["port of the Service"], said["where it leads"], strict=True)
    return [{"port": port, "leads to": target} for name, port, target in found if name == "http"]


@check(points=2, section="lists-have-keys")
def test_a_renumbered_port_is_fixed(operator, namespace):
    """A port of the Service that is renumbered by hand gets its number back, wherever it is in the list."""
    app = running(operator, namespace)
    before = uid_of(app, "Service")
    mark = {"labels": {"mesh.example/exported": "true"}, "annotations": {"cost.example/centre": namespace.new_name()}}
    namespace.patch("Service", app.name, {"metadata": mark, "spec": BESIDE_OURS["Service"]})
    body = [{"op": "replace", "path": "/spec/ports/0/port", "value": another_port(app)}]
    namespace.patch("Service", app.name, body, type="json")
    hint = (
        "Ports are merged by their number: to the server, the renumbered one is someone else's, and yours is missing. "
        "Added next to it, yours has the same name, and the write is refused. Write the list as a whole."
    )
    follows(app, when="the port of the Service was renumbered by hand", hint=hint)
    app.edit(port=another_port(app))
    follows(
        app,
        when="after that, the port was changed in the spec",
        hint="If you put the number back with a patch, it has two owners, since a patch isn't an apply of your field "
        "manager. Then an apply that leaves it out doesn't remove it. Write the list as a whole here as well.",
    )
    added, by_hand = random.sample([each for each in range(1024, 9999) if each != app.spec["port"]], 2)
    body = [
        {"op": "replace", "path": "/spec/ports/0/port", "value": by_hand},
        {"op": "add", "path": "/spec/ports/0", "value": {"name": "metrics", "port": added}},
    ]
    namespace.patch("Service", app.name, body, type="json")
    eventually(
        lambda: ports_called_http(app),
        [{"port": app.spec["port"], "leads to": app.spec["port"]}],
        when="the port of the Service was renumbered by hand, and another one, metrics, was added in front of it; the "
        "port called http",
        hint="Find the port by its name, or write the list as a whole: ports[0] is another one now.",
        seen=lambda: f"all of its ports: {(service_of(app) or {'spec': {}})['spec'].get('ports')}",
    )
    expect(
        uid_of(app, "Service"),
        before,
        when="the port of the Service was renumbered by hand; its uid before and after it was fixed",
        hint="A Service that is deleted and created again has another address, and what others wrote on it is gone.",
    )
    service = service_of(app)
    expect(
        absent({"metadata": mark, "spec": BESIDE_OURS["Service"]}, service),
        set(),
        when="another writer had put a label, an annotation and fields of its own on the Service, and its port was "
        "renumbered by hand and fixed; what was gone afterwards",
        hint="Write the list of ports, and nothing else: a PUT of what you built sets all other fields to nothing.",
    )


@check(points=2, section="compare-what-you-own", timeout=90)
def test_every_request_may_fail(operator, namespace):
    """Whichever request fails, the children follow the spec in the end."""
    attacks.fault_at_every_request(
        operator,
        make=lambda name=None, **spec: namespace.webapp(name, **{"replicas": 0, "labels": {"tier": "a"}, **spec}),
        wrong=wrong_webapp,
        children=CHILDREN,
        edit=lambda app: app.edit(labels={"tier": "b"}),
        modes=["500", "409", "lost"],
        hint="Let an error end the pass: it runs again, and starts from what exists by then. Only two errors tell "
        "you more: NotFound, and the one about a port that was renumbered.",
    )


@check(points=2, section="your-turn", timeout=60)
def test_a_name_and_a_namespace(operator, namespace, other_namespace):
    """Two WebApps with the same name in two namespaces have their own children and follow their own specs."""
    attacks.namesakes_are_independent(
        operator,
        make=namesakes(),
        wrong=wrong_webapp,
        children=CHILDREN,
        edit=lambda app: app.edit(port=7070),
        rests=True,
        reborn=True,
    )


def essence(obj):
    """What says which object it is and what it is to do; its status may have moved on since it was read."""
    return (obj["metadata"].get("uid"), obj.get("spec")) if isinstance(obj, dict) and "metadata" in obj else obj


def eventually_returns(ensure, client, wanted):
    """What ensure() returns. It may raise, say a Conflict: that ends the pass, and the next one calls it again."""
    for _ in range(9):
        if not isinstance(returned := ensure.outcome(client, wanted), Raised):
            return returned
    return ensure(client, wanted)


@check(points=1, section="your-turn")
def test_ensure_returns_the_object(request, namespace, submission, kubeconfig):
    """ensure() returns the object as it is in the end, whether it had to be written or not: later lessons need it."""
    text = submission.read_bytes()  # which may be a program
    if b"def ensure(client" not in text or b"def desired_children(webapp" not in text:
        return  # another design, in which nothing is called ensure
    lab = request.getfixturevalue("lab")
    client = lab.resolve("converge.runtime:Client")(str(kubeconfig))
    app = namespace.webapp()
    for done in ("was created", "had nothing to change", "was changed"):
        if done == "was changed":
            app.edit(image=webapps.other_image(app), port=another_port(app))
        for wanted in lab.desired_children(app.now()):
            returned = eventually_returns(lab.ensure, client, wanted)
            there = namespace.get(wanted["kind"], app.name)
            if essence(returned) != essence(there):
                fail(
                    when=f"ensure() was called for a {wanted['kind']} that {done}",
                    expected=f"the {wanted['kind']} as it is in the cluster now, with its uid and all of its spec",
                    got="nothing" if returned is None else f"something else: {str(returned)[:200]}",
                    hint="Return what was read if there is nothing to do, and otherwise what the write returned.",
                )
