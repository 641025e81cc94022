"""Checks of lab 08, easiest first. Each docstring is the line that the learner reads."""

from contextlib import contextmanager

from converge.grader import attacks, check, eventually, expect

CHILDREN = ("Deployment", "Service")


def reference(app):
    """What a child of ``app`` must say of it."""
    return {
        "apiVersion": "converge.example/v1",
        "kind": "WebApp",
        "name": app.name,
        "uid": app.uid,
        "controller": True,
    }


def owners(namespace, kind, name):
    """The owner references of an object, without ``blockOwnerDeletion``, which is as one likes; None without object."""
    found = namespace.get(kind, name)
    references = found["metadata"].get("ownerReferences", []) if found else None
    return references and [
        {key: value for key, value in each.items() if key != "blockOwnerDeletion"} for each in references
    ]


def owned(namespace, app, *, when, hint):
    """Wait until both children name the WebApp as their controller."""
    for kind in CHILDREN:
        eventually(
            lambda kind=kind: controller(namespace, kind, app),
            reference(app),
            when=f"{when}; the controller reference of {kind} {app.name}",
            hint=hint,
            seen=lambda kind=kind: [f"all of its owner references: {owners(namespace, kind, app.name)}"],
        )


def controller(namespace, kind, app):
    """The controller reference of the WebApp's child, or a word for why there is none."""
    found = owners(namespace, kind, app.name)
    if found is None:
        return f"there is no {kind} {app.name}"
    return next((each for each in found or [] if each.get("controller")), "none")


def running(operator, namespace, **spec):
    """A WebApp whose children are there, and its own; with one Pod, because rollouts take time."""
    app = namespace.webapp(**{"replicas": 1, **spec})
    if not operator.running:
        operator.start()
    hint = "Each child names its WebApp in metadata.ownerReferences, with its uid and `controller: true`."
    owned(namespace, app, when="a WebApp was created", hint=hint)
    return app


def stranger(namespace, kind, name, owner=None):
    """Somebody else's object of that name, as it is before the operator has seen it."""
    metadata = {"name": name, "labels": {"team": "somebody-else"}, "annotations": {"note": "do not touch"}}
    if owner:
        metadata["ownerReferences"] = [owner]
    labels = {"run": name}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "legacy", "image": namespace.images.web[0]}]},
    }
    spec = {
        "Deployment": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
        "Service": {"selector": labels, "ports": [{"name": "legacy", "port": 70}]},
    }[kind]
    return essence(namespace.create({"kind": kind, "metadata": metadata, "spec": spec}))


def essence(obj):
    """What only its owner changes: everything but the status and what the server and Kubernetes itself keep."""
    if obj is None:
        return "it is gone"
    metadata = {key: obj["metadata"].get(key) for key in ("uid", "labels", "ownerReferences")}
    annotations = {
        key: value for key, value in obj["metadata"].get("annotations", {}).items() if "kubernetes" not in key
    }
    return {"metadata": {**metadata, "annotations": annotations}, "spec": obj["spec"]}


def reports(namespace, app, kind):
    """What tells people about the other object: Warning Events about the WebApp, and its conditions."""
    remarks = [
        f"Event {each['reason']}: {each['message']}"
        for each in namespace.list("Event")
        if each["involvedObject"].get("kind") == "WebApp"
        and each["involvedObject"].get("name") == app.name
        and each["type"] == "Warning"
    ]
    conditions = [f"condition {each['type']}: {each['message']}" for each in app.status.get("conditions", [])]
    return [each for each in remarks + conditions if kind.lower() in each.lower()]


def untouched(namespace, app, kind, before, *, when, hint):
    """Fail unless the stranger is as it was."""
    expect(essence(namespace.get(kind, app.name)), before, when=when, hint=hint)


def reported(namespace, app, kind, *, when, hint):
    """Fail unless people are told of the stranger."""
    eventually(
        lambda: reports(namespace, app, kind),
        within=5,
        when=when,
        expected=f"a Warning Event about the WebApp, or a condition of it, that mentions the {kind}",
        hint=hint,
    )


def with_strangers(operator, namespace):
    """A WebApp for each kind whose name is taken: kind, WebApp, the stranger, and what was done."""
    found = []
    for kind in CHILDREN:
        name = namespace.new_name()
        before = stranger(namespace, kind, name)
        app = namespace.webapp(name, replicas=1)
        when = f"there was a {kind} {name} of somebody else, and a WebApp of the same name was created"
        found.append((kind, app, before, when))
    operator.start()
    operator.settle()
    return found


@contextmanager
def guarded(namespace):
    """Ask of everybody here who sets blockOwnerDeletion for the right to update the owner's finalizers.

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


@check(points=2, section="see-it-fail", incident="crossplane/crossplane#895")
def test_what_a_webapp_owns_goes_with_it(operator, namespace, recorder):
    """A deleted WebApp leaves no Deployment and no Service behind."""
    app = namespace.webapp(replicas=1)
    operator.start()

    def elsewhere():
        return [str(each) for each in recorder.requests if each.namespace not in ("", str(namespace))]

    eventually(
        lambda: elsewhere() or all(namespace.get(kind, app.name) for kind in CHILDREN),
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


@check(points=2, section="one-owner-manages")
def test_children_name_their_webapp_as_their_controller(operator, namespace):
    """Both children name their WebApp, by its uid, as the one owner that manages them."""
    app = namespace.webapp(replicas=1)
    operator.start()
    owned(
        namespace,
        app,
        when="a WebApp was created",
        hint="Of perhaps several owners one manages the child: `controller: true` says which, and it is how an event "
        "of the child finds its WebApp.",
    )
    operator.settle()
    for kind in CHILDREN:
        expect(
            owners(namespace, kind, app.name),
            [reference(app)],
            when=f"a WebApp was created; all owner references of its {kind}",
            hint="Copy apiVersion, kind, name and uid from the WebApp that you have read.",
        )


@check(points=2, section="watch-what-you-own", incident="kubernetes-sigs/kro#323")
def test_a_deleted_child_comes_back(operator, namespace):
    """A child that is deleted by hand is made again, though nobody has touched the WebApp."""
    app = running(operator, namespace)
    for kind in CHILDREN:
        operator.settle()
        before = namespace.get(kind, app.name)["metadata"]["uid"]
        namespace.delete(kind, app.name)
        eventually(
            lambda kind=kind, before=before: (
                (namespace.get(kind, app.name) or {"metadata": {"uid": before}})["metadata"]["uid"] != before
            ),
            when=f"{kind} {app.name} was deleted, and the WebApp was left alone",
            expected=f"another {kind} {app.name}",
            hint="Watch what you own: an event of a child leads to its controller, and so to a reconcile.",
        )
        owned(namespace, app, when=f"the {kind} was deleted and came back", hint="The new child is owned, too.")


@check(points=3, section="yours-or-a-strangers")
def test_a_removed_reference_comes_back(operator, namespace):
    """A child whose owner reference was removed by hand gets it back, and keeps its other owners."""
    app = running(operator, namespace)
    helper = namespace.create({"kind": "ConfigMap", "metadata": {"name": namespace.new_name()}})
    other = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": helper["metadata"]["name"],
        "uid": helper["metadata"]["uid"],
    }
    before = {kind: namespace.get(kind, app.name)["metadata"]["uid"] for kind in CHILDREN}
    hint = "A reference that is set at creation only can be lost later: compare it in every pass, and put it back."
    body = [{"op": "replace", "path": "/metadata/ownerReferences", "value": [other]}]
    operator.settle()
    namespace.patch("Deployment", app.name, body, type="json")
    owned(namespace, app, when="the owner reference of the Deployment was removed by hand", hint=hint)
    operator.stop()
    namespace.patch("Service", app.name, body, type="json")
    operator.start()
    owned(namespace, app, when="the owner reference of the Service was removed while the operator was down", hint=hint)
    operator.settle()
    for kind in CHILDREN:
        now = namespace.get(kind, app.name)
        expect(
            now["metadata"]["uid"],
            before[kind],
            when=f"the owner reference of the {kind} was removed; the uid of that {kind} before and after",
            hint="It is your own child: mend it, do not make it anew.",
        )
        expect(
            other in owners(namespace, kind, app.name),
            True,
            when=f"{kind} {app.name} was given a second owner, which does not manage it",
            hint="Add your own reference to the list. A list that is written as a whole drops the owners of others.",
            seen=f"its owner references now: {owners(namespace, kind, app.name)}",
        )


@check(points=3, section="yours-or-a-strangers", incident="external-secrets/external-secrets#4548")
def test_a_strangers_object_is_left_alone(operator, namespace):
    """An object of the same name that somebody else has made is neither changed nor owned nor deleted."""
    strangers = with_strangers(operator, namespace)
    hint = "It has no controller, so anybody could take it; but it does not say that you made it. Leave it alone."
    for kind, app, before, when in strangers:
        untouched(namespace, app, kind, before, when=when, hint=hint)
        app.edit(port=app.spec["port"] % 9000 + 100)
    operator.settle()
    for kind, app, before, when in strangers:
        untouched(namespace, app, kind, before, when=f"{when} and changed", hint=hint)
        app.delete()
        eventually(lambda app=app: app.now() is None, when=f"{when} and deleted", expected="no WebApp")
    operator.settle()
    for kind, app, before, when in strangers:
        hint = "Who owns it deletes it: an owner reference on a stranger's object is the end of that object."
        untouched(namespace, app, kind, before, when=f"{when} and deleted again", hint=hint)


@check(points=2, section="yours-or-a-strangers")
def test_a_strangers_object_is_reported(operator, namespace):
    """A name that is taken is reported, and when it is free again, the child is made."""
    strangers = with_strangers(operator, namespace)
    hint = "Whoever waits for this WebApp looks at it with `kubectl describe`, not at the operator's log."
    for kind, app, before, when in strangers:
        untouched(namespace, app, kind, before, when=when, hint="Leave it alone, and say so.")
        reported(namespace, app, kind, when=when, hint=hint)
        namespace.delete(kind, app.name, propagation="Background")
        eventually(lambda kind=kind, app=app, before=before: essence(namespace.get(kind, app.name)) != before)
        app.edit(port=app.spec["port"] % 9000 + 100)
    for kind, app, _, when in strangers:
        owned(
            namespace,
            app,
            when=f"{when}; then the other {kind} was deleted, and the WebApp was changed",
            hint="A name that was taken in one pass may be free in the next: look again each time.",
        )


@check(points=3, section="one-owner-manages")
def test_an_object_with_another_controller_is_left_alone(operator, namespace):
    """An object that somebody else manages is not taken over, though its owner has the name of the WebApp."""
    app = running(operator, namespace)
    operator.stop()
    manager = namespace.create({"kind": "ConfigMap", "metadata": {"name": app.name}})
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": app.name, "uid": manager["metadata"]["uid"]}
    body = [{"op": "replace", "path": "/metadata/ownerReferences", "value": [{**other, "controller": True}]}]
    namespace.patch("Deployment", app.name, body, type="json")
    before = essence(namespace.get("Deployment", app.name))
    app.edit(image=namespace.images.web[0] if app.spec["image"] == namespace.images.web[1] else namespace.images.web[1])
    operator.start()
    when = f"Deployment {app.name} was given another controller, ConfigMap {app.name}; then the WebApp was changed"
    hint = "A controller is known by its uid; names are given again. What another one manages is not yours any more."
    operator.settle()
    untouched(namespace, app, "Deployment", before, when=when, hint=hint)
    hint = "An object has one controller at most, and the server refuses a second one. Look before you write, and tell."
    reported(namespace, app, "Deployment", when=when, hint=hint)


@check(points=3, section="while-it-is-being-deleted", incident="infinispan/infinispan-operator#1428")
def test_nothing_is_made_while_the_webapp_is_deleted(operator, namespace):
    """Children that go while their WebApp is being deleted are not made again."""
    app = running(operator, namespace)
    hold = {"metadata": {"finalizers": ["somebody.example/keeps-it"]}}
    namespace.patch("WebApp", app.name, hold)
    operator.settle()
    app.delete()
    for kind in CHILDREN:
        namespace.delete(kind, app.name)
    when = "a WebApp was being deleted, held by a finalizer of somebody else, and its children were deleted"
    eventually(lambda: not any(namespace.get(kind, app.name) for kind in CHILDREN), within=3)
    operator.settle()
    expect(
        [kind for kind in CHILDREN if namespace.get(kind, app.name)],
        [],
        when=f"{when}; the children that are there again",
        hint="A WebApp with a metadata.deletionTimestamp is on its way out: what you make for it now is in the way.",
    )
    namespace.patch("WebApp", app.name, {"metadata": {"finalizers": None}})
    eventually(lambda: app.now() is None, when="that finalizer was removed", expected="no WebApp")


@check(points=2, section="while-it-is-being-deleted")
def test_foreground_deletion_ends(operator, namespace):
    """A WebApp that is deleted in the foreground is gone soon, with its children, and nothing comes back."""
    app = running(operator, namespace, replicas=2)
    operator.settle()
    app.delete(propagation="Foreground")
    hint = (
        "The garbage collector deletes the children first, and the WebApp last. Who makes them again never lets it end."
    )
    eventually(
        lambda: [str(app)] * bool(app.now()) + [kind for kind in CHILDREN if namespace.get(kind, app.name)],
        [],
        when="a WebApp was deleted with propagationPolicy Foreground; what is left of it",
        hint=hint,
    )
    operator.settle()
    expect(
        [kind for kind in CHILDREN if namespace.get(kind, app.name)],
        [],
        when="a WebApp was deleted in the foreground, and gone; the children that are there again",
        hint=hint,
    )


@check(points=2, section="one-owner-manages")
def test_a_webapp_of_the_same_name_is_another_one(operator, namespace):
    """A WebApp that was deleted and made anew under the same name ends with children of its own."""
    app = running(operator, namespace)
    operator.settle()
    for down in (False, True):
        if down:
            operator.stop()
        app.delete()
        eventually(lambda app=app: app.now() is None, within=5)
        again = namespace.webapp(app.name, replicas=1)
        if down:
            operator.start()
        owned(
            namespace,
            again,
            when="a WebApp was deleted and at once made anew under the same name"
            + (", while the operator was down" if down else ""),
            hint="The old children still name the uid of the old WebApp, and the garbage collector is about to delete "
            "them. Do not count them as yours, and look again when they have gone.",
        )
        app = again
        operator.settle()


@check(points=2, section="one-owner-manages")
def test_at_rest_nothing_is_written(operator, namespace):
    """With every child owned, nothing is written, however often the WebApp is touched."""
    app = running(operator, namespace, labels={"a": "b"})
    attacks.zero_writes_at_rest(
        operator,
        app,
        restart=False,  # who remembers its applies in memory may send each of them once more, if it changes nothing
        hint="Compare the reference that is there with the one that you want, as you do with every other field.",
    )


@check(points=2, section="what-blocks-a-deletion", incident="operator-framework/operator-sdk#4020")
def test_children_are_made_where_blocking_needs_a_right(operator, namespace):
    """Where the cluster lets only some set blockOwnerDeletion, the children are made and mended all the same."""
    with guarded(namespace):
        app = namespace.webapp(replicas=1)
        operator.start()
        owned(
            namespace,
            app,
            when="a WebApp was created where only who may update an owner's finalizers may block its deletion",
            hint="blockOwnerDeletion: true lets you hold up the deletion of the WebApp, so some clusters ask for the "
            "right to update webapps/finalizers. Have that right, or leave the field out.",
        )
