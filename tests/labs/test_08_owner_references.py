"""Checks of lab 08, easiest first. Each docstring is the line that the learner reads."""

from contextlib import contextmanager
from functools import partial

from converge.grader import check, eventually, expect, fail
from converge.grader.checks import webapps
from converge.grader.checks.conditions import warnings_mentioning
from converge.grader.checks.oracles import wrong_webapp
from converge.grader.checks.waits import quiet
from converge.grader.checks.webapps import (
    CHILDREN,
    another_port,
    children_of,
    comes_back,
    deployment_of,
    foreign_deployment,
    foreign_service,
    gone_without_retries,
    looks_again_by_itself,
    makes_nothing_while_deleted,
    namesakes_stay_independent,
    no_pass_fails,
    other_image,
    uid_of,
)
from converge.recorder import reads
from converge.testing import attacks


def reference(app):
    """What a child of ``app`` must say of it."""
    return {
        "apiVersion": "converge.example/v1",
        "kind": "WebApp",
        "name": app.name,
        "uid": app.uid,
        "controller": True,
    }


def owners(app, kind):
    """The owner references of a child, except ``blockOwnerDeletion``, which is optional; None without such a child."""
    found = app.namespace.get(kind, app.name)
    references = found["metadata"].get("ownerReferences", []) if found else None
    return references and [
        {key: value for key, value in each.items() if key != "blockOwnerDeletion"} for each in references
    ]


def owned(app, *, when, hint):
    """Wait until both children name the WebApp as their controller."""
    for kind in CHILDREN:
        eventually(
            lambda kind=kind: controller(app, kind),
            reference(app),
            when=f"{when}; the controller reference of {kind} {app.name}",
            hint=hint,
            seen=lambda kind=kind: [f"all of its owner references: {owners(app, kind)}"],
        )


def controller(app, kind):
    """The controller reference of the WebApp's child, or a word for why there is none."""
    found = owners(app, kind)
    if found is None:
        return f"there is no {kind} {app.name}"
    return next((each for each in found or [] if each.get("controller")), "none")


running = partial(
    webapps.running,
    until=owned,
    hint="Each child names its WebApp in metadata.ownerReferences, with its uid and `controller: true`.",
)


def stranger(namespace, kind, name, instance="another-one"):
    """An object of that name that another team made, as it is before the operator has seen it.

    It has one of the two labels of a child's selector: that of its kind, or with its name as `instance` the other.
    """
    of = {"app.kubernetes.io/name": "nginx" if instance == name else "webapp", "app.kubernetes.io/instance": instance}
    labels = {"team": "another-team", **of}
    metadata = {"labels": labels, "annotations": {"note": "do not touch"}}
    make = foreign_deployment if kind == "Deployment" else foreign_service
    return essence(make(namespace, name, **metadata))


def config_map(namespace):
    """A reference to a ConfigMap made for that."""
    made = namespace.create({"kind": "ConfigMap", "metadata": {"name": namespace.new_name()}})
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": made["metadata"]["name"], "uid": made["metadata"]["uid"]}


def essence(obj):
    """What only its owner changes: everything but the status and what the server and Kubernetes itself keep."""
    if obj is None:
        return "it is gone"
    metadata = {key: obj["metadata"].get(key) for key in ("uid", "labels", "ownerReferences")}
    annotations = {
        key: value for key, value in obj["metadata"].get("annotations", {}).items() if "kubernetes" not in key
    }
    return {"metadata": {**metadata, "annotations": annotations}, "spec": obj["spec"]}


def wrong(app):
    """What is not as the WebApp asks for, or not owned by it."""
    foreign = [f"the controller of {kind} {app.name}: {controller(app, kind)}" for kind in CHILDREN]
    return wrong_webapp(app) or "\n".join(
        said for kind, said in zip(CHILDREN, foreign, strict=True) if controller(app, kind) != reference(app)
    )


def untouched(app, kind, before, *, when, hint):
    """Fail unless the stranger is as it was."""
    expect(essence(app.namespace.get(kind, app.name)), before, when=when, hint=hint)


def reported(app, kind, *, when, hint):
    """Fail unless the WebApp reports the stranger."""
    eventually(
        lambda: warnings_mentioning(app, kind),
        within=5,
        when=when,
        expected=f"a Warning Event about the WebApp, or a condition of it, that mentions the {kind}",
        hint=hint,
    )


def conditions_about(app, kind):
    """The conditions of the WebApp that mention a kind: what each of them says."""
    parts = ("type", "status", "reason", "message")
    said = {tuple(each.get(part, "") for part in parts) for each in app.status.get("conditions", [])}
    return {each for each in said if kind.lower() in each[-1].lower()}


def with_strangers(operator, namespace, controlled=""):
    """WebApps with a child whose name is taken: its kind, the WebApp, the stranger, and what was done.

    The stranger of the kind `controlled` has a controller that the operator doesn't watch.
    """
    found = []
    for kind, is_of_a_chart in (*((kind, False) for kind in CHILDREN), ("Service", True)):
        name = namespace.new_name()
        instance = name if is_of_a_chart else "another-one"
        before, whose = stranger(namespace, kind, name, instance), f"someone else's {kind} {name}"
        if kind == controlled:
            body = {"metadata": {"ownerReferences": [{**config_map(namespace), "controller": True}]}}
            before, whose = essence(namespace.patch(kind, name, body)), f"{whose}, managed by a ConfigMap,"
        app = namespace.webapp(name, replicas=1)
        when = f"{whose} was there, and a WebApp of the same name was created"
        found.append((kind, app, before, when))
    operator.start()
    operator.settle()
    return found


@contextmanager
def guarded(namespace):
    """Allow blockOwnerDeletion in this namespace only to those who may update the owner's finalizers.

    The admission plugin OwnerReferencesPermissionEnforcement does so for a whole cluster; this is the same rule as a
    policy, for one namespace.
    """
    client, name = namespace.client, f"block-owner-deletion-{namespace}"
    api = "admissionregistration.k8s.io/v1"
    here = {"matchLabels": {"kubernetes.io/metadata.name": str(namespace)}}
    right = "authorizer.group('converge.example').resource('webapps').subresource('finalizers')"
    asked = f"{right}.namespace('{namespace}').name(owner.name).check('update').allowed()"
    policy = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "namespaceSelector": here,
            "resourceRules": [
                {
                    "apiGroups": ["", "apps"],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE", "UPDATE"],
                    "resources": ["deployments", "services", "configmaps"],
                }
            ],
        },
        "validations": [
            {
                "expression": "!has(object.metadata.ownerReferences) || object.metadata.ownerReferences.all(owner, "
                f"owner.kind != 'WebApp' || !has(owner.blockOwnerDeletion) || !owner.blockOwnerDeletion || {asked})",
                "message": "cannot set blockOwnerDeletion: you may not update the finalizers of that owner",
                "reason": "Forbidden",
            },
            {"expression": "!object.metadata.name.startsWith('probe-')", "message": "the policy is in force"},
        ],
    }
    binding = {"policyName": name, "validationActions": ["Deny"], "matchResources": {"namespaceSelector": here}}
    metadata = {"name": name}
    client.create({"apiVersion": api, "kind": "ValidatingAdmissionPolicy", "metadata": metadata, "spec": policy})
    client.create(
        {"apiVersion": api, "kind": "ValidatingAdmissionPolicyBinding", "metadata": metadata, "spec": binding}
    )
    try:
        assert eventually(lambda: in_force(namespace), within=20), "the policy was not taken up"
        yield
    finally:
        client.delete(api, "ValidatingAdmissionPolicyBinding", name)
        client.delete(api, "ValidatingAdmissionPolicy", name)


def in_force(namespace):
    """Whether the server has taken up the policy, which it learns of by a watch of its own."""
    from converge.runtime import Invalid

    try:
        namespace.create({"kind": "ConfigMap", "metadata": {"name": f"probe-{namespace.new_name()}"}})
    except Invalid:
        return True
    return False


@check(points=2, section="see-it-fail", incident="crossplane-contrib/provider-kubernetes#18")
def test_what_a_webapp_owns_goes_with_it(operator, namespace, recorder):
    """A deleted WebApp leaves no Deployment and no Service behind."""
    app = namespace.webapp(replicas=1)
    operator.start()

    def elsewhere():
        return [str(each) for each in recorder.requests if each.namespace not in ("", str(namespace))]

    eventually(
        lambda: elsewhere() or children_of(app) == list(CHILDREN),
        when="a WebApp was created",
        expected="its Deployment and its Service",
        hint="First of all, the children of lesson 06 must be there.",
    )
    expect(
        elsewhere(),
        [],
        when=f"a WebApp was created in namespace {namespace}; requests to other namespaces",
        hint="An owner reference has no namespace: the garbage collector looks for the owner where the child is. "
        "A child in another namespace can have no owner.",
    )
    hint = "The garbage collector deletes what names the WebApp in metadata.ownerReferences, and nothing else."
    attacks.deletion_leaves_nothing(operator, app, children=CHILDREN, within=6, hint=hint)
    gone_without_retries(operator, app)


@check(points=2, section="one-owner-manages")
def test_children_name_their_webapp_as_their_controller(operator, namespace):
    """Both children name their WebApp, by its uid, as the one owner that manages them."""
    app = namespace.webapp(replicas=1)
    operator.start()
    owned(
        app,
        when="a WebApp was created",
        hint="A child may have several owners, and one of them manages it. `controller: true` says which one, and "
        "that's how an event of the child finds its WebApp.",
    )
    operator.settle()
    for kind in CHILDREN:
        expect(
            owners(app, kind),
            [reference(app)],
            when=f"a WebApp was created; all owner references of its {kind}",
            hint="Copy apiVersion, kind, name and uid from the WebApp that you have read.",
        )
    app.edit(image=other_image(app), port=another_port(app), replicas=2)
    eventually(
        lambda: wrong_webapp(app),
        "",
        when="image, port and replicas of the WebApp were changed",
        expected="its children follow, as in lesson 07",
        hint="A child whose controller is this WebApp is yours: `ensure` it. Compare the uid of its controller with "
        "the WebApp's.",
        seen=lambda: [said for kind in CHILDREN for said in warnings_mentioning(app, kind)],
    )


@check(points=2, section="watch-what-you-own", incident="kubernetes-sigs/kro#323")
def test_a_deleted_child_comes_back(operator, namespace):
    """A child deleted by hand is created again, though the WebApp was not touched."""
    app = running(operator, namespace)
    for kind in CHILDREN:
        comes_back(
            operator,
            app,
            kind,
            when="the WebApp was left alone",
            hint="Watch what you own: a child's event leads to its controller, and that one is reconciled.",
        )
        owned(
            app, when=f"the {kind} was deleted and came back", hint="The new child needs its owner reference as well."
        )


@check(points=3, section="yours-or-a-strangers")
def test_a_removed_reference_comes_back(operator, namespace):
    """A child whose owner reference was removed by hand gets it back, and keeps its other owners."""
    app = running(operator, namespace)
    other = config_map(namespace)
    before = {kind: uid_of(app, kind) for kind in CHILDREN}
    hint = "A reference that's set only at creation can be lost later. Compare it in every pass, and put it back."
    body = [{"op": "replace", "path": "/metadata/ownerReferences", "value": [other]}]
    operator.settle()
    namespace.patch("Deployment", app.name, body, type="json")
    owned(app, when="the owner reference of the Deployment was removed by hand", hint=hint)
    operator.stop()
    namespace.patch("Service", app.name, body, type="json")
    app.edit(labels={"team": "shop"})
    operator.start()
    owned(
        app,
        when="the owner reference of the Service was removed, and a label was added to the WebApp's spec, while the "
        "operator was down",
        hint=f"{hint} And recognize your own child by a sign that stays: what the spec asks for now isn't on it yet.",
    )
    operator.settle()
    for kind in CHILDREN:
        expect(
            uid_of(app, kind),
            before[kind],
            when=f"the owner reference of the {kind} was removed; the uid of that {kind} before and after",
            hint="It is your own child: fix it, don't replace it.",
        )
        expect(
            other in owners(app, kind),
            True,
            expected="the second owner is still in the list",
            when=f"{kind} {app.name} was given a second owner, which does not manage it",
            hint="Add your own reference to the list. Writing the list as a whole drops the other owners.",
            seen=f"its owner references now: {owners(app, kind)}",
        )
    third = config_map(namespace)
    for references in ([third], []):  # server-side apply: what its manager leaves out the second time goes
        applied = {"name": app.name, "namespace": str(namespace), "ownerReferences": references}
        namespace.client.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": applied}, "another-team")
        app.edit(port=app.spec["port"] % 9000 + 100)
        operator.settle()
    expect(
        third in owners(app, "Deployment"),
        False,
        expected="that owner is gone",
        when=f"another manager applied a third owner to Deployment {app.name}, a pass went by, and it applied the "
        "Deployment without that owner",
        hint="Apply your own reference alone: the server merges the list by uid. If you send the others' references as "
        "well, they're yours too, and stay when their manager lets go of them.",
    )


@check(points=3, section="yours-or-a-strangers", incident="external-secrets/external-secrets#4548")
def test_a_strangers_object_is_left_alone(operator, namespace, recorder):
    """An object of the same name that someone else made is not changed, owned or deleted."""
    strangers = with_strangers(operator, namespace)
    hint = "It has no controller, so anyone could take it, but it does not say that you made it. Leave it alone."
    for kind, app, before, when in strangers:
        untouched(app, kind, before, when=when, hint=hint)
        recorder.fail(reads(kind, verb="get", name=app.name), status=500)
        app.edit(port=app.spec["port"] % 9000 + 100)
    operator.settle()
    for kind, app, before, when in strangers:
        untouched(
            app,
            kind,
            before,
            when=f"{when} and changed; the next read of that {kind} was answered 500",
            hint="Only NotFound says that nothing has this name. After any other error you don't know, so let it end "
            "the pass.",
        )
        app.delete()
        eventually(lambda app=app: app.now() is None, when=f"{when} and deleted", expected="no WebApp")
    operator.settle()
    for kind, app, before, when in strangers:
        hint = (
            "When an owner goes, what it owns goes with it. Your owner reference on someone else's object is the end "
            "of that object."
        )
        untouched(app, kind, before, when=f"{when} and deleted again", hint=hint)


@check(points=2, section="yours-or-a-strangers", timeout=60)
def test_a_strangers_object_is_reported(operator, namespace):
    """A name that is taken is reported, and once it is free, the child is created."""
    strangers, problems = with_strangers(operator, namespace, controlled="Deployment"), {}
    again = (
        "When a stranger's object goes, no event brings you back, even if it has another controller: answer "
        "with a time, Result(requeue_after=30)."
    )
    hint = "People who wait for this WebApp look at it with `kubectl describe`, not at the operator's log."
    for kind, app, before, when in strangers:
        untouched(app, kind, before, when=when, hint="Leave it alone, and say so.")
        other = next(each for each in CHILDREN if each != kind)
        eventually(
            lambda app=app, other=other: controller(app, other),
            reference(app),
            when=f"{when}; the controller of its {other}, whose name was free",
            hint="Make every child that you can: one name being taken says nothing about the other.",
        )
        reported(app, kind, when=when, hint=hint)
        problems[app.name] = conditions_about(app, kind)
    for kind, app, before, _ in strangers:  # all of them before the first wait: a look may come only after 30 s
        namespace.delete(kind, app.name, propagation="Background")
        eventually(lambda kind=kind, app=app, before=before: essence(namespace.get(kind, app.name)) != before)
    for kind, app, _, when in strangers:
        freed = f"{when}; then the other {kind} was deleted, and nothing else happened"
        looks_again_by_itself(operator, app, lambda app=app: not wrong(app), when=freed, hint=again)
        app.edit(port=app.spec["port"] % 9000 + 100)
    name = namespace.new_name()
    for kind in CHILDREN:
        stranger(namespace, kind, name)
    app = namespace.webapp(name, replicas=1)
    for kind in CHILDREN:
        when = f"someone else's {' and '.join(CHILDREN)} {name} were there, and a WebApp of the same name was created"
        reported(app, kind, when=when, hint=f"{hint} Report each name that is taken: either may be the one to clear.")
    for kind, app, _, when in strangers:
        owned(
            app,
            when=f"{when}; then the other {kind} was deleted, and the WebApp was changed",
            hint="A name that was taken in one pass may be free in the next: look again each time.",
        )
        eventually(
            lambda kind=kind, app=app: sorted(problems[app.name] & conditions_about(app, kind)),
            [],
            when=f"{when}; then the other {kind} went, and the WebApp got its own; what its conditions still say",
            expected="nothing of the problem that was",
            hint="A condition says how things are now, so take it back once the problem is gone: set it to False, say. "
            "An Event says what happened, and can be left alone.",
        )


@check(points=3, section="one-owner-manages")
def test_an_object_with_another_controller_is_left_alone(operator, namespace):
    """An object with another controller is not taken over, even if that controller has the WebApp's name."""
    app = running(operator, namespace)
    operator.stop()
    manager = namespace.create({"kind": "ConfigMap", "metadata": {"name": app.name}})
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": app.name, "uid": manager["metadata"]["uid"]}
    ours = {key: value for key, value in reference(app).items() if key != "controller"}
    body = [{"op": "replace", "path": "/metadata/ownerReferences", "value": [ours, {**other, "controller": True}]}]
    namespace.patch("Deployment", app.name, body, type="json")
    before = essence(deployment_of(app))
    app.edit(image=other_image(app))
    operator.start()
    when = (
        f"Deployment {app.name} was given another controller, ConfigMap {app.name}, with the WebApp as an owner that "
        "doesn't manage it; then the WebApp was changed"
    )
    hint = (
        "A controller is known by its uid, since names get reused. What another controller manages isn't yours anymore."
    )
    operator.settle()
    untouched(app, "Deployment", before, when=when, hint=hint)
    hint = (
        "An object has at most one controller, and the server refuses a second. Look before you write, and report it."
    )
    reported(app, "Deployment", when=when, hint=hint)


@check(points=3, section="while-it-is-being-deleted", incident="infinispan/infinispan-operator#1428")
def test_nothing_is_made_while_the_webapp_is_deleted(operator, namespace):
    """Children that go while their WebApp is being deleted are not created again."""
    makes_nothing_while_deleted(
        operator,
        running(operator, namespace),
        hint="A WebApp with a metadata.deletionTimestamp is on its way out: what you make for it now is in the way.",
    )


@check(points=2, section="while-it-is-being-deleted")
def test_foreground_deletion_ends(operator, namespace, recorder):
    """A foreground deletion ends soon, and the children go with the WebApp; with --cascade=orphan they stay."""
    app = running(operator, namespace, replicas=2)
    operator.settle()
    app.delete(propagation="Foreground")
    hint = (
        "The garbage collector deletes the children first, and the WebApp last. Create them again, and the deletion "
        "never ends."
    )
    eventually(
        lambda: [str(app)] * bool(app.now()) + children_of(app),
        [],
        when="a WebApp was deleted with propagationPolicy Foreground; what is left of it",
        hint=hint,
    )
    operator.settle()
    expect(
        children_of(app),
        [],
        when="a WebApp was deleted in the foreground, and gone; the children that are there again",
        hint=hint,
    )
    app = running(operator, namespace)
    operator.settle()
    mark = recorder.mark()
    app.delete(propagation="Orphan")
    when = "a WebApp was deleted with --cascade=orphan"
    eventually(lambda: app.now() is None, when=when, expected="it is gone")
    operator.settle()
    # The operator's requests, not what is there: a pass that was under way may have put a reference back, and then the
    # collector takes the child.
    if deleted := [each for kind in CHILDREN for each in recorder.since(mark).writes(kind) if "delete" in each.verb]:
        fail(
            when=when,
            expected="its children stay, as was asked for",
            got="the operator deleted them",
            seen=[str(each) for each in deleted[:3]],
            hint="Whether the children go with their owner is up to the one who deletes it. Leave their deletion to "
            "the garbage collector, which knows.",
        )


@check(points=2, section="one-owner-manages")
def test_a_webapp_of_the_same_name_is_another_one(operator, namespace, recorder):
    """A WebApp that is deleted and created again under the same name ends up with children of its own."""
    app = running(operator, namespace)
    hint = (
        "The old children still name the uid of the old WebApp, and the garbage collector is about to delete them. "
        "Don't count them as yours, and look again when they're gone."
    )
    for down in (False, True):
        operator.settle()
        if down:
            operator.stop()
        namespace.patch("Deployment", app.name, {"metadata": {"finalizers": ["backup.example/keeps-it"]}})
        old = uid_of(app, "Deployment")
        app.delete()
        eventually(lambda app=app: app.now() is None, within=5)
        mark = recorder.mark()
        again = namespace.webapp(app.name, replicas=1)
        if down:
            operator.start()
        when = "a WebApp was deleted and at once created again under the same name" + (
            ", while the operator was down" if down else ""
        )
        # One that reads a cache has no GET. A Deployment on its way out never rolls out: that isn't waited for.
        eventually(lambda mark=mark: recorder.since(mark).reads("Deployment", verb="get", name=app.name), within=2)  # noqa: B023
        quiet(operator)
        expect(
            [each["uid"] for each in owners(again, "Deployment") or []],
            [app.uid],
            when=f"{when}; its old Deployment was held by a finalizer; the uids of the owners of that Deployment",
            hint=hint,
        )
        namespace.patch("Deployment", app.name, {"metadata": {"finalizers": None}})
        owned(again, when=f"{when}, and its old children were gone", hint=hint)
        expect(uid_of(again, "Deployment") != old, True, when=when, expected="a new Deployment", hint=hint)
        app = again


@check(points=2, section="one-owner-manages")
def test_at_rest_nothing_is_written(operator, namespace):
    """With every child owned, nothing is written, however often the WebApp is touched."""
    app = running(operator, namespace, labels={"a": "b"})
    attacks.zero_writes_at_rest(
        operator,
        app,
        restart=False,  # one that remembers its applies in memory may send each again, if that changes nothing
        hint="Compare the reference that is there with the one that you want, as you do with every other field.",
    )
    no_pass_fails(operator, app)


@check(points=2, section="yours-or-a-strangers", timeout=60)
def test_a_failed_request_is_made_again(operator, namespace):
    """Any request may fail once: in the end both children are there, and owned."""
    attacks.fault_at_every_request(
        operator,
        make=lambda name=None, **spec: namespace.webapp(name, **{"replicas": 0, **spec}),
        wrong=lambda app: wrong(app) or "\n".join(said for kind in CHILDREN for said in warnings_mentioning(app, kind)),
        children=CHILDREN,
        modes=["500", "lost"],
        within=8,
    )


@check(points=2, section="one-owner-manages")
def test_namesakes_in_two_namespaces(operator, other_namespace):
    """Two WebApps with the same name in two namespaces own their own children, and one can go without the other."""
    namesakes_stay_independent(operator, wrong)


@check(points=2, section="what-blocks-a-deletion", incident="operator-framework/operator-sdk#4020")
def test_children_are_made_where_blocking_needs_a_right(operator, namespace):
    """Where the cluster restricts blockOwnerDeletion, the children are still created."""
    with guarded(namespace):
        app = namespace.webapp(replicas=1)
        operator.start()
        owned(
            app,
            when="a WebApp was created where blocking its deletion needs the right to update its finalizers",
            hint="blockOwnerDeletion: true lets you hold up the deletion of the WebApp, so some clusters require the "
            "right to update webapps/finalizers. Get that right, or leave the field out.",
        )
