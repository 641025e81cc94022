"""Checks of lab 12, easiest first. Each docstring is the line that the learner reads."""

import secrets

from converge.grader import attacks, check, eventually, expect, never
from converge.grader.recorder import writes

CHILDREN = ("Deployment", "Service")
SOMEBODY = "backup.example/wait-for-me"


def new_host():
    """A host name that was never used before."""
    return f"{secrets.token_hex(4)}.example.com"


def owner(outside, host):
    """Who has the record of a host; None if there is no such record."""
    value = outside.records.get(host)
    return value.get("owner") if isinstance(value, dict) else value


def owned_by(outside, app):
    """The hosts that are registered for a WebApp."""
    return sorted(host for host in list(outside.records) if owner(outside, host) == app.uid)


def registered(operator, namespace, outside, **spec):
    """A WebApp with a host and its record, one Pod, and the operator running."""
    host = new_host()
    app = namespace.webapp(**{"replicas": 1, "register": host, **spec})
    if not operator.running:
        operator.start()
    has_record(outside, app, host, when="a WebApp with `register` was created")
    return app, host


def has_record(outside, app, host, *, when, hint=""):
    eventually(
        lambda: owner(outside, host),
        app.uid,
        when=when,
        expected=f'a record of {host} with {{"owner": {app.uid!r}}}, the uid of {app}',
        hint=hint or "PUT the host of `spec.register`, with the WebApp's uid as its owner.",
        seen=lambda: asked(outside),
    )


def has_gone(app, *, when, hint, within=10):
    eventually(
        lambda: app.now() is None,
        within=within,
        when=when,
        expected=f"{app} is gone",
        hint=hint,
        seen=lambda: f"finalizers that are left: {finalizers(app)}",
    )


def finalizers(app):
    return ((app.now() or {}).get("metadata") or {}).get("finalizers", [])


def asked(outside):
    """The last requests that the outside service got."""
    return ["the outside service was asked:\n" + ("\n".join(map(str, outside.requests[-6:])) or "nothing")]


def changes(outside, since):
    """What the outside service was asked to change."""
    return [str(each) for each in outside.requests[since:] if each.method != "GET"]


def trouble(outside, since):
    """Requests that the outside service has answered with an error of its own."""
    return [str(each) for each in outside.requests[since:] if each.status >= 500]


@check(points=1, section="your-turn")
def test_a_webapp_is_registered_and_served(operator, namespace, outside):
    """A WebApp with `register` gets its record, and its children as before; one without gets no record."""
    plain = namespace.webapp(replicas=1)
    app, _ = registered(operator, namespace, outside)
    for each in (app, plain):
        for kind in CHILDREN:
            eventually(
                lambda each=each, kind=kind: namespace.get(kind, each.name),
                when=f"{each} was created",
                expected=f"its {kind}",
                hint="children_reconciler() does what the lessons before have earned; call it in every pass.",
            )
    operator.settle()
    expect(owned_by(outside, plain), [], when="a WebApp without `register` was created", hint="It asks for no record.")


@check(points=2, section="deletion-is-an-update", incident="zalando/postgres-operator#941")
def test_the_record_goes_before_the_webapp(operator, namespace, outside):
    """When a WebApp is deleted its record goes first, then the WebApp, then its children."""
    app, host = registered(operator, namespace, outside)
    operator.settle()
    outside.slow(0.3)  # so that a WebApp that does not wait is gone before its record
    app.delete()
    has_gone(app, when="a WebApp was deleted", hint="When the record is gone, take your finalizer off.")
    expect(
        owner(outside, host),
        None,
        when="a WebApp was deleted, and its record was looked for at the moment when the WebApp was gone",
        hint="Without a finalizer the WebApp is gone at once. With one it waits for you, so let go last.",
        seen=asked(outside),
    )
    for kind in CHILDREN:
        eventually(
            lambda kind=kind: namespace.get(kind, app.name) is None,
            when=f"the WebApp of a {kind} was gone",
            expected=f"the {kind} is gone too",
            hint="Children are the garbage collector's business: nothing may make them anew meanwhile.",
        )


@check(points=2, section="deletion-is-an-update")
def test_deleted_while_the_operator_is_down(operator, namespace, outside):
    """A WebApp that is deleted while the operator is down waits for it, and is tidied up after."""
    app, host = registered(operator, namespace, outside)
    operator.settle()
    operator.stop()
    app.delete()
    expect(
        app.now() is not None,
        True,
        when="a WebApp was deleted while the operator was down; is it still there?",
        hint="Only a finalizer makes it wait. A handler of the deletion hears nothing while it does not run.",
    )
    operator.start()
    has_gone(
        app,
        when="the operator was started again",
        hint="On start every WebApp is reconciled. One with a deletionTimestamp is there to be tidied up.",
    )
    expect(owner(outside, host), None, when="the WebApp was gone, and its record was looked for", hint="Record first.")


@check(points=3, section="promise-first", incident="outscale/cluster-api-provider-outscale#917")
def test_the_finalizer_comes_before_the_record(operator, namespace, outside, recorder):
    """There is no moment at which a record exists and its WebApp could go without it."""
    operator.start()
    recorder.kill_before(writes("WebApp", subresource=""), kill=operator.crash)
    host = new_host()
    app = namespace.webapp(replicas=1, register=host)
    eventually(
        lambda: not operator.running,
        when="a WebApp with `register` was created",
        expected="a write of the WebApp, with a finalizer in it",
        hint="hold() puts your finalizer on the WebApp.",
    )
    app.delete()
    expect(
        [app.now() is None, owner(outside, host)],
        [True, None],
        when="the operator was killed just before it wrote its finalizer, and the WebApp was deleted.\n"
        "Is the WebApp gone, and is there a record?",
        hint="That record has nobody who will ever remove it. Write the finalizer first, then make the record.",
        seen=asked(outside),
    )
    operator.start()
    recorder.kill_after(writes("WebApp", subresource=""), kill=operator.crash)
    late = namespace.webapp(replicas=1, register=(other := new_host()))
    eventually(lambda: not operator.running, when="another WebApp was created", expected="a finalizer on it")
    operator.start()
    has_record(outside, late, other, when="the operator was killed right after it wrote its finalizer, and started")
    with recorder.fail(writes("WebApp", subresource=""), status=409, times=None) as refused:
        host = new_host()
        app = namespace.webapp(replicas=1, register=host)
        when = "every write of a finalizer was refused with 409"
        eventually(lambda: [each.name for each in refused.fired].count(app.name) >= 3, when=when, expected="more tries")
        expect(
            owner(outside, host),
            None,
            when=f"{when}; who has the record?",
            hint="A finalizer that was refused is not there. No promise, no record: let the error out, and come again.",
        )
    has_record(outside, app, host, when="the server took finalizers again")


@check(points=3, section="until-it-works", incident="nolar/kopf#640")
def test_a_cleanup_that_fails_is_tried_again(operator, namespace, outside):
    """While the record cannot be removed the WebApp stays; when it can, both go."""
    app, host = registered(operator, namespace, outside)
    operator.settle()
    outside.fail(500)
    since = len(outside.requests)
    app.delete()
    never(
        lambda: "it is gone" if app.now() is None else "",
        until=lambda: len(trouble(outside, since)) >= 3,
        within=15,
        when="a WebApp was deleted while the outside service answered everything with 500",
        expected="the WebApp stays, because its record is still there",
        hint="An error of the cleanup must be raised, so that it is tried again; the finalizer stays on meanwhile.",
    )
    eventually(
        lambda: len(trouble(outside, since)) >= 3,
        when="the outside service answered the cleanup with 500",
        expected="it is asked again, several times",
        hint="An exception from reconcile() is retried by itself. One that is swallowed is not.",
        seen=lambda: asked(outside),
    )
    outside.heal()
    has_gone(app, when="the outside service worked again", hint="The retries go on until the cleanup has worked.")
    expect(owner(outside, host), None, when="the WebApp was gone, and its record was looked for", hint="Record first.")


@check(points=3, section="twice-or-more", incident="Twingate/kubernetes-operator#403")
def test_the_cleanup_can_be_repeated(operator, namespace, outside, recorder):
    """Killed between cleanup and release, or with a record that is gone already, the WebApp goes all the same."""
    app, host = registered(operator, namespace, outside)
    other, lost = registered(operator, namespace, outside)
    operator.settle()
    recorder.kill_before(writes("WebApp", name=app.name, subresource=""), kill=operator.crash)
    app.delete()
    eventually(
        lambda: not operator.running,
        when="a WebApp was deleted",
        expected="a write that takes the finalizer off",
        hint="release() is a write of the WebApp.",
    )
    expect(
        owner(outside, host),
        None,
        when="the operator was killed just before it took its finalizer off; is there still a record?",
        hint="Remove the record before you let go.",
    )
    operator.start()
    hint = "A record that is not there needs no removing: 404 means that it is done. Any other error does not."
    has_gone(app, when="the operator was killed between cleanup and release, and started again", hint=hint)
    del outside.records[lost]
    other.delete()
    has_gone(other, when="somebody had removed the record by hand, then the WebApp was deleted", hint=hint)


@check(points=2, section="not-yours-alone", incident="k8up-io/k8up#402")
def test_other_finalizers_are_respected(operator, namespace, outside):
    """A finalizer of somebody else stays; the record goes, and nothing is done while they take their time."""
    app, host = registered(operator, namespace, outside)
    operator.settle()
    namespace.patch("WebApp", app.name, {"metadata": {"finalizers": [*finalizers(app), SOMEBODY]}})
    operator.settle()
    app.delete()
    eventually(
        lambda: (owner(outside, host), finalizers(app)),
        (None, [SOMEBODY]),
        when=f"somebody had added {SOMEBODY}, and the WebApp was deleted; its record and its finalizers were read",
        hint="Take your own finalizer off when your work is done, and leave the others.",
    )
    mark, since = operator.settle(), len(outside.requests)
    app.poke()
    operator.settle()
    expect(
        [list(map(str, operator.recorder.since(mark).writes("WebApp"))), changes(outside, since)],
        [[], []],
        when="your part was done, somebody else's finalizer was left, and the WebApp was touched; your writes since",
        hint="It is being deleted, and your finalizer is off: there is nothing to do. A new finalizer is refused.",
    )
    namespace.patch("WebApp", app.name, {"metadata": {"finalizers": None}})
    has_gone(app, when="the other finalizer was taken off", hint="Nothing of yours may be left on it.")


@check(points=2, section="not-yours-alone", incident="ai-dynamo/dynamo#8206")
def test_nothing_is_begun_for_a_webapp_that_is_going(operator, namespace, outside, recorder):
    """A WebApp that is being deleted when the operator first sees it gets no finalizer, no record, no children."""
    host = new_host()
    body = {"name": namespace.new_name(), "finalizers": [SOMEBODY]}
    spec = {"image": namespace.images.web[0], "register": host}
    namespace.create({"kind": "WebApp", "metadata": body, "spec": spec})
    namespace.delete("WebApp", body["name"])
    registered(operator, namespace, outside)  # when this one is done, the other has had its turn
    mark = operator.settle()
    namespace.patch("WebApp", body["name"], {"metadata": {"annotations": {"touched": "yes"}}})
    eventually(lambda: recorder.since(mark).delivered("WebApp", name=body["name"]), within=5)
    operator.settle()
    expect(
        {
            "its record": owner(outside, host),
            "its children": [kind for kind in CHILDREN if namespace.get(kind, body["name"])],
            "writes of it": list(map(str, recorder.writes("WebApp", name=body["name"], subresource=""))),
        },
        {"its record": None, "its children": [], "writes of it": []},
        when="the operator was started, and there was a WebApp that was being deleted and had never been registered",
        hint="Look at deletionTimestamp first. The server refuses new finalizers then, and what you begin has no end.",
    )


@check(points=3, section="not-yours-alone", incident="kubermatic/kubermatic#6759")
def test_two_writers_of_finalizers(operator, namespace, outside, recorder):
    """A finalizer that somebody adds, or takes off, between your read and your write is not undone."""

    def theirs(*names):
        return {"metadata": {"finalizers": list(names)}}

    operator.start()
    operator.settle()
    app = namespace.webapp(replicas=1)
    operator.settle()
    ours = [each for each in finalizers(app) if each != SOMEBODY]
    race = recorder.meanwhile(
        writes("WebApp", name=app.name, subresource=""),
        lambda: namespace.patch("WebApp", app.name, theirs(*ours, SOMEBODY)),
    )
    app.edit(register=(host := new_host()))
    if ours:  # who holds every WebApp has nothing to write here
        namespace.patch("WebApp", app.name, theirs(*ours, SOMEBODY))
    has_record(outside, app, host, when="`register` was added to the spec")
    operator.settle()
    hint = (
        "The list is written as a whole, so it must be the list that is there: send the resourceVersion that you have "
        "read, and try again on 409; or use a patch that names one item."
    )
    expect(
        SOMEBODY in finalizers(app),
        True,
        when=f"somebody added {SOMEBODY} between the operator's read and its write of the finalizers; is it there?",
        hint=hint,
        seen=f"finalizers: {finalizers(app)}",
    )
    race.remove()
    added = "late.example/b"
    race = recorder.meanwhile(
        writes("WebApp", name=app.name, subresource=""),
        lambda: namespace.patch("WebApp", app.name, theirs(*finalizers(app), added)),
    )
    app.edit(register=None)
    eventually(lambda: not owned_by(outside, app), within=3)  # whether the old record goes is another check's business
    operator.settle()
    race.remove()
    if race.fired:  # who lets go only of a WebApp that is deleted has nothing to write here
        expect(
            added in finalizers(app),
            True,
            when=f"somebody added {added} between the operator's read and its release of the WebApp; is it there?",
            hint=hint,
            seen=f"finalizers: {finalizers(app)}",
        )
    app.edit(register=(host := new_host()))
    has_record(outside, app, host, when="`register` was set again")
    operator.settle()
    mine = [each for each in finalizers(app) if each not in (SOMEBODY, added)]
    first, last = "first.example/a", "last.example/z"
    namespace.patch("WebApp", app.name, theirs(first, *mine, last))
    operator.settle()
    recorder.meanwhile(
        writes("WebApp", name=app.name, subresource=""),
        lambda: namespace.patch("WebApp", app.name, theirs(*mine, last)),
    )
    app.delete()
    eventually(
        lambda: finalizers(app),
        [last],
        when=f"the finalizers were {[first, *mine, last]}, the WebApp was deleted, and {first} was taken off between "
        "the operator's read and its write",
        hint=hint,
    )


@check(points=3, section="what-was-mine", incident="gardener/external-dns-management#17")
def test_a_changed_host_leaves_no_record_behind(operator, namespace, outside):
    """When `register` changes the old record goes, also when the operator was down or the service in trouble."""
    app, _ = registered(operator, namespace, outside)

    def moves_to(host, when):
        eventually(
            lambda: owned_by(outside, app),
            [host] if host else [],
            when=f"{when}; the hosts of this WebApp's records",
            hint="The spec has forgotten the old host. Who remembers? The records themselves, or a note that you "
            "made on the WebApp before you registered.",
            seen=lambda: asked(outside),
        )

    app.edit(register=(second := new_host()))
    moves_to(second, "`register` was changed")
    operator.stop()
    app.edit(register=(third := new_host()))
    operator.start()
    moves_to(third, "`register` was changed while the operator was down")
    since = len(outside.requests)
    outside.fail(500)
    app.edit(register=new_host())
    eventually(lambda: trouble(outside, since), when="`register` was changed", expected="a request to the service")
    app.edit(register=(last := new_host()))
    outside.heal()
    moves_to(last, "`register` was changed twice while the outside service answered with 500, then it worked again")
    app.edit(register=None)
    moves_to(None, "`register` was removed")
    app.delete()
    has_gone(app, when="the WebApp was deleted", hint="With no record left there is nothing to wait for.")


@check(points=2, section="what-was-mine")
def test_a_record_that_the_spec_has_forgotten_holds_its_webapp(operator, namespace, outside):
    """A WebApp whose spec no longer names its record waits for it all the same when it is deleted."""
    app, host = registered(operator, namespace, outside)
    moved, _ = registered(operator, namespace, outside)
    operator.settle()
    outside.fail(500)
    since = len(outside.requests)
    app.edit(register=None)
    eventually(lambda: trouble(outside, since), when="`register` was removed", expected="a request to the service")
    app.delete()
    since = len(outside.requests)
    when = "`register` was removed while the outside service answered everything with 500, and the WebApp was deleted"
    hint = "The record is still there, so the promise holds: let go when you have seen that nothing of yours is left."
    never(
        lambda: "it is gone" if app.now() is None else "",
        until=lambda: len(trouble(outside, since)) >= 2,
        when=when,
        expected="the WebApp stays, because its record is still there",
        hint=hint,
    )
    outside.heal()
    has_gone(app, when=f"{when}; then the service worked again", hint="The retries go on until the cleanup has worked.")
    expect(owner(outside, host), None, when=f"{when}; when it was gone, its record was looked for", hint=hint)
    operator.stop()
    moved.edit(register=new_host())
    moved.delete()
    operator.start()
    when = "`register` was changed and the WebApp deleted, both while the operator was down"
    has_gone(moved, when=when, hint="Tidy up, then let go.")
    expect(
        owned_by(outside, moved),
        [],
        when=f"{when}; its records that were left when it was gone",
        hint="The spec names a host that was never registered. Remove what is yours, not what the spec says.",
    )


@check(points=2, section="what-was-mine")
def test_records_of_others_are_left_alone(operator, namespace, outside):
    """A record that belongs to somebody else is neither overwritten nor removed."""
    mine, host = registered(operator, namespace, outside)
    theirs = new_host()
    outside.records[theirs] = {"owner": "somebody else"}
    late = [namespace.webapp(replicas=1, register=each) for each in (host, theirs)]
    for app in late:  # its children show that it has had its turn
        eventually(
            lambda app=app: namespace.get("Service", app.name),
            when=f"{app} was created, with a host that is taken",
            expected="its Service: the children do not depend on the record",
            hint="A record that cannot be had must not keep the children away.",
        )
    operator.recorder.wait_quiet(0.3, deadline=3)
    want = [mine.uid, "somebody else"]
    hint = 'Look at the "owner" of the record that is there, before you write and before you remove.'
    got = [owner(outside, each) for each in (host, theirs)]
    expect(got, want, when="two WebApps were created whose hosts are taken; the owners of the records", hint=hint)
    for app in late:
        app.delete()
        has_gone(app, when=f"{app}, which never had a record, was deleted", hint="Nothing is there to be removed.")
    got = [owner(outside, each) for each in (host, theirs)]
    expect(got, want, when="these two WebApps were deleted again; the owners of the records", hint=hint)


@check(points=2, section="twice-or-more")
def test_at_rest_nothing_is_written(operator, namespace, outside):
    """When everything is as it should be, nothing is written, neither in the cluster nor outside."""
    app, _ = registered(operator, namespace, outside)
    operator.settle()
    since = len(outside.requests)
    attacks.zero_writes_at_rest(operator, app, restart=False, hint="Look before you write; a finalizer is added once.")
    expect(
        changes(outside, since),
        [],
        when="everything was as it should be, and the WebApp was touched; what the outside service was asked to change",
        hint="Look what is registered, and write only if it is not what you want.",
    )
