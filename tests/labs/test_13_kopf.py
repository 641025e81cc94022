"""Checks of lab 13, easiest first. Each docstring is the line that the learner reads."""

import json
import math
import time
from functools import partial

from converge.grader import check, eventually, expect, fail, never
from converge.grader.checks import webapps
from converge.grader.checks.conditions import warnings_mentioning
from converge.grader.checks.outside import has_record, new_host, record_owner, requests_seen
from converge.grader.checks.waits import pauses, quiet
from converge.grader.checks.webapps import CHILDREN, another_port, summary, wanted_summary
from converge.recorder import writes
from converge.testing import attacks
from converge.testing.kopf_writes import by_kopf
from converge.testing.waits.deadlines import scaled
from converge.testing.waits.idle import rolled_out

NO_ANSWER = 0
SOON = 6  # seconds in which it has to catch up with whatever it missed
FIELDS = ("replicas", "image of web", "ports of web", "port of the Service")


def found(app):
    """How many children name this WebApp as their controller, whatever their own names, and what they say."""
    owned = {kind: app.namespace.owned(kind, app) for kind in CHILDREN}
    counts = {f"{kind}s whose controller is {app}": len(each) for kind, each in owned.items()}
    if set(counts.values()) != {1}:
        return {**wanted(app), **counts}  # the rest can't be told, so only the number is reported
    said = summary(*(owned[kind][0] for kind in CHILDREN))
    return {**counts, **{field: said[field] for field in FIELDS}}


def wanted(app):
    """The same, as the WebApp's spec asks for it."""
    counts = {f"{kind}s whose controller is {app}": 1 for kind in CHILDREN}
    return {**counts, **{field: wanted_summary(app)[field] for field in FIELDS}}


def served(app, *, when, hint, within=SOON):
    """Wait until the children are there, once, and as the spec says."""
    eventually(lambda: found(app), wanted(app), within=within, when=when, hint=hint)


running = partial(webapps.running, until=served, hint="First of all, a new WebApp has its children.")


def child(app, kind):
    """The name of the WebApp's child of that kind."""
    return app.namespace.owned(kind, app)[0]["metadata"]["name"]


def tries(outside, host=""):
    """How often the outside service was asked (about a host) and gave an error, or no answer."""
    return sum(
        (each.status >= 400 or each.status == NO_ANSWER) and each.path.endswith(host) for each in outside.requests
    )


PACE = "Every few seconds is often enough. A delay of nothing is a hot loop, and so is a backoff of nothing."


def has_a_decent_pace(outside, *, when, about="", since=0, times=2, hint=PACE):
    """Wait until there were so many pauses between requests (about a host)."""

    def asked_for():
        return [each for each in outside.requests[since:] if each.path.endswith(about)]

    eventually(
        lambda: sum(pause >= 0.3 for pause in pauses(asked_for(), until=time.monotonic())) >= times,
        within=2 * SOON,
        when=when,
        expected=f"attempts at a decent pace: pauses of 0.3 s, {times} at least",
        hint=hint,
        seen=lambda: f"{len(asked_for())} requests",
    )


def no_news_of(app, outside):
    """Wait until the Deployment has been left alone between two tries, so that no event of it calls for a pass."""

    def rollout():
        found = app.namespace.get("Deployment", child(app, "Deployment"))
        return found["metadata"]["resourceVersion"], rolled_out(found)

    def passed():
        before, begin = rollout(), tries(outside)
        eventually(lambda: tries(outside) >= begin + 2, within=SOON)
        return before[1] and rollout() == before

    eventually(passed, within=2 * SOON)


def as_after_hours(app):
    """Make what kopf notes about a handler under way say that it was called many times, since yesterday."""
    notes = app.now()["metadata"].get("annotations", {})
    for key, text in notes.items():
        if not key.startswith("kopf.zalando.org/") or "retries" not in text:
            continue
        progress = json.loads(text)
        if not progress.get("success"):
            since = time.strftime("%Y-%m-%dT%H:%M:%S.000000+00:00", time.gmtime(time.time() - 24 * 3600))
            aged = json.dumps({**progress, "retries": 60, "started": since})
            app.namespace.patch("WebApp", app.name, {"metadata": {"annotations": {key: aged}}})


@check(points=1, section="your-turn")
def test_a_webapp_is_served(operator, namespace):
    """A new WebApp gets a Deployment and a Service of its own, and its status says when they are ready."""
    app = running(operator, namespace)
    eventually(
        lambda: {**found(app), "Available": (app.condition("Available") or {}).get("status")},
        {**wanted(app), "Available": "True"},
        within=SOON,
        when="the Pods of a WebApp became ready",
        hint="The Deployment's status changes after it was made: an event of the Deployment, not of the WebApp.",
    )


@check(points=2, section="what-kopf-remembers")
def test_every_change_reaches_the_children(operator, namespace):
    """Each change of the spec reaches the children, and what others have put there stays."""
    one, two = namespace.images.web
    app = running(operator, namespace, image=one)
    names = {kind: child(app, kind) for kind in CHILDREN}
    note = {"cost.example/centre": namespace.new_name()}
    for kind, name in names.items():
        namespace.patch(kind, name, {"metadata": {"annotations": note}})
    operator.settle()  # so that no news of a child, but only the spec's, calls for the next look
    for field, value in (("image", two), ("port", another_port(app)), ("replicas", 2)):
        app.edit(**{field: value})
        served(
            app,
            when=f"{field} was changed to {value}",
            hint="@kopf.on.update is called for any change; the pass over the WebApp is the same as for a new one.",
        )
    for kind, name in names.items():
        left = (namespace.get(kind, name) or {"metadata": {}})["metadata"].get("annotations", {})
        expect(
            {key: left.get(key) for key in note},
            note,
            when=f"another writer had put an annotation on the {kind}, then the spec was changed three times",
            hint="Change the fields that are yours, in the object that is there.",
        )


@check(points=3, section="see-it-fail", incident="instaclustr/cassandra-operator#398")
def test_what_happened_while_it_was_down(operator, namespace, recorder):
    """After changes back and forth and a deleted child while the operator was down, everything is put right."""
    app, other = running(operator, namespace, replicas=3), running(operator, namespace)
    operator.settle()
    recorder.focus()
    operator.stop()
    app.edit(replicas=2)
    app.edit(replicas=3)
    namespace.delete("Deployment", child(app, "Deployment"))
    namespace.patch("Deployment", child(other, "Deployment"), {"spec": {"replicas": 2}})
    operator.start()
    hint = (
        "The spec is what it was when kopf last looked, so on.create and on.update aren't called. @kopf.on.resume is, "
        "for every object, changed or not."
    )
    down = "while the operator was down"
    served(app, when=f"{down}, replicas went from 3 to 2 and back, and the Deployment was deleted", hint=hint)
    served(other, when=f"{down}, the Deployment was scaled by hand", hint=hint)


@check(points=2, section="children-have-no-handlers", incident="kubernetes-sigs/kro#323")
def test_a_child_comes_back(operator, namespace):
    """A child that is deleted or changed by hand is put right."""
    app = running(operator, namespace)
    operator.settle()
    hint = "Nothing has happened to the WebApp, so none of its handlers is called. How do you learn about a child?"
    for kind in CHILDREN:
        namespace.delete(kind, child(app, kind))
        served(app, when=f"the {kind} was deleted", hint=hint)
    namespace.patch("Deployment", child(app, "Deployment"), {"spec": {"replicas": 2}})
    served(app, when="the Deployment was scaled by hand", hint=hint)


def differs(app):
    """What of the children isn't as the spec says, in words."""
    said, want = found(app), wanted(app)
    return "\n".join(f"{field}: {said[field]}, not {want[field]}" for field in want if said[field] != want[field])


@check(points=3, section="children-have-no-handlers", timeout=120, long=True)
def test_a_refused_write_is_made_up_for(operator, namespace, recorder):
    """When the API server fails for a moment, at any request, what failed is done again soon after."""
    attacks.fault_at_every_request(
        operator,
        make=lambda name=None, **spec: namespace.webapp(name, **{"replicas": 0, **spec}),
        wrong=differs,
        children=CHILDREN,
        modes=["500"],
        hint="Let the error out of the handler. Something has to look again: @kopf.timer does, whatever failed.",
    )
    app = running(operator, namespace)
    operator.settle()
    recorder.fail(writes("Deployment"), status=500)
    namespace.delete("Deployment", child(app, "Deployment"))
    served(
        app,
        when="the Deployment was deleted, and the first write to create it again was answered with 500",
        hint="What a handler of @kopf.on.event raises is logged and forgotten, and there will be no other event. "
        "Something has to look again: @kopf.timer.",
    )
    recorder.fail(writes("Deployment"), status=500, times=2)
    fresh = namespace.webapp(replicas=1)
    served(
        fresh,
        within=1.5 * SOON,  # even on the busiest machine less than the minute that it must not take
        when="a WebApp was created, and the first two writes of its Deployment were answered with 500",
        hint="After an exception that is not its own, kopf waits for settings.execution.default_backoff: 60 seconds.",
    )


@check(points=3, section="three-kinds-of-failure", incident="dask/dask-kubernetes#976")
def test_a_service_in_trouble_is_asked_again(operator, namespace, outside):
    """While the outside service fails, the children still follow the spec; when it is back, the record is made."""
    outside.fail(503)
    host = new_host()
    operator.start()
    app = namespace.webapp(replicas=1, register=host)
    when = "the outside service answered 503 to everything"
    served(app, when=f"{when}, and a WebApp with `register` was created", hint="The children do not need the record.")
    begin = tries(outside)
    eventually(
        lambda: tries(outside) >= begin + 2,
        within=2 * SOON,
        when=when,
        expected="it is asked again, twice within a few seconds",
        hint="Raise kopf.TemporaryError(…, delay=…). A handler that returns after an error has succeeded.",
        seen=lambda: requests_seen(outside),
    )
    no_news_of(app, outside)
    app.edit(replicas=2)
    served(
        app,
        when=f"{when}, and meanwhile replicas was changed",
        hint="Once a handler has succeeded, kopf doesn't call it again until all the others have. It then counts the "
        "change that came meanwhile as handled. Something else has to look: @kopf.timer, or a daemon.",
    )
    has_a_decent_pace(outside, when=when)
    outside.heal()
    hint = "raise kopf.TemporaryError with a delay of a few seconds; without one, it is a minute."
    has_record(outside, app, host, when="the outside service worked again", hint=hint)


@check(points=3, section="three-kinds-of-failure")
def test_a_refusal_is_final_until_the_spec_changes(operator, namespace, outside):
    """What the outside service refuses is reported, and tried again only when the spec has changed."""
    ill = new_host()
    refused = {new_host(): status for status in (422, 400)}
    outside.fail(503, host=ill, method="PUT")
    operator.start()
    apps = {}
    for bad, status in refused.items():
        outside.fail(status, host=bad)
        apps[bad] = namespace.webapp(replicas=0, register=bad)
    for bad, status in refused.items():
        when = f"the outside service answered {status} to the record of {bad}"
        eventually(lambda: tries(outside, bad), within=SOON, when="a WebApp with `register` came", hint="Ask it.")  # noqa: B023
        eventually(
            lambda: warnings_mentioning(apps[bad], bad),  # noqa: B023 - asked right here
            within=SOON,
            when=when,
            expected="a Warning Event about the WebApp, or a condition of it, that names the host",
            hint="No one reads a log. kopf.warn(body, reason=…, message=…) writes an Event.",
        )
    sick = namespace.webapp(replicas=0, register=ill)  # its tries tell when a refused one would have been tried again
    before = {bad: tries(outside, bad) for bad in refused}
    never(
        lambda: [f"{bad}, answered {refused[bad]}" for bad in refused if tries(outside, bad) > before[bad] + 1],
        until=lambda: tries(outside, ill) >= 3,
        within=20,
        when="two hosts were refused, with 422 and with 400; meanwhile another WebApp, whose host was answered with "
        "503, was tried again twice",
        expected="the refused ones are left alone until their spec changes",
        hint="Tomorrow the answer will be the same, so raise kopf.PermanentError.",
    )
    for bad, app in apps.items():
        outside.fail(422, host=(worse := new_host()))
        app.edit(register=worse)
        eventually(
            lambda: warnings_mentioning(app, worse),  # noqa: B023 - asked right here
            within=SOON,
            when=f"{bad} was refused with {refused[bad]}, then the host was changed to {worse}, which was refused with "
            "422",
            expected="a Warning Event about the WebApp, or a condition of it, that names the new host",
            hint="One Warning for each refusal, not one for each WebApp. You're called again only when the spec has "
            "changed, so there's nothing to save.",
        )
    for bad, app in apps.items():
        good = new_host()
        app.edit(register=good)
        when = f"{bad} was refused with {refused[bad]}, then the host was changed in the spec"
        has_record(outside, app, good, when=when, hint="A new spec gets a new try.")
    sick.edit(register=(good := new_host()))
    when = f"{ill} was answered with 503 all the time, then the host was changed in the spec"
    hint = (
        "While a handler runs, kopf doesn't call it for anything newer. Don't try again inside it: let the error out."
    )
    has_record(outside, sick, good, when=when, hint=hint)
    outside.heal()
    for bad, app in apps.items():
        app.edit(register=bad)
        when = f"{bad} was refused with {refused[bad]}, then another host was asked for, and then {bad} again"
        hint = "By now the service takes it. A refusal counts until the spec changes, so remember no refused hosts."
        has_record(outside, app, bad, when=when, hint=hint)


@check(points=3, section="deletion", incident="nolar/kopf#932")
def test_the_record_goes_before_the_webapp(operator, namespace, outside):
    """A WebApp stays until its record is gone, even if the service fails or the operator is down; then it goes."""
    app = running(operator, namespace, register=(host := new_host()))
    has_record(outside, app, host, when="a WebApp with `register` was created", hint="on.create: keep_record().")
    operator.settle()
    operator.crash()
    app.delete()
    hint = "@kopf.on.delete makes kopf put a finalizer on the WebApp, unless it is optional."
    there = app.now() is not None
    expect(
        there,
        True,
        expected="the WebApp is still there",
        when="it was deleted while the operator was down. Is it still there?",
        hint=hint,
    )
    outside.fail(422, method="DELETE")
    before = tries(outside)
    operator.start()
    plain = running(operator, namespace)
    eventually(
        lambda: app.now() is None or tries(outside) >= before + 2,
        within=2 * SOON,
        when="the operator was started again, and the outside service answered 422 to every removal",
        expected="the operator tries again to remove the record, within a few seconds",
        hint="As long as the record is there, raise kopf.TemporaryError(…, delay=…).",
    )
    if app.now():
        when = "the outside service answered 422 to every removal of a record"
        has_a_decent_pace(outside, about=host, times=1, when=when)
    expect(
        app.now() is not None or record_owner(outside, host) is None,
        True,
        expected="the WebApp stays as long as its record",
        when="the record of a WebApp that was being deleted could not be removed; is the WebApp still there?",
        hint="PermanentError in on.delete means: give up, let the WebApp go. Then no one ever removes the record.",
        seen=requests_seen(outside),
    )
    outside.heal()
    plain.delete()

    def left():
        records = [f"the record of {host}"] if record_owner(outside, host) else []
        things = [*namespace.list("WebApp"), *namespace.list("Deployment")]
        return records + [f"{each['kind']}/{each['metadata']['name']}" for each in things]

    eventually(
        left,
        [],
        within=10,
        when="the outside service worked again, and another WebApp was deleted too",
        expected="nothing is left: no WebApp, no record, no Deployment",
        hint="When on.delete has returned, kopf takes its finalizer off, and the garbage collector does the rest. "
        "Daemons have to end when `stopped` is set: kopf waits for them.",
    )


@check(points=3, section="nobody-may-block")
def test_nobody_waits_for_a_slow_service(operator, namespace, outside):
    """While the outside service takes its time for some WebApps, new and deleted ones, another one is served."""
    operator.start()
    going = namespace.webapp(replicas=0, register=(host := new_host()))
    has_record(outside, going, host, when="a WebApp with `register` was created", hint="on.create: keep_record().")
    quiet(operator, deadline=3)

    def another_is_served(when):
        app = namespace.webapp(replicas=0, register=(quick := new_host()))
        when = f"{when}, and another one was created, about whose host it answers at once"
        served(
            app,
            within=4,
            when=when,
            hint="A call that blocks in an `async def` stops the one thread that serves every WebApp. Write `def`, and "
            "kopf runs it in a thread; or await asyncio.to_thread(…).",
        )
        hint = "One thread, or one lock, for all calls of the service makes every record wait for the slowest."
        has_record(outside, app, quick, when=when, hint=hint)

    outside.slow(60, host=host, alive=True)
    going.delete()
    eventually(lambda: outside.waiting, within=SOON, when="the WebApp was deleted", hint="on.delete: remove_records().")
    another_is_served("the outside service was slow to remove the record of a WebApp that was deleted")
    slow = [new_host() for _ in range(3)]
    for host in slow:
        outside.slow(60, host=host, alive=True)
        doomed = namespace.webapp(replicas=0, register=host)
    eventually(lambda: outside.waiting > 1, within=SOON, when="three WebApps with `register` came", hint="Ask for it.")
    eventually(lambda: outside.waiting > 3, within=SOON)  # the first one as well
    doomed.delete()
    another_is_served("three WebApps were waiting for a slow answer of the outside service, and one was deleted")
    eventually(lambda: doomed.now() is None, within=2)  # it would be wrong now
    outside.heal()
    when = "a WebApp was deleted while the outside service was slow to make its record, and then the service was quick"
    eventually(lambda: doomed.now() is None, when=when, expected="no WebApp", hint="Clean up, then let it go.")
    eventually(lambda: not outside.waiting)
    expect(
        record_owner(outside, slow[-1]),
        None,
        when=f"{when}; whose record is there now?",
        hint="A thread that you have stopped waiting for goes on, and its request still arrives. Wait for its end.",
    )


@check(points=2, section="one-at-a-time")
def test_two_copies_make_one_of_each(operator, namespace, recorder):
    """Two copies of the operator that run at once make one Deployment and one Service, and come to rest."""
    operator.start()
    operator.another().start()
    recorder.slow(writes("Deployment"), seconds=2, times=1)  # the other one looks meanwhile, and there is none
    app = namespace.webapp(replicas=1)
    served(app, when="two copies of the operator ran, and a WebApp was created", hint="")
    operator.settle()
    expect(
        {kind: len(namespace.owned(kind, app)) for kind in CHILDREN},
        dict.fromkeys(CHILDREN, 1),
        when="two copies of the operator had come to rest",
        hint="Both looked, and neither saw a child. If the name is made from the WebApp's, the server refuses the "
        "second one.",
    )


@check(points=2, section="one-at-a-time", timeout=60)
def test_one_pass_at_a_time(operator, namespace, recorder):
    """While one pass over a WebApp is under way, no other pass over it begins, and other WebApps are served."""
    one, two = namespace.images.web
    other = namespace.webapp(image=one, replicas=0)
    app = running(operator, namespace, image=one, replicas=0)
    served(other, when="two WebApps were created", hint="Each has its own children.")
    names = {kind: child(app, kind) for kind in CHILDREN}
    mark = operator.settle()
    # Longer than the five seconds after which a timer alone has looked at the other one as well, and shorter than the
    # half minute after which the Client doesn't wait any longer.
    seconds = min(scaled(6), 20)
    ours = writes("Deployment", name=names["Deployment"])
    held = recorder.slow(ours, seconds=seconds, times=1)
    # The write of the next pass takes longer than the two seconds after which a timer looks again.
    recorder.slow(ours, seconds=4, nth=2, times=None)
    app.edit(image=two)
    when = f"the image was changed, and the API server took {seconds:.0f} s for the write of the Deployment"
    eventually(lambda: held.fired, when=when, expected="a write of the Deployment", hint="@kopf.on.update, or a timer.")
    watched = bool(recorder.delivered("Service", name=names["Service"]))
    for number in range(2):
        before = len(recorder.delivered("Service", name=names["Service"]))
        namespace.patch("Service", names["Service"], {"metadata": {"annotations": {"touched": str(number)}}})
        if watched:  # so that the pass that it calls for already waits when the other WebApp changes
            eventually(lambda: len(recorder.delivered("Service", name=names["Service"])) > before, within=SOON)  # noqa: B023
    app.edit(replicas=1)  # so that the next pass has something to write as well
    other.edit(image=two)
    served(app, within=3 * SOON, when=when, hint="The write succeeds in the end.")
    operator.settle()
    served(other, when=f"{when}; meanwhile another WebApp was changed", hint="A lock for each WebApp.")
    (slow,) = held.fired
    writes_of_other = recorder.since(mark).writes("Deployment", name=child(other, "Deployment"))
    if slow.ended is not None and all(each.time > slow.ended for each in writes_of_other):
        fail(
            when=f"{when}; meanwhile another WebApp was changed",
            expected="the other one is served before that write is answered",
            got="its Deployment was written only afterwards",
            hint="One WebApp's pass must not hold up the others': a lock for each WebApp, not one for all of them. A "
            "handler that waits for a lock, or for the API server, is a `def`, or it awaits asyncio.to_thread(…).",
        )
    written = recorder.since(mark).writes("Deployment", name=names["Deployment"])
    ends = [each.ended if each.ended is not None else math.inf for each in written]
    expect(
        {
            "writes": len(written),
            "begun while another was under way": sum(
                any(before.time < each.time < end for before, end in zip(written, ends, strict=True))
                for each in written
            ),
        },
        {"writes": 2, "begun while another was under way": 0},
        when=f"{when}; meanwhile the Service was touched, and replicas changed, which took 4 s to write. Writes of the "
        "Deployment",
        hint="A second pass began before the first had ended, and saw the old Deployment. Handlers of the WebApp, of "
        "its children and timers run side by side: a lock for each WebApp makes them wait for each other, if it's the "
        "same lock for all of them, also for those that come while others wait.",
    )


@check(points=2, section="one-at-a-time")
def test_a_namesake_is_another_webapp(operator, other_namespace):
    """Two WebApps with the same name have their own children in two namespaces; one goes, the other stays."""
    attacks.namesakes_are_independent(
        operator,
        make=lambda namespace, name: namespace.webapp(name, replicas=0),
        wrong=differs,
        children=CHILDREN,
        edit=lambda app: app.edit(port=another_port(app)),
        deletion=True,
        reborn=True,
    )


@check(points=3, section="what-kopf-remembers", incident="AMRC-FactoryPlus/amrc-connectivity-stack#647")
def test_at_rest_nothing_is_written(operator, namespace, recorder):
    """At rest nothing is written: not when the WebApp is touched, and not after a restart."""
    app = running(operator, namespace)
    mark = operator.settle()
    # The next look of an operator that looks now and then; one that does not has had its time.
    eventually(lambda: recorder.since(mark).reads() or recorder.since(mark).writes(), within=3)
    hint = (
        "What kopf notes in its own annotations is not counted. The rest is yours: kopf sends what you put in `patch` "
        "even if it changes nothing, and on.resume means that you have come back, not that anything is new."
    )
    attacks.zero_writes_at_rest(operator, app, restart=False, hint=hint)
    operator.stop()
    mark = recorder.mark()
    operator.start()
    operator.settle()
    written = [each for each in operator.own_writes(mark) if each.changed is not False and each.resource != "events"]
    expect(
        list(map(str, written)),
        [],
        when=f"the operator was started again with {app} as it should be; writes that changed something",
        hint=hint,
    )


@check(points=3, section="what-kopf-remembers", incident="dask/dask-kubernetes#654")
def test_a_crash_after_each_write(operator, namespace, recorder):
    """Killed after any write for a new WebApp and started again, it ends with one Deployment and one Service."""
    operator.start()
    mine = writes(where=lambda request: not by_kopf(request), besides=("Event",))
    for number in (1, 2, 3):
        fault = recorder.kill_after(mine, nth=number, kill=operator.crash)
        app = namespace.webapp(replicas=0)
        eventually(lambda: not operator.running, within=3)
        if operator.running:  # it needs no more writes than it has been killed at
            fault.remove()
        else:
            operator.start()
        served(
            app,
            when=f"the operator was killed right after write {number} for a new WebApp and started again",
            hint="kopf calls the handler again, since it hadn't finished. What it made before still exists, so look "
            "first.",
        )


@check(points=3, section="three-kinds-of-failure", incident="dask/dask-kubernetes#975")
def test_any_other_failure_passes(operator, namespace, outside):
    """After no answer, any status but 400 and 422, or a host that is taken, the service is asked again in seconds."""
    silent, statuses = new_host(), {new_host(): status for status in (401, 403, 404, 409, 410, 423, 429)}
    outside.fail(NO_ANSWER, host=silent)
    for host, status in statuses.items():
        outside.fail(status, host=host)
    outside.records[taken := new_host()] = theirs = {"owner": "another WebApp"}
    operator.start()
    waits = namespace.webapp(replicas=0, register=taken)
    eventually(lambda: outside.requests, within=SOON, when="a WebApp with `register` was created", hint="Ask for it.")
    apps = {host: namespace.webapp(replicas=0, register=host) for host in [silent, *statuses]}

    answers = {host: f"answered {status}" for host, status in statuses.items()} | {silent: "never answered"}
    eventually(
        lambda: [f"asked once about a host, and {answers[host]}" for host in answers if tries(outside, host) < 3],
        [],
        within=3 * SOON,
        when=f"the outside service answered {', '.join(map(str, statuses.values()))} to hosts, one each, and did not "
        "answer about another one",
        expected="each of them is asked for again, every few seconds",
        hint="Only 400 and 422 are about the request itself. Everything else can pass while no object changes, so "
        "raise kopf.TemporaryError(…, delay=…).",
        seen=lambda: requests_seen(outside),
    )
    has_a_decent_pace(outside, about=silent, when="the outside service did not answer about a host")
    when = "another WebApp had the host"
    expect(
        outside.records.get(taken), theirs, when=f"{when}; its record", hint="Never touch a record of another owner."
    )
    outside.heal()
    for host, app in apps.items():
        has_record(outside, app, host, when="the outside service worked again", hint="Ask again after a few seconds.")
    hint = "A host that is taken may be free tomorrow, and no object changes then: leave the RuntimeError to kopf."
    only = f"{when}, and every other one had its record"
    has_a_decent_pace(outside, since=len(outside.requests), times=1, when=only, hint=f"{hint} {PACE}")
    del outside.records[taken]
    has_record(outside, waits, taken, when=f"{when}, and gave it up", hint=hint)


@check(points=3, section="deletion")
def test_the_old_record_goes(operator, namespace, outside, recorder):
    """When `register` changes or disappears, the old record goes: at once, after a restart, and with the WebApp."""
    operator.start()
    kept, changed, gone, down, deleted = hosts = [new_host() for _ in range(5)]
    apps = {host: namespace.webapp(replicas=0, register=host) for host in hosts}
    for host, app in apps.items():
        has_record(outside, app, host, when="a WebApp with `register` was created", hint="on.create: keep_record().")
    new = new_host()
    apps[changed].edit(register=new)
    outside.fail(422, host=gone, method="DELETE")
    apps[gone].edit(register=None)
    eventually(lambda: tries(outside, gone) >= 2, within=SOON)  # whether it goes in the end is asked below
    outside.heal()

    def old(host, when):
        eventually(
            lambda: record_owner(outside, host),
            None,
            within=2 * SOON,
            when=when,
            expected="its record is removed",
            hint="A filter that asks only for `register` stops calling when `register` goes. The WebApp carries a "
            "note that there may be a record. Let the filter look at that note as well.",
            seen=lambda: requests_seen(outside),
        )

    old(gone, "`register` was removed from the spec, and the outside service answered 422 to the removal for a while")
    old(changed, "`register` was changed to another host")
    has_record(outside, apps[changed], new, when="`register` was changed to another host")
    outside.fail(503, host=(never_made := new_host()), method="PUT")
    apps[changed].edit(register=never_made)
    eventually(lambda: record_owner(outside, new) is None, within=SOON)  # most remove the old one first
    apps[changed].edit(register=new)
    has_record(
        outside,
        apps[changed],
        new,
        when="`register` was changed to a host about which the outside service answered 503, and then changed back",
        hint="For kopf nothing has changed since it last finished, so it stops calling. The new promise is a change "
        "that it sees, if your handler listens to it: a filter such as field=… leaves it out.",
    )
    late = new_host()
    next_write = writes("WebApp", where=lambda request: late in outside.records)
    killed = recorder.kill_before(next_write, kill=operator.crash)
    app = namespace.webapp(replicas=0, register=late)
    has_record(outside, app, late, when="a WebApp with `register` was created", hint="on.create: keep_record().")
    eventually(lambda: not operator.running, within=3)
    if operator.running:  # it has nothing to write after the record
        killed.remove()
        operator.crash()
    for each in (app, apps[down], apps[deleted]):
        each.edit(register=None)
    apps[deleted].delete()
    operator.start()
    old(down, "`register` was removed while the operator was down")
    old(deleted, "`register` was removed and the WebApp deleted while the operator was down")
    old(late, "the operator was killed right after the record was made; then `register` was removed")
    there = record_owner(outside, kept)
    expect(there, apps[kept].uid, when="others lost their record; the owner of one that is still asked for", hint="")


@check(points=3, section="deletion", incident="nolar/kopf#932")
def test_a_long_outage_changes_nothing(operator, namespace, outside):
    """Even after hours of failures, a record is still made, and still removed before its WebApp goes."""
    operator.start()
    going = namespace.webapp(replicas=0, register=(last := new_host()))
    has_record(outside, going, last, when="a WebApp with `register` was created", hint="on.create: keep_record().")
    quiet(operator, deadline=3)
    outside.fail(500)
    coming = namespace.webapp(replicas=0, register=(new := new_host()))
    going.delete()
    begin = tries(outside)
    eventually(lambda: tries(outside) >= begin + 4, within=2 * SOON)
    operator.stop()
    for app in (going, coming):
        if app.now():
            as_after_hours(app)
    outside.fail(404, method="GET")  # what a proxy says that doesn't know the way
    begin = tries(outside)
    operator.start()
    eventually(lambda: tries(outside) >= begin + 4 or not going.now(), within=2 * SOON)
    when = "the outside service failed for a day, and every handler had been called 60 times"
    expect(
        "the WebApp is gone" if not going.now() else "the WebApp is there",
        "the WebApp is there",
        when=f"{when}; a WebApp was deleted, whose record is still there. The list of all records was answered with "
        "500, later with 404",
        hint="With `retries` or `timeout`, kopf gives up in the end, and takes its finalizer off. A 404 to the list "
        "doesn't say that the record is gone: remove_records() returns when it is.",
    )
    outside.heal()
    has_record(outside, coming, new, when=f"{when}; then it worked again", hint="Never stop trying: set no `retries`.")
    eventually(
        lambda: (record_owner(outside, last), going.now() is None),
        (None, True),
        when=f"{when}; then it worked again",
        expected="the deleted WebApp is gone, and so is its record",
        hint="As long as the record is there, raise kopf.TemporaryError(…, delay=…).",
    )
