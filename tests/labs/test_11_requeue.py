"""Checks of lab 11, easiest first. Each docstring is the line that the learner reads."""

import itertools
import time

from converge.grader import check, eventually, expect, fail
from converge.grader.attacks.converging import converge
from converge.grader.patience import patience
from converge.grader.recorder import reads
from converge.grader.rest import rolled_out

SOON = 5.0  # seconds


def configure(operator, *, period=0.5, base=0.02, cap=0.4, timeout=3.0):
    """Shorten all times, by the environment as in a Pod; less so on a machine with much to do. Returns the times."""
    times = {"PERIOD": period, "BACKOFF_BASE": base, "BACKOFF_CAP": cap, "TIMEOUT": timeout}
    times = {name: round(patience(seconds), 2) for name, seconds in times.items()}
    operator.environment |= {name: str(seconds) for name, seconds in times.items()}
    return times


def new_host(namespace, below="example.com"):
    return f"{namespace.new_name()}.{below}"


def webapp(namespace, **spec):
    """A WebApp without Pods: rollouts are another lesson's."""
    return namespace.webapp(**{"replicas": 0, **spec})


def registered(outside, app):
    """What the service has for the WebApp's host, beside the WebApp's own uid."""
    return outside.records.get(app.spec["register"])


def is_registered(outside, app, *, when, hint):
    want = {"owner": app.uid}
    eventually(lambda: registered(outside, app), want, within=SOON, when=when, hint=hint, seen=lambda: asked(outside))


def says(app, status, *, when, hint, naming=""):
    """Wait until the condition has this status, and a message with that name in it."""

    def probe():
        found = app.condition("Reconciled") or {"status": "", "message": ""}
        return (found["status"], naming if naming in found["message"] else found["message"])

    def evidence():
        return f"conditions of {app}: {app.status.get('conditions', [])}"

    expected = f"Reconciled is {status}" + (f", and its message names {naming}" if naming else "")
    eventually(lambda: probe() == (status, naming), within=SOON, when=when, expected=expected, hint=hint, seen=evidence)


def asked(outside):
    """The last requests at the service, as evidence."""
    return ["the service was asked:\n" + "\n".join(map(str, outside.requests[-6:]))] if outside.requests else []


def about(outside, app, since=0):
    """The requests that the service got about the WebApp's host."""
    return [each for each in list(outside.requests)[since:] if each.path == f"/records/{app.spec['register']}"]


def gaps(requests):
    """The seconds between requests, each of which began a pass."""
    return [b.time - a.time for a, b in itertools.pairwise(requests)]


@check(points=2, section="four-answers")
def test_a_webapp_is_registered(operator, namespace, outside):
    """A WebApp gets its children, and its record if it asks for one; the condition Reconciled says so."""
    configure(operator)
    plain, app = webapp(namespace), webapp(namespace, register=new_host(namespace))
    operator.start()
    is_registered(
        outside, app, when=f"a WebApp with register={app.spec['register']} was created", hint="register() makes it."
    )
    for each in (plain, app):
        for kind in ("Deployment", "Service"):
            eventually(
                lambda kind=kind, each=each: namespace.get(kind, each.name),
                within=SOON,
                when=f"{each} was created",
                expected=f"its {kind}",
                hint="The children are those of the lessons before.",
            )
        says(each, "True", when="all that the specs ask for was there", hint="Done is an answer: say() it.")
    expect(set(outside.records), {app.spec["register"]}, when="all records were listed")


@check(points=2, section="later")
def test_it_waits_for_its_secret(operator, namespace, outside):
    """A WebApp has no children before its Secret is there, says what it waits for, and gets them soon after."""
    configure(operator, period=0.8)
    secret, other = namespace.new_name(), namespace.new_name()
    app = webapp(namespace, dependsOnSecret=secret)
    namespace.create({"kind": "Secret", "metadata": {"name": other}})
    operator.start()
    when = f"a WebApp depended on Secret {secret}, which was not there"
    says(app, "False", when=when, hint="Waiting is worth a condition.", naming=secret)
    expect(namespace.get("Deployment", app.name), None, when=when, hint="Look for the Secret before you make children.")
    # The status that it wrote is an event, and brings one more look: that one must be over.
    operator.recorder.wait_quiet(patience(0.3), deadline=patience(5))
    namespace.create({"kind": "Secret", "metadata": {"name": secret}})
    eventually(
        lambda: namespace.get("Deployment", app.name),
        within=SOON,
        when=f"the Secret was created, and PERIOD is {operator.environment['PERIOD']} s",
        expected="the Deployment",
        hint="Nobody calls you when a Secret comes: answer with a time after which you want to look again.",
    )
    says(app, "True", when="the Secret was there", hint="What was False must become True again.")


@check(points=2, section="later", incident="lightbend/cloudflow#424")
def test_waiting_costs_one_look_per_period(operator, namespace, outside, recorder):
    """Waiting, for a Secret or for a record to be lost, costs one question per period, and no write."""
    period = configure(operator, period=0.5, cap=0.1)["PERIOD"]
    waits, app = (
        webapp(namespace, dependsOnSecret=namespace.new_name()),
        webapp(namespace, register=new_host(namespace)),
    )
    operator.start()
    says(waits, "False", when="a WebApp waited for a Secret", hint="Waiting is worth a condition.")
    is_registered(outside, app, when="another one asked for a record", hint="It is not to wait for the first.")

    def wrong():
        """What there was too much, or too little, of in the last three periods."""
        looks = about(outside, app)[-4:]
        if len(looks) < 4:
            return f"{len(looks)} requests about the record of {app}"
        if min(gaps(looks)) < 0.8 * period:
            delays = ", ".join(f"{gap:.2f}" for gap in gaps(looks))
            return f"requests about the record of {app} at intervals of {delays} s"
        lasted = time.monotonic() - looks[0].time
        since = recorder.since(recorder.mark() - lasted)
        reads, writes = since.reads("Secret"), since.writes()
        if len(reads) > lasted / period + 2:
            return f"in {lasted:.1f} s {len(reads)} reads of the Secret that {waits} waits for: {reads[0]}, …"
        return f"{len(writes)} writes: {writes[0]}, …" if writes else ""

    converge(
        wrong,
        within=SOON,
        when=f"nothing happened for a while, and PERIOD is {period} s",
        expected="in three periods, one request per period about the record, one for the Secret at most, and no write",
        hint="Waiting is not failing. Answer with Result(requeue_after=PERIOD), also when a record is there, since the "
        "service sends no events; and write a status only when it is news.",
    )


@check(points=2, section="later")
def test_a_lost_record_is_made_again(operator, namespace, outside):
    """A record that somebody removes at the service is made again."""
    configure(operator, period=0.3)
    app = webapp(namespace, register=new_host(namespace))
    operator.start()
    is_registered(outside, app, when="a WebApp asked for a record", hint="register() makes it.")
    says(app, "True", when="the record was there", hint="Done is an answer: say() it.")
    outside.records.clear()
    is_registered(
        outside,
        app,
        when="the record was removed at the service",
        hint="The service sends no events: look again after PERIOD, also when all is done.",
    )


@check(points=2, section="failed")
def test_errors_of_the_service_heal(operator, namespace, outside, recorder):
    """While something fails, the service or the API server, the condition says so; later all becomes well, and soon."""
    configure(operator, period=30, cap=0.1)
    outside.fail(500)
    app = webapp(namespace, register=new_host(namespace))
    operator.start()
    hint = "An error that is swallowed is a failure that nobody hears of: say() it, and raise it."
    says(app, "False", when="the service answered every request with 500", hint=hint)
    eventually(
        lambda: len(about(outside, app)) >= 8,  # more than the events of a new WebApp and its children bring about
        within=SOON,
        when="the service went on to answer with 500",
        expected="it is tried again and again",
        hint=hint + " A 500 is not for good.",
        seen=lambda: f"{len(about(outside, app))} tries",
    )
    outside.heal()
    is_registered(outside, app, when="the service had answered with 500, and then worked again", hint=hint)
    says(app, "True", when="the service worked again", hint="What was False must become True again.")
    outside.down()
    late = webapp(namespace, register=new_host(namespace))
    says(late, "False", when="the service was down, and a WebApp asked for a record", hint=hint)
    # The children bring events, too, and each of them a look: those must be over.
    eventually(lambda: (made := namespace.get("Deployment", late.name)) and rolled_out(made), within=2)
    recorder.wait_quiet(patience(0.3), deadline=patience(1))
    outside.up()
    soon = "A service that does not answer is a failure, which is tried again after BASE: PERIOD is for waiting."
    says(late, "True", when="the service had been down, and came back, and PERIOD is long", hint=soon)
    secret = namespace.new_name()
    namespace.create({"kind": "Secret", "metadata": {"name": secret}})
    recorder.fail(reads("Secret", verb="get"), status=500, times=6)
    careful = webapp(namespace, dependsOnSecret=secret)
    says(
        careful,
        "True",
        when="a WebApp depended on a Secret that was there, the first reads of it failed, and PERIOD is long",
        hint="Only NotFound means that it is not there. Any other error is a failure: you do not know.",
    )


@check(points=2, section="failed")
def test_a_service_that_does_not_answer_is_asked_again(operator, namespace, outside):
    """An answer that does not come within TIMEOUT is a failure like others: the service is asked again."""
    timeout = configure(operator, timeout=0.3)["TIMEOUT"]
    app = webapp(namespace, register=new_host(namespace))
    outside.slow(60, host=app.spec["register"])
    operator.start()
    hint = "Every request to somebody else needs a timeout; without one, the worker waits for as long as they like."
    eventually(
        lambda: outside.waiting >= 2,
        within=SOON,
        when=f"the service took a minute for its answers, and TIMEOUT is {timeout} s",
        expected="a second request, with the first one given up",
        hint=hint,
    )
    outside.heal()
    is_registered(outside, app, when="the service had not answered in time, and then did", hint=hint)
    says(app, "True", when="the service answered again", hint="What was False must become True again.")


@check(points=3, section="failed", incident="syself/cluster-api-provider-hetzner#969")
def test_failures_grow_rarer_up_to_a_cap(operator, namespace, outside):
    """While the service fails, tries come after longer and longer delays, up to the cap."""
    times = configure(operator, period=30, base=0.02, cap=0.5)
    cap = times["BACKOFF_CAP"]
    app = webapp(namespace, register=new_host(namespace))
    outside.fail(503)
    operator.start()

    def at_the_cap():
        delays = gaps(about(outside, app))
        return any(
            min(some) >= 0.7 * cap and max(some) <= 1.6 * min(some)
            for some in zip(delays, delays[1:], delays[2:], strict=False)
        )

    def delays():
        found = gaps(about(outside, app))
        shown = ", ".join(f"{gap:.2f} s" for gap in found[:12]) + (", …" if len(found) > 12 else "")
        return f"{len(found) + 1} tries; delays between them: {shown}"

    hint = "Raise what failed: the work queue counts failures and doubles the delay. setup() tells it where to end."
    when = f"the service answered every request with 503, with {times}"
    eventually(
        at_the_cap,
        within=SOON,
        when=when,
        expected=f"delays that grow to {cap} s and stay there",
        hint=hint,
        seen=delays,
    )
    short = [gap for gap in gaps(about(outside, app)) if gap < cap / 2]
    if not 2 <= len(short) <= 15:
        got = f"{len(short)} delays below {cap / 2} s"
        fail(when=when, expected="a few delays that begin small and double", got=got, hint=hint, seen=delays())


@check(points=3, section="failed")
def test_success_forgets(operator, namespace, outside):
    """After a success, the first delay is short again."""
    times = configure(operator, period=0.3, base=0.02, cap=0.8)
    cap = times["BACKOFF_CAP"]
    app = webapp(namespace, register=new_host(namespace))
    outside.fail(503)
    operator.start()
    when = "the service answered every request with 503"
    eventually(lambda: len(about(outside, app)) >= 7, within=SOON, when=when, expected="seven tries")
    outside.heal()
    is_registered(outside, app, when="the service worked again", hint="Raise what failed, so that it is tried again.")
    says(app, "True", when="the service worked again", hint="What was False must become True again.")
    before = len(outside.requests)
    outside.fail(503)

    def delays():
        return gaps([each for each in about(outside, app, before) if each.status == 503])

    eventually(
        lambda: sum(gap < cap / 2 for gap in delays()) >= 3,
        within=3,
        when=f"the service failed seven times, worked, and failed again, with {times}",
        expected=f"several delays below {cap / 2} s in the new trouble",
        hint="Failures are counted in a row: a success ends the row, and the count begins anew.",
        seen=lambda: "delays: " + ", ".join(f"{gap:.2f} s" for gap in delays()[:10]),
    )


@check(points=3, section="failed-for-good", incident="crossplane/crossplane-runtime#857")
def test_what_is_refused_for_good_is_not_tried_again(operator, namespace, outside):
    """A host that the service refuses for good is reported, not tried again, and done when the spec is mended."""
    configure(operator, period=0.3, cap=0.3)
    host = new_host(namespace, below="invalid")
    app, clock = webapp(namespace, register=host), webapp(namespace, register=new_host(namespace))
    operator.start()
    when = f"register was {host}, which the API server takes and the service refuses with 422"
    says(app, "False", when=when, hint="What only the operator can see belongs into a condition.", naming=host)
    is_registered(outside, clock, when="another WebApp had a good host", hint="One has nothing to do with the other.")

    def polls_since():
        """How often the other one was looked at since the service was last asked about this host."""
        paths = [each.path for each in outside.requests]
        last = max((number for number, path in enumerate(paths) if path.endswith(host)), default=0)
        return paths[last:].count(f"/records/{clock.spec['register']}")

    eventually(
        lambda: polls_since() >= 5,
        within=SOON,
        when=f"{when}; nobody changed it, while another WebApp was looked at every PERIOD",
        expected="five looks at the other without a request about this one",
        hint="The same question gets the same answer. TerminalError says: failed, and not again until it changes.",
        seen=lambda: asked(outside),
    )
    app.edit(register=new_host(namespace))
    is_registered(
        outside, app, when="register was mended", hint="A change of the spec brings the WebApp back by itself."
    )
    says(app, "True", when="register was mended", hint="What was False must become True again.")


@check(points=3, section="one-worker-one-object")
def test_sick_ones_do_not_starve_the_others(operator, namespace, outside):
    """WebApps that wait, or whose service does not answer, do not keep the operator from the others."""
    configure(operator, period=2, cap=5, timeout=0.5)
    for _ in range(6):
        webapp(namespace, dependsOnSecret=namespace.new_name())
    sick = [webapp(namespace, register=new_host(namespace)) for _ in range(6)]
    for app in sick:
        outside.slow(60, host=app.spec["register"])
    operator.start()
    when = "6 WebApps waited for Secrets, and the records of 6 others took a minute"
    eventually(
        lambda: outside.waiting >= 5,
        within=SOON,
        when=when,
        expected="requests about more than four of them",
        hint="There are four workers. One that waits inside reconcile(), or has no timeout, is lost for all others.",
    )
    well = webapp(namespace, register=new_host(namespace))
    is_registered(
        outside,
        well,
        when=f"{when}; then a WebApp with a good host was created",
        hint="Never wait inside reconcile(): answer, and be called again.",
    )
