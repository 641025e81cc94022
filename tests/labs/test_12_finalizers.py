"""Checks of lab 12, easiest first. Each docstring is the line that the learner reads."""

import re
from contextlib import suppress

from converge.grader import check, eventually, expect, fail, never
from converge.grader.checks import webapps
from converge.grader.checks.outside import has_record, hosts_of, new_host, record_owner, requests_seen
from converge.grader.checks.webapps import CHILDREN, summary, wanted_summary
from converge.recorder import writes
from converge.runtime import NotFound
from converge.testing import attacks
from converge.testing.waits.deadlines import scaled

FOREIGN = "backup.example/wait-for-me"
NO_ANSWER = 0
ANY = "Let the error end the pass. The next one finds out what is there: the finalizer, the children, the record."


def registered(operator, namespace, outside, **spec):
    """A WebApp with a host and its record, one Pod, and the operator running."""
    host = new_host()

    def recorded(app, **_):
        has_record(outside, app, host, when="a WebApp with `register` was created")

    return webapps.running(operator, namespace, until=recorded, hint="", register=host, **spec), host


def has_gone(app, *, when, hint, within=10):
    eventually(
        lambda: app.now() is None,
        within=within,
        when=when,
        expected=f"{app} is gone",
        hint=hint,
        seen=lambda: f"finalizers that are left: {finalizers(app)}",
    )


def there(app):
    return "still there" if app.now() else "gone"


def finalizers(app):
    return ((app.now() or {}).get("metadata") or {}).get("finalizers", [])


def changes(outside, since):
    """What the outside service was asked to change."""
    return [str(each) for each in outside.requests[since:] if each.method != "GET"]


def trouble(outside, since):
    """Requests that the outside service has answered with an error, or not at all; 404 isn't an error."""
    done = (200, 201, 204, 404)
    return [str(each) for each in outside.requests[since:] if each.status not in done]


def failed(outside, since, method, status):
    """How many requests failed like this; an answer that removes without looking first has only DELETEs to fail."""
    methods = (method, "DELETE")
    found = [each for each in outside.requests[since:] if each.method in methods]
    return sum(each.status == status or (method == "GET" and each.method == "DELETE") for each in found)


def no_error(operator, *about, when, hint):
    """Complain if a pass over one of these WebApps ended in an exception."""
    for app in about:
        key = f"{app.namespace}/{app.name}: failed, will be tried again"
        lines = [line for line in operator.output.splitlines() if key in line]
        expect(lines, [], when=when, expected="every pass succeeds", hint=hint)


@check(points=1, section="your-turn")
def test_a_webapp_is_registered_and_served(operator, namespace, outside):
    """A WebApp with `register` gets its record, and its children as before; one without gets no record."""
    foreign = webapps.foreign_deployment(namespace, namespace.new_name())["metadata"]["name"]
    plain, waits = namespace.webapp(replicas=1), namespace.webapp(foreign, replicas=1, register=new_host())
    app, _ = registered(operator, namespace, outside)
    for each in (app, plain):
        for kind in CHILDREN:
            eventually(
                lambda each=each, kind=kind: namespace.get(kind, each.name),
                when=f"{each} was created",
                expected=f"its {kind}",
                hint="children_reconciler() does what the earlier lessons built. Call it in every pass.",
            )
    operator.settle()
    expect(hosts_of(outside, plain), [], when="a WebApp without `register` was created", hint="It asks for no record.")
    hint = "hold() returns the WebApp as the server answered: the rest of the pass works with it."
    no_error(operator, app, plain, when="two WebApps were created, and no request failed", hint=hint)
    passes = re.findall(f"/{waits.name}: reconciled in .*", operator.log)  # only our runtime says so
    if passes and not any("again in" in each for each in passes):
        fail(
            when=f"a Deployment of someone else has the name of {waits}",
            expected="reconcile() returns the answer of `self.children`: look again after a while",
            got="it returned nothing, so nobody looks again",
            seen=passes[-3:],
            hint="No event comes when someone else's Deployment goes. children.reconcile() says when to look again; "
            "return what it returns.",
        )


@check(points=2, section="deletion-is-an-update", incident="zalando/postgres-operator#941")
def test_the_record_goes_before_the_webapp(operator, namespace, outside):
    """When a WebApp is deleted its record goes first, then the WebApp, then its children."""
    app, host = registered(operator, namespace, outside)
    operator.settle()
    outside.slow(scaled(0.3))  # so that a WebApp that does not wait is gone before its record
    app.delete()
    has_gone(app, when="a WebApp was deleted", hint="When the record is gone, take your finalizer off.")
    expect(
        record_owner(outside, host),
        None,
        when="a WebApp was deleted, and its record was looked for at the moment when the WebApp was gone",
        hint="Without a finalizer the WebApp is gone at once. With one, it waits for you, so take it off last.",
        seen=requests_seen(outside),
    )
    for kind in CHILDREN:
        eventually(
            lambda kind=kind: namespace.get(kind, app.name) is None,
            when=f"the WebApp of a {kind} was gone",
            expected=f"the {kind} is gone too",
            hint="The garbage collector removes the children. Nothing may create them again in the meantime.",
        )


@check(points=2, section="deletion-is-an-update")
def test_deleted_while_the_operator_is_down(operator, namespace, outside):
    """A WebApp that is deleted while the operator is down waits for it, and is cleaned up afterwards."""
    plain = namespace.webapp(replicas=0)
    app, host = registered(operator, namespace, outside)
    operator.settle()
    operator.stop()
    for each in (app, plain):
        each.delete()
    expect(
        {"the one with a record": there(app), "the one that never had `register`": there(plain)},
        {"the one with a record": "still there", "the one that never had `register`": "gone"},
        when="two WebApps were deleted while the operator was down",
        hint="Only a finalizer makes a WebApp wait. Hold what asks for a record, and nothing else.",
    )
    operator.start()
    has_gone(
        app,
        when="the operator was started again",
        hint="On start every WebApp is reconciled. If it has a deletionTimestamp, clean up.",
    )
    expect(
        record_owner(outside, host),
        None,
        when="the WebApp was gone, and its record was looked for",
        hint="Record first.",
    )


@check(points=3, section="promise-first", incident="outscale/cluster-api-provider-outscale#917")
def test_the_finalizer_comes_before_the_record(operator, namespace, outside, recorder):
    """At no moment does a record exist whose WebApp could go without removing it."""
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
        [app.now() is None, record_owner(outside, host)],
        [True, None],
        when="the operator was killed just before it wrote its finalizer, and the WebApp was deleted.\n"
        "Is the WebApp gone, and is there a record?",
        hint="No one will ever remove that record. Write the finalizer first, then make the record.",
        seen=requests_seen(outside),
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
            record_owner(outside, host),
            None,
            when=f"{when}; who has the record?",
            hint="If the finalizer was refused, it isn't there. No promise, no record: let the error out, and be "
            "called again.",
        )
    has_record(outside, app, host, when="the server took finalizers again")
    killed = recorder.kill_after(writes("WebApp", subresource="", where=lambda _: puts()), kill=operator.crash)
    outside.fail(NO_ANSWER, host=(arrived := new_host()), method="PUT")

    def puts():
        return sum(each.method == "PUT" and each.path.endswith(arrived) for each in outside.requests)

    late = namespace.webapp(replicas=0, register=arrived)
    eventually(
        lambda: puts() >= 2 or not operator.running,  # a promise that is taken back is a write, at which it is killed
        when="a PUT got no answer",
        expected="another one",
        hint="Let the error out: you are called again.",
    )
    outside.records[arrived] = {"owner": late.uid}
    killed.remove()
    if operator.running:
        operator.crash()
    late.delete()
    when = "a WebApp was created, the PUT of its host got no answer, though it arrived, and then the WebApp was deleted"
    expect(
        there(late),
        "still there",
        when=when,
        hint="A PUT without an answer says nothing about the record. Keep your promise until you have seen that none "
        "of its records is left.",
        seen=requests_seen(outside),
    )
    outside.heal()
    operator.start()
    has_gone(late, when=when, hint="Clean up, then let go.")


@check(points=3, section="until-it-works", incident="nolar/kopf#932")
def test_a_cleanup_that_fails_is_tried_again(operator, namespace, outside):
    """While the record cannot be removed the WebApp stays, whatever the error; when it can, both go."""
    app, host = registered(operator, namespace, outside)
    operator.settle()
    outside.fail(403, method="DELETE")
    since = len(outside.requests)
    app.delete()
    when = "a WebApp was deleted, and the outside service answered 403 to the removal of its record"
    stays = (
        "Only 404 says that the record is gone. Raise any other error, however often it comes: the finalizer stays on, "
        "and it is tried again. Letting go leaks the record, and only a human may decide to give up."
    )
    never(
        lambda: "it is gone" if app.now() is None else "",
        until=lambda: len(trouble(outside, since)) >= 3,
        within=15,
        when=when,
        expected="the WebApp stays, because its record is still there",
        hint=stays,
    )
    eventually(
        lambda: len(trouble(outside, since)) >= 3,
        when=when,
        expected="it is asked again, several times",
        hint="An exception from reconcile() is retried automatically. If you swallow it, it isn't.",
        seen=lambda: requests_seen(outside),
    )
    removals = [("DELETE", status) for status in (401, 429, 500, NO_ANSWER)]
    for number, (method, status) in enumerate([("DELETE", 410), *removals * 4, ("GET", 403), ("GET", 500)]):
        outside.fail(status, method=method)  # the other method fails, or works, as before
        before, failures = failed(outside, since, method, status), len(trouble(outside, since))
        # Our edit refuses the release of a pass that read the WebApp before it. So wait until the pass after that one
        # has ended too: a third try shows it. Later on, each error comes four times, and the queue's tries are rare.
        tries = 3 if status == 410 else 1
        with suppress(NotFound):  # gone, which is what is asked below
            app.edit(replicas=number % 2)  # an event, which brings a pass without the delay
        what = f"answered {status} to {method}" if status else f"gave no answer to {method}"
        eventually(
            lambda: app.now() is None or failed(outside, since, method, status) >= before + tries,  # noqa: B023 - asked here
            when=f"the cleanup had failed {failures} times, and the WebApp was edited",
            expected="one more try" if tries == 1 else f"{tries} more tries",
            hint="Keep trying until the record is gone, however often it has failed.",
            seen=lambda: requests_seen(outside),
        )
        expect(
            "it is there" if app.now() else "it is gone, and its record is not",
            "it is there",
            when=f"the outside service {what}, after {failures} failures; the WebApp that waits for its record to go",
            hint=stays,
            seen=requests_seen(outside),
        )
    outside.heal()
    with suppress(NotFound):
        app.edit(replicas=2)  # after so many failures the queue's own next try is minutes away
    has_gone(app, when="the outside service worked again", hint="The retries go on until the cleanup has worked.")
    expect(
        record_owner(outside, host),
        None,
        when="the WebApp was gone, and its record was looked for",
        hint="Record first.",
    )
    each_of_two_records_counts(operator, namespace, outside)


def each_of_two_records_counts(operator, namespace, outside):
    """Give two WebApps a second record, refuse the removal of one of the two, and fail if the WebApp is let go."""
    apps = [registered(operator, namespace, outside) for _ in range(2)]
    operator.settle()
    stuck = {}
    for number, (app, host) in enumerate(apps):  # once the first that is listed, and once the last
        outside.records[second := f"z{host}"] = {"owner": app.uid}
        stuck[app] = (host, second)[number]
        outside.fail(500, host=stuck[app], method="DELETE")
    since = len(outside.requests)

    def refused(app):
        path = f"/records/{stuck[app]}"
        return sum(each.path == path and each.status == 500 for each in outside.requests[since:])

    for app, _ in apps:
        app.delete()
    for app, _ in apps:
        # An operator that notes its hosts doesn't know of the second record, and lets go without asking about it.
        when = f"{app} had two records and was deleted, and each DELETE of {stuck[app]} was answered with 500"
        eventually(
            lambda app=app: app.now() is None or refused(app) >= 2,
            when=when,
            expected="that DELETE again, or, if it doesn't know of that record, its release",
            hint="An exception from reconcile() is retried automatically. If you swallow it, it isn't.",
            seen=lambda: requests_seen(outside),
        )
        expect(
            there(app) if refused(app) else "still there",
            "still there",
            when=when,
            hint="Every record counts, whatever became of the others. Let go once all of them are gone.",
            seen=requests_seen(outside),
        )
    outside.heal()
    for app, _ in apps:
        has_gone(app, when="the outside service worked again", hint="The retries go on until the cleanup has worked.")


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
        record_owner(outside, host),
        None,
        when="the operator was killed just before it took its finalizer off; is there still a record?",
        hint="Remove the record before you let go.",
    )
    operator.start()
    hint = "A record that isn't there doesn't need removing: 404 means that it is done. No other error means that."
    has_gone(app, when="the operator was killed between cleanup and release, and started again", hint=hint)
    recorder.meanwhile(
        writes("WebApp", name=other.name, subresource=""),
        lambda: namespace.patch("WebApp", other.name, {"metadata": {"finalizers": None}}),
    )
    outside.slow(60, host=lost, alive=True)
    other.delete()
    eventually(
        lambda: outside.waiting,
        when="another WebApp was deleted",
        expected="a request about its record",
        hint="Remove the record before you let go.",
    )
    del outside.records[lost]
    outside.heal()
    when = "a WebApp was deleted, and while the request for its record was on the way, the record was removed by hand"
    has_gone(other, when=when, hint=hint)
    operator.settle()
    when += ", and just before your release someone took all finalizers off by force"
    no_error(
        operator,
        other,
        when=when,
        hint="If the WebApp is already gone, there's nothing to release: NotFound is fine there.",
    )


@check(points=2, section="not-yours-alone", incident="k8up-io/k8up#402")
def test_other_finalizers_are_respected(operator, namespace, outside):
    """Someone else's finalizer stays; the record goes, and nothing is written while that finalizer is there."""
    app, host = registered(operator, namespace, outside)
    operator.settle()
    similar = [f"{name.partition('/')[0]}/backup" for name in finalizers(app)]  # of the same domain
    similar += [f"{name}-of-another" for name in finalizers(app)]
    foreign = [FOREIGN, *similar]
    namespace.patch("WebApp", app.name, {"metadata": {"finalizers": [*finalizers(app), *foreign]}})
    operator.settle()
    app.delete()
    eventually(
        lambda: (record_owner(outside, host), finalizers(app)),
        (None, foreign),
        when=f"other writers had added {', '.join(foreign)}, and the WebApp was deleted; its record and its finalizers "
        "were read",
        hint="Take your own finalizer off when your work is done, and leave the others, even those of your domain.",
    )
    mark, since = operator.settle(), len(outside.requests)
    app.poke()
    operator.settle()
    expect(
        [list(map(str, operator.recorder.since(mark).writes("WebApp"))), changes(outside, since)],
        [[], []],
        when="your part was done, someone else's finalizer was left, and the WebApp was touched; your writes since",
        hint="It is being deleted, and your finalizer is off: there is nothing to do. A new finalizer is refused.",
    )
    namespace.patch("WebApp", app.name, {"metadata": {"finalizers": None}})
    has_gone(app, when="the other finalizer was taken off", hint="Nothing of yours may be left on it.")
    app, _ = registered(operator, namespace, outside)
    operator.settle()
    promise = finalizers(app)
    namespace.patch("WebApp", app.name, {"metadata": {"finalizers": None}})
    eventually(
        lambda: finalizers(app),
        promise,
        when="another writer took all finalizers off a WebApp that has a record",
        expected="yours is on it again",
        hint="Look at the WebApp that you read, in every pass: what you wrote there earlier may have gone since.",
    )


@check(points=2, section="not-yours-alone", incident="ai-dynamo/dynamo#8207")
def test_nothing_is_begun_for_a_webapp_that_is_going(operator, namespace, outside, recorder):
    """A WebApp that is being deleted when the operator first sees it gets no finalizer, no record, no children."""
    host = new_host()
    body = {"name": namespace.new_name(), "finalizers": [FOREIGN]}
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
            "its record": record_owner(outside, host),
            "its children": [kind for kind in CHILDREN if namespace.get(kind, body["name"])],
            "writes of it": list(map(str, recorder.writes("WebApp", name=body["name"], subresource=""))),
        },
        {"its record": None, "its children": [], "writes of it": []},
        when="the operator was started, and there was a WebApp that was being deleted and had never been registered",
        hint="Look at deletionTimestamp first. Once it's set, the server refuses new finalizers, so nothing would "
        "clean up what you make now.",
    )


@check(points=3, section="not-yours-alone", incident="kubermatic/kubermatic#6759")
def test_two_writers_of_finalizers(operator, namespace, outside, recorder):
    """A finalizer that another writer adds or removes between your read and your write stays that way."""

    def theirs(*names):
        return {"metadata": {"finalizers": list(names)}}

    operator.start()
    operator.settle()
    app = namespace.webapp(replicas=1)
    operator.settle()
    ours = [each for each in finalizers(app) if each != FOREIGN]
    race = recorder.meanwhile(
        writes("WebApp", name=app.name, subresource=""),
        lambda: namespace.patch("WebApp", app.name, theirs(*ours, FOREIGN)),
    )
    app.edit(register=(host := new_host()))
    if ours:  # an operator that holds every WebApp has nothing to write here
        namespace.patch("WebApp", app.name, theirs(*ours, FOREIGN))
    has_record(outside, app, host, when="`register` was added to the spec")
    operator.settle()
    hint = (
        "The list is written as a whole, so it has to be up to date. Send the resourceVersion that you read, and try "
        "again on 409, or use a patch that names one item."
    )
    expect(
        FOREIGN in finalizers(app),
        True,
        expected="the other writer's finalizer is still there",
        when=f"{FOREIGN} was added between the operator's read and its write of the finalizers; is it there?",
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
    eventually(lambda: not hosts_of(outside, app), within=3)  # whether the old record goes is another check's business
    operator.settle()
    race.remove()
    if race.fired:  # an operator that lets go only of a deleted WebApp has nothing to write here
        expect(
            added in finalizers(app),
            True,
            expected="the other writer's finalizer is still there",
            when=f"{added} was added between the operator's read and its release of the WebApp; is it there?",
            hint=hint,
            seen=f"finalizers: {finalizers(app)}",
        )
    app.edit(register=(host := new_host()))
    has_record(outside, app, host, when="`register` was set again")
    operator.settle()
    mine = [each for each in finalizers(app) if each not in (FOREIGN, added)]
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
    """When `register` changes the old record goes, even if the operator was down or the service failed."""
    app, _ = registered(operator, namespace, outside)

    forgotten = (
        "The spec has forgotten the old host. What remembers it? The records themselves, or a note that you put on the "
        "WebApp before you registered."
    )

    def moves_to(host, when, hint=forgotten):
        eventually(
            lambda: hosts_of(outside, app),
            [host] if host else [],
            when=f"{when}; the hosts of this WebApp's records",
            hint=hint,
            seen=lambda: requests_seen(outside),
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
    taken = new_host()
    app.poke()  # a look at a service that has no such record yet
    operator.settle()
    outside.records[taken] = theirs = {"owner": "someone else"}
    app.edit(register=taken)
    moves_to(
        None,
        "`register` was changed to a host that had been taken a moment before",
        hint="The old record goes, whether or not you get the new host. And a host that was free when you looked "
        "earlier may be taken by now: look before each write.",
    )
    expect(outside.records.get(taken), theirs, when="`register` was changed to a host that is taken; its record")
    app.edit(register=last)
    moves_to(last, "`register` was changed back to the host before, which is free again")
    app.edit(register=new_host(below="invalid"))
    moves_to(None, "`register` was changed to a host that the service refuses with 422")
    app.edit(register=(free := new_host()))
    moves_to(free, "`register` was changed once more, to a host that is free")
    app.edit(register=None)
    moves_to(None, "`register` was removed")
    app.edit(register=(shared := new_host()))
    moves_to(shared, "`register` was set again")
    outside.records[shared] = {"owner": app.uid, "note": "by another tool"}
    app.edit(register=None)
    moves_to(
        None,
        'another tool added a "note" to the record, whose "owner" stayed the same, and `register` was removed',
        hint='The "owner" says whose record it is. What else is in there doesn\'t matter.',
    )
    app.delete()
    has_gone(app, when="the WebApp was deleted", hint="With no record left there is nothing to wait for.")


@check(points=2, section="what-was-mine")
def test_a_record_that_the_spec_has_forgotten_holds_its_webapp(operator, namespace, outside):
    """A WebApp whose spec no longer names its record is served while it is left, and waits for it when deleted."""
    app, host = registered(operator, namespace, outside)
    moved, _ = registered(operator, namespace, outside)
    late, _ = registered(operator, namespace, outside)
    killed, _ = registered(operator, namespace, outside)
    operator.settle()
    outside.fail(500)
    since = len(outside.requests)
    app.edit(register=None, replicas=2)
    eventually(lambda: trouble(outside, since), when="`register` was removed", expected="a request to the service")
    webapps.deployment_follows(
        app,
        within=5,
        when="the outside service answered everything with 500, and in one edit `register` was removed and replicas "
        "changed; the Deployment",
        hint="An old record that can't be removed must not keep you from the children: serve them first.",
    )
    app.delete()
    since = len(outside.requests)
    when = "`register` was removed while the outside service answered everything with 500, and the WebApp was deleted"
    hint = (
        "The record is still there, so the promise holds. Take the finalizer off once you've seen that nothing of "
        "yours is left."
    )
    never(
        lambda: "it is gone" if app.now() is None else "",
        until=lambda: len(trouble(outside, since)) >= 2,
        when=when,
        expected="the WebApp stays, because its record is still there",
        hint=hint,
    )
    outside.heal()
    has_gone(app, when=f"{when}; then the service worked again", hint="The retries go on until the cleanup has worked.")
    expect(record_owner(outside, host), None, when=f"{when}; when it was gone, its record was looked for", hint=hint)

    def put_without_answer(app):
        """Set another host, whose PUT arrives and gets no answer."""
        outside.fail(NO_ANSWER, host=(arrived := new_host()), method="PUT")
        since = len(outside.requests)
        app.edit(register=arrived)
        eventually(
            lambda: f"PUT /records/{arrived} → no answer" in changes(outside, since),
            when="`register` was changed",
            expected="a PUT of the new host",
            hint="A live WebApp with `register` has its record.",
            seen=lambda: requests_seen(outside),
        )
        return arrived

    put_without_answer(killed)
    operator.crash()
    outside.records[killed.now()["spec"]["register"]] = {"owner": killed.uid}
    outside.heal()
    killed.edit(register=(last := new_host()))
    operator.start()
    when = "`register` was changed, the operator was killed during its PUT, which arrived, and `register` was changed"
    eventually(
        lambda: hosts_of(outside, killed),
        [last],
        when=f"{when} again; the hosts of this WebApp's records",
        hint="A note that comes after the record comes too late. Ask the service, or note each host on the WebApp "
        "before you register it.",
        seen=lambda: requests_seen(outside),
    )
    arrived = put_without_answer(late)
    outside.fail(500)  # nobody sees from now on that the record is there after all
    outside.records[arrived] = {"owner": late.uid}
    late.delete()
    since = len(outside.requests)
    eventually(lambda: trouble(outside, since), when="the WebApp was deleted", expected="a request to the service")
    outside.heal()
    with suppress(NotFound):
        late.edit(replicas=1)  # an event, which brings a pass without the delay
    when = "`register` was changed, the PUT arrived but its answer was lost, and the WebApp was deleted"
    has_gone(late, when=when, hint="Clean up, then let go.")
    expect(
        hosts_of(outside, late),
        [],
        when=f"{when}; its records that were left when it was gone",
        hint="A PUT without an answer may have arrived, so you may own more than you know of. Ask the service, or "
        "note each host on the WebApp before you register it.",
    )
    operator.stop()
    moved.edit(register=new_host())
    moved.delete()
    operator.start()
    when = "`register` was changed and the WebApp deleted, both while the operator was down"
    has_gone(moved, when=when, hint="Clean up, then let go.")
    expect(
        hosts_of(outside, moved),
        [],
        when=f"{when}; its records that were left when it was gone",
        hint="The spec names a host that was never registered. Remove what is yours, not what the spec says.",
    )


@check(points=2, section="what-was-mine")
def test_records_of_others_are_left_alone(operator, namespace, outside):
    """A record that belongs to someone else is neither overwritten nor removed, whatever its value."""
    foreign = {new_host(): value for value in ("by hand", ["a", "list"], 7, None, {"note": "no owner"}, {"owner": {}})}
    outside.records |= foreign
    mine, host = registered(operator, namespace, outside)
    theirs, by_hand = new_host(), next(iter(foreign))
    outside.records[theirs] = {"owner": "someone else"}
    outside.records[free := new_host()] = {"owner": "someone else"}
    waits = namespace.webapp(replicas=0, register=free)
    late = [namespace.webapp(replicas=0, register=each) for each in (host, theirs, by_hand)]
    for app in late:  # its children show that it has had its turn
        eventually(
            lambda app=app: namespace.get("Service", app.name),
            when=f"{app} was created, with a host that is taken",
            expected="its Service: the children do not depend on the record",
            hint="A record that you can't get must not keep the children away.",
        )
    eventually(lambda: (waits.condition("Available") or {}).get("status") == "True")  # so that no event is to come
    operator.recorder.wait_quiet(0.3, deadline=3)
    want = [mine.uid, "someone else", "by hand"]
    hint = 'Look at the "owner" of the record that is there, before you write and before you remove.'
    got = [record_owner(outside, each) for each in (host, theirs, by_hand)]
    expect(got, want, when="three WebApps were created whose hosts are taken; the owners of the records", hint=hint)
    del outside.records[free]
    when = "the host of a WebApp was taken, and became free a little later"
    has_record(
        outside,
        waits,
        free,
        when=when,
        hint="No event tells you that a host is free. Raise, so that you're called again.",
    )
    for app in late:
        app.delete()
        has_gone(app, when=f"{app}, which never had a record, was deleted", hint="There's nothing to remove.")
    got = [record_owner(outside, each) for each in (host, theirs, by_hand)]
    expect(got, want, when="these three WebApps were deleted again; the owners of the records", hint=hint)
    outside.records[host] = {"owner": "someone else", "before": mine.uid}
    mine.delete()
    has_gone(mine, when="someone else took over a WebApp's host, and the WebApp was deleted", hint="Nothing is yours.")
    expect(
        record_owner(outside, host),
        "someone else",
        when="someone else took over a WebApp's host, and the WebApp was deleted; the owner of the record",
        hint=f"{hint} Having made it once doesn't make it yours now.",
    )
    left = {each: outside.records.get(each, "gone") for each in foreign}
    expect(left, foreign, when="there were records of other tools; these records in the end", hint=hint)


def unlike_its_spec(app, outside):
    """What of a WebApp's children and records isn't as its spec says, in words."""
    deployment, service = webapps.deployment_of(app), webapps.service_of(app)
    if not (deployment and service):
        return "there is no " + " and no ".join(kind for kind in CHILDREN if kind not in webapps.children_of(app))
    said, want = summary(deployment, service), wanted_summary(app)
    wrong = [f"{field}: {said[field]}, not {want[field]}" for field in want if said[field] != want[field]]
    if (hosts := hosts_of(outside, app)) != [app.spec["register"]]:
        wrong.append(f"hosts that are registered for it: {', '.join(hosts) or 'none'}; not {app.spec['register']}")
    return "\n".join(wrong)


@check(points=3, section="until-it-works", timeout=120)
def test_any_request_may_fail(operator, namespace, outside):
    """Whichever request to the API server fails, a WebApp gets children and record, and goes with all of them."""
    attacks.fault_at_every_request(
        operator,
        make=lambda name=None, **spec: namespace.webapp(name, **{"replicas": 0, **spec, "register": new_host()}),
        wrong=lambda app: unlike_its_spec(app, outside),
        children=CHILDREN,
        deletion=True,
        modes=["500"],
        hint=ANY,
    )
    expect(outside.records, {}, when="all of these WebApps were deleted, and are gone; the records", hint=ANY)


@check(points=2, section="what-was-mine")
def test_a_namesake_is_another_webapp(operator, other_namespace, outside):
    """Two WebApps with the same name in two namespaces share no child and no record; one goes, the other stays."""
    made = []

    def make(namespace, name):
        made.append(namespace.webapp(name, replicas=0, register=new_host()))
        return made[-1]

    attacks.namesakes_are_independent(
        operator,
        make=make,
        wrong=lambda app: unlike_its_spec(app, outside),
        children=CHILDREN,
        edit=lambda app: app.edit(register=new_host()),
        deletion=True,
        reborn=True,
    )
    stayed, gone, _ = made
    expect(
        {"of the one that stayed": hosts_of(outside, stayed), "of the one that went": hosts_of(outside, gone)},
        {"of the one that stayed": [stayed.spec["register"]], "of the one that went": []},
        when=f"{stayed} was in two namespaces, and one of them was deleted; the hosts that are registered",
        hint="The uid says whose record it is. A name alone, without its namespace, doesn't.",
    )


@check(points=2, section="twice-or-more")
def test_at_rest_nothing_is_written(operator, namespace, outside):
    """At rest nothing is written, neither in the cluster nor outside."""
    app, _ = registered(operator, namespace, outside)
    operator.settle()
    since = len(outside.requests)
    attacks.zero_writes_at_rest(operator, app, restart=False, hint="Look before you write; a finalizer is added once.")
    expect(
        changes(outside, since),
        [],
        when="everything was as it should be, and the WebApp was touched; what the outside service was asked to change",
        hint="Look at what is registered, and write only if it isn't what you want.",
    )
