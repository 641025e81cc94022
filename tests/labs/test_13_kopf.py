"""Checks of lab 13, easiest first. Each docstring is the line that the learner reads."""

import itertools
import random
import secrets
import time

from converge.grader import attacks, check, eventually, expect, never
from converge.grader.bookkeeping import by_kopf
from converge.grader.recorder import reads, writes

CHILDREN = ("Deployment", "Service")
SOON = 6  # seconds in which whatever was missed has to be made up for


def new_host():
    """A host name that was never used before."""
    return f"{secrets.token_hex(4)}.example.com"


def another(number, low, high):
    """Another number than that."""
    return random.choice([each for each in range(low, high) if each != number])


def summary(namespace, app):
    """The children that say that they are this WebApp's, and what they say."""
    deployments, services = (namespace.owned(kind, app) for kind in CHILDREN)
    if len(deployments) != 1 or len(services) != 1:
        return f"{len(deployments)} Deployment(s) and {len(services)} Service(s) whose controller is {app}"
    pods, ports = deployments[0]["spec"]["template"], services[0]["spec"].get("ports", [])
    web = next((each for each in pods["spec"]["containers"] if each["name"] == "web"), {})
    return {
        "replicas": deployments[0]["spec"]["replicas"],
        "image of web": web.get("image"),
        "ports of web": [port["containerPort"] for port in web.get("ports", [])],
        "port of the Service": [port["port"] for port in ports],
    }


def wanted(app):
    """The summary that the WebApp's spec asks for."""
    spec = app.spec
    return {
        "replicas": spec["replicas"],
        "image of web": spec["image"],
        "ports of web": [spec["port"]],
        "port of the Service": [spec["port"]],
    }


def served(app, *, when, hint, within=SOON):
    """Wait until the children are there, once, and as the spec says."""
    eventually(lambda: summary(app.namespace, app), wanted(app), within=within, when=when, hint=hint)


def wrong(app):
    """The same as words, for attacks: empty when all is as the spec says."""
    found, want = summary(app.namespace, app), wanted(app)
    return "" if found == want else f"{found}, not {want}"


def running(operator, namespace, **spec):
    """A WebApp whose children are there, with one Pod if nothing else is said, and the operator running."""
    app = namespace.webapp(**{"replicas": 1, **spec})
    if not operator.running:
        operator.start()
    served(app, when="a WebApp was created", hint="First of all, a new WebApp has its children.")
    return app


def child(namespace, kind, app):
    """The name of the WebApp's child of that kind."""
    return namespace.owned(kind, app)[0]["metadata"]["name"]


def owner(outside, host):
    """Who has the record of a host; None if there is no such record."""
    value = outside.records.get(host)
    return value.get("owner") if isinstance(value, dict) else value


def has_record(outside, app, host, *, when, hint):
    expected = f'a record of {host} with {{"owner": {app.uid!r}}}, the uid of {app}'
    eventually(lambda: owner(outside, host), app.uid, when=when, expected=expected, hint=hint, seen=asked(outside))


def asked(outside):
    """What to show of the outside service when a check fails."""
    return lambda: ["the outside service was asked:\n" + ("\n".join(map(str, outside.requests[-6:])) or "nothing")]


def tries(outside, host=""):
    """How often the outside service was asked (about a host) and gave an error."""
    return sum(each.status >= 400 and each.path.endswith(host) for each in outside.requests)


def pauses(outside):
    """The times between the requests that the outside service got, and since the last of them."""
    return [b - a for a, b in itertools.pairwise([*(each.time for each in outside.requests), time.monotonic()])]


def told(namespace, app, word):
    """What people are told about the WebApp that has this word in it: Warnings and conditions."""
    events = [each for each in namespace.list("Event") if each["involvedObject"].get("uid") == app.uid]
    warnings = [each.get("message", "") for each in events if each["type"] == "Warning"]
    conditions = [each["message"] for each in app.status.get("conditions", [])]
    return [text for text in warnings + conditions if word in text]


@check(points=1, section="your-turn")
def test_a_webapp_is_served(operator, namespace):
    """A new WebApp gets a Deployment and a Service of its own, and its status says when they are ready."""
    app = running(operator, namespace)
    eventually(
        lambda: (app.condition("Available") or {}).get("status"),
        "True",
        within=SOON,
        when="the Pods of a WebApp became ready",
        expected="its condition Available is True",
        hint="The Deployment's status changes after it was made: an event of the Deployment, not of the WebApp.",
    )


@check(points=2, section="what-kopf-remembers")
def test_every_change_reaches_the_children(operator, namespace):
    """Each change of the spec reaches the children, and what others have put there stays."""
    one, two = namespace.images.web
    app = running(operator, namespace, image=one)
    names = {kind: child(namespace, kind, app) for kind in CHILDREN}
    note = {"cost.example/centre": namespace.new_name()}
    for kind, name in names.items():
        namespace.patch(kind, name, {"metadata": {"annotations": note}})
    operator.settle()  # so that no news of a child, but only the spec's, calls for the next look
    for field, value in (("image", two), ("port", another(app.spec["port"], 1024, 9999)), ("replicas", 2)):
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
            when=f"somebody had put an annotation on the {kind}, then the spec was changed three times",
            hint="Change the fields that are yours, in the object that is there.",
        )


@check(points=3, section="see-it-fail", incident="instaclustr/cassandra-operator#398")
def test_what_happened_while_it_was_down(operator, namespace, recorder):
    """Changes to and fro, and a child deleted, while the operator is down: when it is back, all is as it should be."""
    app, other = running(operator, namespace, replicas=3), running(operator, namespace)
    operator.settle()
    recorder.focus()
    operator.stop()
    app.edit(replicas=2)
    app.edit(replicas=3)
    namespace.delete("Deployment", child(namespace, "Deployment", app))
    namespace.patch("Deployment", child(namespace, "Deployment", other), {"spec": {"replicas": 2}})
    operator.start()
    hint = (
        "The spec is what it was when kopf last looked, so on.create and on.update are not called. "
        "@kopf.on.resume is, for every object, whether or not anything has changed."
    )
    down = "while the operator was down"
    served(app, when=f"{down}, replicas went from 3 to 2 and back, and the Deployment was deleted", hint=hint)
    served(other, when=f"{down}, somebody scaled the Deployment by hand", hint=hint)


@check(points=2, section="children-have-no-handlers", incident="kubernetes-sigs/kro#323")
def test_a_child_comes_back(operator, namespace):
    """A child that is deleted or changed by hand is mended."""
    app = running(operator, namespace)
    operator.settle()
    hint = "Nothing has happened to the WebApp, so none of its handlers is called. Who tells you of a child?"
    for kind in CHILDREN:
        namespace.delete(kind, child(namespace, kind, app))
        served(app, when=f"the {kind} was deleted", hint=hint)
    namespace.patch("Deployment", child(namespace, "Deployment", app), {"spec": {"replicas": 2}})
    served(app, when="the Deployment was scaled by hand", hint=hint)


@check(points=3, section="children-have-no-handlers")
def test_a_refused_write_is_made_up_for(operator, namespace, recorder):
    """When the API server fails for a moment, the write that it refused is made soon after."""
    app = running(operator, namespace)
    operator.settle()
    recorder.fail(writes("Deployment"), status=500)
    namespace.delete("Deployment", child(namespace, "Deployment", app))
    served(
        app,
        when="the Deployment was deleted, and the first write to make it anew was answered with 500",
        hint="What a handler of @kopf.on.event raises is logged and forgotten, and there will be no other event. "
        "Somebody has to look again: @kopf.timer.",
    )
    recorder.fail(writes("Deployment"), status=500, times=2)
    fresh = namespace.webapp(replicas=1)
    served(
        fresh,
        within=1.5 * SOON,  # even on the busiest machine less than the minute that it must not take
        when="a WebApp was created, and the first two writes of its Deployment were answered with 500",
        hint="After an exception that is not its own, kopf waits for settings.execution.default_backoff: 60 seconds.",
    )


@check(points=3, section="three-kinds-of-failure", incident="dask/dask-kubernetes#810")
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
        hint="Trouble passes: raise kopf.TemporaryError(…, delay=…). Whoever returns after an error has succeeded.",
        seen=asked(outside),
    )
    app.edit(replicas=2)
    served(
        app,
        when=f"{when}, and meanwhile replicas was changed",
        hint="kopf calls a handler that has succeeded no more until all the others have, too. The change that came "
        "meanwhile is then taken as handled. Something else has to look: @kopf.timer, or a daemon.",
    )
    eventually(
        lambda: sum(pause >= 0.3 for pause in pauses(outside)) >= 2,
        within=SOON,
        when=when,
        expected="attempts at a decent pace: two pauses of 0.3 s at least",
        hint="A delay of nothing is a hot loop.",
        seen=lambda: f"{len(outside.requests)} requests",
    )
    outside.heal()
    hint = "raise kopf.TemporaryError with a delay of a few seconds; without one, it is a minute."
    has_record(outside, app, host, when="the outside service worked again", hint=hint)


@check(points=3, section="three-kinds-of-failure")
def test_a_refusal_is_final_until_the_spec_changes(operator, namespace, outside):
    """What the outside service refuses is told to people, and tried again only when the spec has changed."""
    bad, ill, good = new_host(), new_host(), new_host()
    outside.fail(422, host=bad)
    outside.fail(503, host=ill)
    operator.start()
    app = namespace.webapp(replicas=0, register=bad)
    when = f"the outside service answered 422 to the record of {bad}"
    eventually(lambda: tries(outside, bad), within=SOON, when="a WebApp with `register` was created", hint="Ask it.")
    eventually(
        lambda: told(namespace, app, bad),
        within=SOON,
        when=when,
        expected="a Warning Event about the WebApp, or a condition of it, that names the host",
        hint="A log is read by nobody. kopf.warn(body, reason=…, message=…) writes an Event.",
    )
    namespace.webapp(replicas=0, register=ill)  # its tries tell when a refused one would have been tried again
    before = tries(outside, bad)
    never(
        lambda: tries(outside, bad) > before + 1,
        until=lambda: tries(outside, ill) >= 3,
        within=20,
        when=f"{when}; meanwhile another WebApp, whose host was answered with 503, was tried again twice",
        expected="the refused one is left alone until its spec changes",
        hint="The answer will be the same tomorrow: raise kopf.PermanentError.",
    )
    app.edit(register=good)
    has_record(outside, app, good, when=f"{when}, then the host was changed in the spec", hint="A new spec, a new try.")


@check(points=3, section="deletion", incident="nolar/kopf#640")
def test_the_record_goes_before_the_webapp(operator, namespace, outside):
    """A WebApp stays until its record is gone, also when the service fails or the operator is down; then all goes."""
    app = running(operator, namespace, register=(host := new_host()))
    has_record(outside, app, host, when="a WebApp with `register` was created", hint="on.create: keep_record().")
    operator.settle()
    operator.crash()
    app.delete()
    hint = "@kopf.on.delete makes kopf put a finalizer on the WebApp, unless it is optional."
    there = app.now() is not None
    expect(there, True, when="it was deleted while the operator was down. Is it still there?", hint=hint)
    outside.fail(500)
    before = tries(outside)
    operator.start()
    plain = running(operator, namespace)
    eventually(
        lambda: app.now() is None or tries(outside) >= before + 2,
        within=2 * SOON,
        when="the operator was started again, and the outside service answered 500 to everything",
        expected="the record is to be removed, and that is tried again within a few seconds",
        hint="As long as the record is there, raise kopf.TemporaryError(…, delay=…).",
    )
    expect(
        app.now() is not None or owner(outside, host) is None,
        True,
        when="the record of a WebApp that was being deleted could not be removed; is the WebApp still there?",
        hint="PermanentError in on.delete means: give up, let the WebApp go. Then nobody ever removes the record.",
        seen=asked(outside)(),
    )
    outside.heal()
    plain.delete()

    def left():
        records = [f"the record of {host}"] if owner(outside, host) else []
        things = [*namespace.list("WebApp"), *namespace.list("Deployment")]
        return records + [f"{each['kind']}/{each['metadata']['name']}" for each in things]

    eventually(
        left,
        [],
        within=10,
        when="the outside service worked again, and another WebApp was deleted too",
        expected="nothing is left: no WebApp, no record, no Deployment",
        hint="When on.delete has returned, kopf takes its finalizer off, and the garbage collector does the rest. "
        "Daemons have to end when they are told to: kopf waits for them.",
    )


@check(points=3, section="nobody-may-block")
def test_nobody_waits_for_a_slow_service(operator, namespace, outside):
    """While the outside service takes its time for some WebApps, new and deleted ones, another one is served."""
    operator.start()
    going = namespace.webapp(replicas=0, register=(host := new_host()))
    has_record(outside, going, host, when="a WebApp with `register` was created", hint="on.create: keep_record().")
    operator.recorder.wait_quiet(0.3, deadline=3, ignoring=reads())
    outside.slow(60, alive=True)
    going.delete()
    eventually(lambda: outside.waiting, within=SOON, when="the WebApp was deleted", hint="on.delete: remove_records().")
    app = namespace.webapp(replicas=0)
    hint = (
        "A call that blocks in an `async def` stops the one thread that serves everybody. Write `def`, and kopf runs "
        "it in a thread; or await asyncio.to_thread(…)."
    )
    when = "the outside service was slow to remove the record of a WebApp that was deleted, and another one was created"
    served(app, within=4, when=when, hint=hint)
    for _ in range(3):
        namespace.webapp(replicas=0, register=new_host())
    eventually(lambda: outside.waiting > 1, within=SOON, when="three WebApps with `register` came", hint="Ask for it.")
    app = namespace.webapp(replicas=0)
    served(
        app,
        within=4,
        when="three WebApps were waiting for a slow answer of the outside service, and another one was created",
        hint=hint,
    )


@check(points=2, section="one-at-a-time")
def test_two_copies_make_one_of_each(operator, namespace, recorder):
    """Two copies of the operator that run at once make one Deployment and one Service, and come to rest."""
    operator.start()
    operator.another().start()
    recorder.slow(writes("Deployment"), seconds=0.7, times=1)  # the other one looks meanwhile, and there is none
    app = namespace.webapp(replicas=1)
    served(app, when="two copies of the operator ran, and a WebApp was created", hint="")
    operator.settle()
    expect(
        {kind: len(namespace.owned(kind, app)) for kind in CHILDREN},
        dict.fromkeys(CHILDREN, 1),
        when="two copies of the operator had come to rest",
        hint="Both looked, and neither saw one. Only a name that follows from the WebApp's makes the second a refusal.",
    )


@check(points=3, section="what-kopf-remembers", incident="AMRC-FactoryPlus/amrc-connectivity-stack#647")
def test_at_rest_nothing_is_written(operator, namespace, recorder):
    """When all is as it should be nothing is written: not when the WebApp is touched, nor after a restart."""
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
            hint="kopf calls the handler again, as it had not finished. What it made before is there: look first.",
        )
