"""Checks of lab 11, easiest first. Each docstring is the line that the learner reads."""

import time

from converge.grader import check, eventually, expect, fail
from converge.grader.checks.oracles import wrong_webapp
from converge.grader.checks.outside import new_host, requests_seen
from converge.grader.checks.waits import pauses
from converge.grader.checks.webapps import (
    CHILDREN,
    children_of,
    comes_back,
    deployment_of,
    gone_without_retries,
    makes_nothing_while_deleted,
    uid_of,
)
from converge.recorder import reads, writes
from converge.testing import attacks
from converge.testing.attacks.until_right import fail_unless_right
from converge.testing.waits.deadlines import scaled
from converge.testing.waits.idle import rolled_out

SOON = 5.0  # seconds
NO_ANSWER = 0


def configure(operator, *, period=0.5, base=0.02, cap=0.4, timeout=3.0):
    """Shorten all times, by the environment as in a Pod, but less so on a busy machine. Returns the times."""
    times = {"PERIOD": period, "BACKOFF_BASE": base, "BACKOFF_CAP": cap, "TIMEOUT": timeout}
    times = {name: round(scaled(seconds), 2) for name, seconds in times.items()}
    operator.environment |= {name: str(seconds) for name, seconds in times.items()}
    return times


def webapp(namespace, name=None, **spec):
    """A WebApp without Pods: rollouts are another lesson's."""
    return namespace.webapp(name, **{"replicas": 0, **spec})


def registered(outside, app):
    """What the service has for the WebApp's host, beside the WebApp's own uid."""
    return outside.records.get(app.spec["register"])


def is_registered(outside, app, *, when, hint):
    want = {"owner": app.uid}
    eventually(
        lambda: registered(outside, app), want, within=SOON, when=when, hint=hint, seen=lambda: requests_seen(outside)
    )


def says(app, status, *, when, hint, naming=""):
    """Wait until the condition has this status, and a message with that name in it."""

    def probe():
        found = app.condition("Reconciled") or {"status": "", "message": ""}
        return (found["status"], naming if naming in found["message"] else found["message"])

    def evidence():
        return f"conditions of {app}: {app.status.get('conditions', [])}"

    expected = f"Reconciled is {status}" + (f", and its message names {naming}" if naming else "")
    eventually(lambda: probe() == (status, naming), within=SOON, when=when, expected=expected, hint=hint, seen=evidence)


def about(outside, app, since=0):
    """The requests that the service got about the WebApp's host."""
    return [each for each in list(outside.requests)[since:] if each.path == f"/records/{app.spec['register']}"]


@check(points=2, section="four-answers")
def test_a_webapp_is_registered(operator, namespace, outside):
    """A WebApp gets its children, and its record if it asks for one; the condition Reconciled says so."""
    configure(operator)
    plain, app = webapp(namespace), webapp(namespace, register=new_host())
    operator.start()
    is_registered(
        outside, app, when=f"a WebApp with register={app.spec['register']} was created", hint="register() makes it."
    )
    for each in (plain, app):
        for kind in CHILDREN:
            eventually(
                lambda kind=kind, each=each: namespace.get(kind, each.name),
                within=SOON,
                when=f"{each} was created",
                expected=f"its {kind}",
                hint="The children are those from the earlier lessons.",
            )
        says(each, "True", when="all that the specs ask for was there", hint="Being done is worth reporting: say() it.")
    expect(set(outside.records), {app.spec["register"]}, when="all records were listed")


@check(points=2, section="later")
def test_it_waits_for_its_secret(operator, namespace, outside):
    """A WebApp has no children before its Secret is there, says what it waits for, and gets them soon after."""
    configure(operator, period=0.8)
    secret, other = namespace.new_name(), namespace.new_name()
    waiting = [webapp(namespace, dependsOnSecret=secret) for _ in range(2)]
    namespace.create({"kind": "Secret", "metadata": {"name": other}})
    operator.start()
    when = f"two WebApps depended on Secret {secret}, which was not there"
    for app in waiting:
        says(app, "False", when=when, hint="Say in a condition what you're waiting for.", naming=secret)
        expect(deployment_of(app), None, when=when, hint="Look for the Secret before you make children.")
    # The status that it wrote is an event, and brings one more look: that one must be over.
    operator.recorder.wait_quiet(scaled(0.3), deadline=scaled(5))
    namespace.create({"kind": "Secret", "metadata": {"name": secret}})
    for app in waiting:
        eventually(
            lambda app=app: deployment_of(app),
            within=SOON,
            when=f"the Secret was created for which {' and '.join(map(str, waiting))} waited, and PERIOD is "
            f"{operator.environment['PERIOD']} s",
            expected=f"the Deployment of {app}",
            hint="No event calls you when a Secret appears: return a time after which you want to look again. If you "
            "watch Secrets, your map must return every WebApp that waits for this one.",
        )
    for app in waiting:
        says(app, "True", when="the Secret was there", hint="What was False must become True again.")
    known = len(operator.recorder.delivered("Secret", name=secret))
    namespace.delete("Secret", secret)
    if known:  # it watches Secrets, so its cache may be a moment behind
        eventually(lambda: len(operator.recorder.delivered("Secret", name=secret)) > known, within=SOON)
        operator.recorder.wait_quiet(scaled(0.3), deadline=scaled(5))
    late = webapp(namespace, dependsOnSecret=secret)
    when = f"Secret {secret} was deleted again, and then another WebApp was created that depends on it"
    forgets = "A Secret that was there once may be gone. Look for it in each pass, and remember nothing."
    says(late, "False", when=when, hint=forgets, naming=secret)
    expect(deployment_of(late), None, when=when, hint=forgets)


@check(points=2, section="later", incident="FoundationDB/fdb-kubernetes-operator#114")
def test_waiting_costs_one_look_per_period(operator, namespace, outside, recorder):
    """Waiting for a Secret, or keeping an eye on a record, costs one request per period and no write."""
    period = configure(operator, period=0.5, cap=0.1)["PERIOD"]
    waits, app = (
        webapp(namespace, dependsOnSecret=namespace.new_name()),
        webapp(namespace, register=new_host()),
    )
    operator.start()
    says(waits, "False", when="a WebApp waited for a Secret", hint="Say in a condition what you're waiting for.")
    is_registered(outside, app, when="another one asked for a record", hint="It must not wait for the first.")

    def wrong():
        """What there was too much, or too little, of in the last three periods."""
        looks = about(outside, app)[-4:]
        if len(looks) < 4:
            return f"{len(looks)} requests about the record of {app}"
        if min(pauses(looks)) < 0.8 * period:
            delays = ", ".join(f"{gap:.2f}" for gap in pauses(looks))
            return f"requests about the record of {app} at intervals of {delays} s"
        lasted = time.monotonic() - looks[0].time
        since = recorder.since(recorder.mark() - lasted)
        reads, writes = since.reads("Secret"), since.writes()
        if len(reads) > lasted / period + 2:
            return f"in {lasted:.1f} s {len(reads)} reads of the Secret that {waits} waits for: {reads[0]}, …"
        return f"{len(writes)} writes: {writes[0]}, …" if writes else ""

    fail_unless_right(
        wrong,
        within=SOON,
        when=f"nothing happened for a while, and PERIOD is {period} s",
        expected="in three periods: one request per period about the record, at most one for the Secret, and no write",
        hint="Waiting is not failing. Return Result(requeue_after=PERIOD), even when a record is there, since the "
        "service sends no events; and write a status only when it is news.",
    )


@check(points=2, section="later")
def test_a_lost_record_is_made_again(operator, namespace, outside):
    """A record that is removed at the service is created again, however often."""
    configure(operator, period=0.3)
    app = webapp(namespace, register=new_host())
    operator.start()
    is_registered(outside, app, when="a WebApp asked for a record", hint="register() makes it.")
    says(app, "True", when="the record was there", hint="Being done is worth reporting: say() it.")
    operator.settle()  # the children also bring events, and each of them a look: those must be over
    hint = "The service sends no events: look again after PERIOD, even when all is done."
    for times in ("", " once more", " for the third time"):
        outside.records.clear()
        is_registered(
            outside,
            app,
            when=f"the record was removed at the service{times}",
            hint=f"{hint} A pass that restores the record changes nothing in the status, so no event follows it."
            if times
            else hint,
        )


@check(points=2, section="failed")
def test_errors_of_the_service_heal(operator, namespace, outside, recorder):
    """While the service or the API server fails, the condition says so; soon after it works again, all is done."""
    configure(operator, period=30, cap=0.1)
    outside.fail(500)
    app = webapp(namespace, register=new_host())
    operator.start()
    hint = "If you swallow the error, nobody learns of the failure. say() it, and raise it."
    says(app, "False", when="the service answered every request with 500", hint=hint)
    eventually(
        lambda: len(about(outside, app)) >= 8,  # more than the events of a new WebApp and its children bring about
        within=SOON,
        when="the service went on to answer with 500",
        expected="it is tried again and again",
        hint=hint + " A 500 isn't permanent.",
        seen=lambda: f"{len(about(outside, app))} tries",
    )
    eventually(
        lambda: (app.condition("Available") or {"status": "no such condition"})["status"],
        "True",
        within=SOON,
        when="the service went on to answer with 500, and the Deployment was there; the condition Available",
        hint="The children came first, and they exist. say() how the Deployment is, even if the next step failed.",
    )
    outside.heal()
    is_registered(outside, app, when="the service had answered with 500, and then worked again", hint=hint)
    says(app, "True", when="the service worked again", hint="What was False must become True again.")
    outside.down()
    late = webapp(namespace, register=new_host())
    says(late, "False", when="the service was down, and a WebApp asked for a record", hint=hint)
    # The children also bring events, and each of them a look: those must be over.
    eventually(lambda: (made := deployment_of(late)) and rolled_out(made), within=2)
    recorder.wait_quiet(scaled(0.3), deadline=scaled(1))
    outside.up()
    soon = "If the service doesn't answer, that's a failure, and it's tried again after BASE. PERIOD is for waiting."
    says(late, "True", when="the service had been down, and came back, and PERIOD is long", hint=soon)
    unknown = "Only NotFound means that it isn't there. Any other error is a failure, because you don't know."
    for status in (500, 403):
        secret = namespace.new_name()
        namespace.create({"kind": "Secret", "metadata": {"name": secret}})
        trouble = recorder.fail(reads("Secret", verb="get"), status=status, times=None)
        careful = webapp(namespace, dependsOnSecret=secret)
        when = (
            f"a WebApp depended on a Secret that was there, and the API server answered every read of it with {status}"
        )
        eventually(lambda trouble=trouble, app=careful: trouble.fired or app.condition("Reconciled"), within=SOON)
        if trouble.fired:  # one that watches Secrets has no need to read them
            failing = "Failing to read the Secret is a failure like any other: say() it, and raise it."
            says(careful, "False", when=when, hint=failing)
            eventually(
                lambda trouble=trouble: len(trouble.fired) >= 10,  # more than the events of a new WebApp bring about
                within=SOON,
                when=when,
                expected="it is read again and again",
                hint=unknown,
                seen=lambda trouble=trouble: f"{len(trouble.fired)} reads",
            )
        trouble.remove()
        says(careful, "True", when=f"{when}; then it answered again, and PERIOD is long", hint=unknown)


@check(points=2, section="failed")
def test_a_service_that_does_not_answer_is_asked_again(operator, namespace, outside):
    """An answer that does not come within TIMEOUT is a failure like any other: the service is asked again."""
    timeout = configure(operator, timeout=0.3)["TIMEOUT"]
    app = webapp(namespace, register=new_host())
    outside.slow(60, host=app.spec["register"])
    operator.start()
    hint = (
        "Every request to another service needs a timeout; without one, the worker waits as long as the service likes."
    )
    eventually(
        lambda: outside.waiting >= 2,
        within=SOON,
        when=f"the service took a minute for its answers, and TIMEOUT is {timeout} s",
        expected="a second request, with the first one given up",
        hint=hint,
    )
    every_kind = (
        "Before you raise, say() it, whatever was raised: an answer that doesn't come is a TimeoutError, a connection "
        "that is closed a RemoteDisconnected, and neither is a URLError."
    )
    says(app, "False", when=f"the service took a minute for its answers, and TIMEOUT is {timeout} s", hint=every_kind)
    outside.heal()
    is_registered(outside, app, when="the service had not answered in time, and then did", hint=hint)
    says(app, "True", when="the service answered again", hint="What was False must become True again.")
    outside.fail(NO_ANSWER, host=app.spec["register"])
    when = "the record was there, and then the service closed each connection without an answer"
    says(app, "False", when=when, hint=every_kind)
    outside.heal()
    says(app, "True", when="the service answered again", hint="What was False must become True again.")


@check(points=3, section="failed", incident="syself/cluster-api-provider-hetzner#969")
def test_failures_grow_rarer_up_to_a_cap(operator, namespace, outside):
    """While the service fails, tries come after longer and longer delays, up to the cap."""
    times = configure(operator, period=30, base=0.02, cap=0.5)
    cap = times["BACKOFF_CAP"]
    app, other = webapp(namespace, register=new_host()), webapp(namespace, register=new_host())
    outside.fail(503, host=app.spec["register"])
    outside.fail(503, host=other.spec["register"], method="PUT")
    operator.start()

    def at_the_cap(tries):
        delays = pauses(tries())
        return any(
            min(some) >= 0.7 * cap and max(some) <= 1.6 * min(some)
            for some in zip(delays, delays[1:], delays[2:], strict=False)
        )

    def delays(tries):
        found = pauses(tries())
        shown = ", ".join(f"{gap:.2f} s" for gap in found[:12]) + (", …" if len(found) > 12 else "")
        return f"{len(found) + 1} tries; delays between them: {shown}"

    def all_requests():
        return about(outside, app)

    def puts():
        return [each for each in about(outside, other) if each.method == "PUT"]

    hint = "Raise what failed: the work queue counts failures and doubles the delay. setup() tells it where to end."
    once = hint + " And try once in each pass. The queue does the retrying."
    when = f"the service answered every request with 503, with {times}"
    for tries, what, help in (
        (all_requests, when, hint),
        (puts, f"the service answered every PUT of another WebApp's host with 503, with {times}", once),
    ):
        eventually(
            lambda tries=tries: at_the_cap(tries),
            within=SOON,
            when=what,
            expected=f"delays that grow to {cap} s and stay there",
            hint=help,
            seen=lambda tries=tries: delays(tries),
        )
    short = [gap for gap in pauses(about(outside, app)) if gap < cap / 2]
    if not 2 <= len(short) <= 15:
        got = f"{len(short)} delays below {cap / 2} s"
        fail(
            when=when,
            expected="a few delays that start small and double",
            got=got,
            hint=hint,
            seen=delays(all_requests),
        )
    each_is_tried_at_its_own_pace(operator, namespace, outside)


def each_is_tried_at_its_own_pace(operator, namespace, outside):
    """Let many WebApps fail at once, and fail unless each is tried again after BASE, however many others fail."""
    operator.stop()
    outside.heal()
    times = configure(operator, period=30, base=0.3, cap=0.3)
    crowd = [webapp(namespace, register=new_host()) for _ in range(8)]
    for app in crowd:
        outside.fail(503, host=app.spec["register"])
    operator.start()
    eventually(
        lambda: min(len(about(outside, app)) for app in crowd) >= 7,  # the events of a new WebApp bring about three
        within=SOON,
        when=f"the service answered every request about {len(crowd)} WebApps with 503, with {times}",
        expected="seven tries of each",
        hint="Each WebApp's retry comes BASE after its own failure, however many others fail. Limit the rate of all "
        "together only after a burst, as the work queue does.",
        seen=lambda: f"tries of each: {', '.join(str(len(about(outside, app))) for app in crowd)}",
    )


@check(points=3, section="failed")
def test_success_forgets(operator, namespace, outside):
    """After a success of its own the first delay of a WebApp is short again, and after no one else's."""
    times = configure(operator, period=0.3, base=0.15, cap=1.5)
    base, cap = times["BACKOFF_BASE"], times["BACKOFF_CAP"]
    app, well = webapp(namespace, register=new_host()), webapp(namespace, register=new_host())
    outside.fail(503, host=app.spec["register"])
    operator.start()
    when = f"the service answered every request about {app.spec['register']} with 503"
    eventually(lambda: len(about(outside, app)) >= 4, within=SOON, when=when, expected="four tries")
    outside.heal()
    is_registered(outside, app, when="the service worked again", hint="Raise what failed, so that it is tried again.")
    says(app, "True", when="the service worked again", hint="What was False must become True again.")
    is_registered(outside, well, when="another WebApp had a good host", hint="It must not wait for the first.")
    before = len(outside.requests)
    outside.fail(503, host=app.spec["register"])

    def delays():
        return pauses([each for each in about(outside, app, before) if each.status == 503])

    def seen():
        return "delays: " + ", ".join(f"{gap:.2f} s" for gap in delays()[:10])

    eventually(
        lambda: sum(gap < cap / 2 for gap in delays()) >= 3 and sum(delays()) > 3 * base,
        within=SOON,
        when=f"the service failed four times, worked, and failed again, with {times}",
        expected=f"several delays below {cap / 2} s in the new trouble",
        hint="The count is of failures in a row. A success ends the row, and the count starts over.",
        seen=seen,
    )
    # Counts that a success of another WebApp ends get to 4 * base at most: one comes every 2 * base.
    eventually(
        lambda: max(delays()) > 6 * base,
        within=SOON,
        when=f"the service failed again for one WebApp, and another was served every PERIOD, with {times}",
        expected=f"delays that grow, to more than {6 * base:.1f} s",
        hint="Failures are counted for each key. A success of another WebApp says nothing about this one's host, so it "
        "doesn't end the row: use the key that next() and forget() get.",
        seen=seen,
    )
    hasty = [f"{gap:.3f} s" for gap in delays() if gap < base / 2]
    if len(hasty) > 3:  # the first report of the trouble is an event, and brings a look of its own
        fail(
            when=f"the service failed again, with {times}",
            expected=f"a first delay of BASE, which is {base} s",
            got=f"delays of {', '.join(hasty)}",
            hint="The queue's backoff starts at BASE: WorkQueue(backoff=Backoff(base=BASE, cap=CAP)).",
        )


@check(points=3, section="failed-for-good", incident="crossplane/crossplane-runtime#857")
def test_what_is_refused_for_good_is_not_tried_again(operator, namespace, outside, recorder):
    """A host that the service refuses for good is reported, not tried again, and registered once the spec is fixed."""
    configure(operator, period=0.3, cap=0.1)
    host, malformed = new_host(below="invalid"), new_host()
    outside.fail(400, host=malformed, method="PUT")
    app, clock = webapp(namespace, register=host), webapp(namespace, register=new_host())
    other = webapp(namespace, register=malformed)
    refused = recorder.fail(writes("WebApp", name=app.name), status=500, times=None)
    operator.start()
    when = f"register was {host}, which the API server takes and the service refuses with 422"
    unsaid = (
        "Only the operator knows of the refusal, so put it in a condition. If the report fails, let that error out, "
        "and the pass is run again: a user can't read what wasn't written."
    )
    eventually(
        lambda: len(refused.fired) >= 8,  # more than the events of a new WebApp and its children bring about
        within=SOON,
        when=f"{when}, and every write of the status was answered 500",
        expected="the report is tried again and again",
        hint=unsaid,
        seen=lambda: f"{len(refused.fired)} tries",
    )
    refused.remove()
    says(app, "False", when=f"{when}, and the status could be written again", hint=unsaid, naming=host)
    also = f"register was {malformed}, which the service refuses with 400"
    says(other, "False", when=also, hint="Only the operator knows of it: put it in a condition.", naming=malformed)
    is_registered(
        outside, clock, when="another WebApp had a good host", hint="The two have nothing to do with each other."
    )

    def polls_since(refused):
        """How often the good one was looked at since the service was last asked about this host."""
        paths = [each.path for each in outside.requests]
        last = max((number for number, path in enumerate(paths) if path.endswith(refused)), default=0)
        return paths[last:].count(f"/records/{clock.spec['register']}")

    for refused, reason in ((host, when), (malformed, also)):
        eventually(
            lambda refused=refused: polls_since(refused) >= 5,
            within=SOON,
            when=f"{reason}; it was not changed, while another WebApp was looked at every PERIOD",
            expected="five looks at the other without a request about this one",
            hint="The same question gets the same answer. TerminalError means: it failed, and don't retry until it "
            "changes.",
            seen=lambda: requests_seen(outside),
        )
    app.edit(register=new_host())
    is_registered(
        outside, app, when="register was fixed", hint="A change of the spec brings the WebApp back by itself."
    )
    says(app, "True", when="register was fixed", hint="What was False must become True again.")
    outside.heal()
    other.edit(register=new_host())
    is_registered(outside, other, when="register was changed to a good host", hint="Every new spec is a new question.")
    other.edit(register=malformed)
    is_registered(
        outside,
        other,
        when=f"{also}; then register was changed to another host, and back, and by now the service takes {malformed}",
        hint="For good means until the spec changes, and it has. Ask again, and don't keep a list of refused hosts: "
        "the service knows better.",
    )


@check(points=2, section="failed-for-good")
def test_what_may_pass_is_tried_again(operator, namespace, outside):
    """What the service refuses for now (401, 403, 408, 409, 429, 500) is tried again, and works once it's allowed."""
    configure(operator, period=30, cap=0.1)
    apps = {status: webapp(namespace, register=new_host()) for status in (401, 403, 408, 409, 429, 500)}
    for status, app in apps.items():
        outside.fail(status, host=app.spec["register"], method="PUT")
    operator.start()
    hint = (
        "Only 400 and 422 are about the request itself. When an admin renews a token, no object changes, so try again."
    )
    for status, app in apps.items():
        when = f"the service answered PUT /records/{app.spec['register']} with {status}"
        says(app, "False", when=when, hint="Before you raise, say() it: the user can't read your log.")
        eventually(
            lambda app=app: sum(each.method == "PUT" for each in about(outside, app)) >= 8,
            within=SOON,  # eight tries are more than the events of a new WebApp and its children bring about
            when=when,
            expected="it is tried again and again",
            hint=hint,
            seen=lambda app=app: f"{sum(each.method == 'PUT' for each in about(outside, app))} tries",
        )
    outside.heal()
    for status, app in apps.items():
        is_registered(outside, app, when=f"the service had answered with {status}, and then took the record", hint=hint)
        says(app, "True", when="the record was there", hint="What was False must become True again.")


@check(points=2, section="failed")
def test_a_host_with_another_owner_is_left_alone(operator, namespace, outside):
    """A record with another owner is never overwritten; the condition says so, and the host is taken once it's free."""
    configure(operator, period=30, cap=0.1)
    host, theirs = new_host(), {"owner": "another WebApp"}
    made_by_hand, without_owner = new_host(), {"ip": "192.0.2.7"}
    outside.records |= {host: theirs, made_by_hand: without_owner}
    app, other = webapp(namespace, register=host), webapp(namespace, register=made_by_hand)
    operator.start()
    when = f"register was {host}, whose record had another owner"
    hint = "Look at the record first. If it isn't yours, the host is taken: say() that, raise, and leave it alone."
    says(app, "False", when=when, hint=hint, naming=host)
    eventually(
        lambda: len(about(outside, app)) >= 8,
        within=SOON,
        when=when,
        expected="the service is asked again and again, since the other owner may give the host up",
        hint=hint + " It's a failure like any other, not a permanent one.",
        seen=lambda: requests_seen(outside),
    )
    expect(registered(outside, app), theirs, when=f"{when}; that record since then", hint=hint)
    when_unowned = f"register was {made_by_hand}, whose record {without_owner} names no owner"
    says(other, "False", when=when_unowned, hint=hint, naming=made_by_hand)
    expect(registered(outside, other), without_owner, when=f"{when_unowned}; that record since then", hint=hint)
    del outside.records[host]
    is_registered(outside, app, when=f"{when}; then the other owner removed its record", hint=hint)
    says(app, "True", when="the record was there", hint="What was False must become True again.")
    outside.records[host] = theirs
    app.edit(replicas=1)  # an event, so that it is looked at now
    says(app, "False", when="another owner took the host over, and the WebApp was edited", hint=hint, naming=host)
    expect(registered(outside, app), theirs, when="another owner took the host over; the record since then", hint=hint)


@check(points=3, section="one-worker-one-object")
def test_sick_ones_do_not_starve_the_others(operator, namespace, outside):
    """WebApps that wait, or whose service does not answer, do not keep the operator from the others."""
    configure(operator, period=2, cap=5, timeout=0.5)
    for _ in range(6):
        webapp(namespace, dependsOnSecret=namespace.new_name())
    sick = [webapp(namespace, register=new_host()) for _ in range(6)]
    for app in sick:
        outside.slow(60, host=app.spec["register"])
    operator.start()
    when = "6 WebApps waited for Secrets, and the records of 6 others took a minute"
    eventually(
        lambda: outside.waiting >= 5,
        within=SOON,
        when=when,
        expected="requests about more than four of them",
        hint="There are four workers. A worker that waits inside reconcile(), or has no timeout, isn't there for the "
        "others.",
    )
    well = webapp(namespace, register=new_host())
    is_registered(
        outside,
        well,
        when=f"{when}; then a WebApp with a good host was created",
        hint="Never wait inside reconcile(). Return, and be called again.",
    )


@check(points=2, section="four-answers", timeout=60)
def test_a_failed_request_is_made_again(operator, namespace, recorder, outside):
    """Any request to the API server may fail once: in the end all is there, and the condition says so."""
    configure(operator, period=30, cap=0.2)
    hint = "Raise what failed, even if it's the report that failed. The pass runs again."

    def wrong(app):
        if problem := wrong_webapp(app):
            return problem
        said = (app.condition("Reconciled") or {}).get("status", "none")
        return "" if said == "True" and registered(outside, app) == {"owner": app.uid} else f"Reconciled is {said}"

    attacks.fault_at_every_request(
        operator,
        make=lambda name=None, **spec: webapp(namespace, name, **{**spec, "register": new_host()}),
        wrong=wrong,
        children=CHILDREN,
        modes=["500", "409"],
        hint=hint,
    )
    name, secret = namespace.new_name(), namespace.new_name()
    recorder.fail(writes("WebApp", name=name), status=500)
    says(
        webapp(namespace, name, dependsOnSecret=secret),
        "False",
        when="a WebApp waited for a Secret, and its first report was answered with 500",
        hint=hint,
        naming=secret,
    )


@check(points=2, section="four-answers")
def test_namesakes_in_two_namespaces(operator, namespace, other_namespace, outside):
    """Two WebApps with the same name in two namespaces: each waits for its own Secret and has its own record."""
    configure(operator, period=0.5)
    name, secret = namespace.new_name(), namespace.new_name()
    other_namespace.create({"kind": "Secret", "metadata": {"name": secret}})
    here = webapp(namespace, name, dependsOnSecret=secret, register=new_host(), port=8001)
    there = webapp(other_namespace, name, dependsOnSecret=secret, register=new_host(), port=8002)
    operator.start()
    hint = "A name identifies an object only together with its namespace. Pass the namespace in every request."
    when = f"two WebApps {name} in two namespaces depended on Secret {secret}, which was in {other_namespace}"
    says(there, "True", when=f"{when}; the one in {other_namespace}", hint=hint)
    says(here, "False", when=f"{when}; the one in {namespace}", hint=hint, naming=secret)
    expect(children_of(here), [], when=f"{when}; the children in {namespace}", hint=hint)
    namespace.create({"kind": "Secret", "metadata": {"name": secret}})
    says(here, "True", when=f"{when}; then it was in {namespace} as well", hint=hint)
    for app in (here, there):
        is_registered(outside, app, when=f"{when}, then in both; the record of the one in {app.namespace}", hint=hint)
        expect(wrong_webapp(app), "", when=f"{when}, then in both; what is wrong in {app.namespace}", hint=hint)
    before = {kind: uid_of(here, kind) for kind in CHILDREN}
    there.delete()
    eventually(
        lambda: (there.now(), children_of(there)),
        (None, []),
        when=f"the WebApp in {other_namespace} was deleted; it, and its children",
        hint="The children from the earlier lessons have an owner reference.",
    )
    gone_without_retries(operator, there)
    expect(
        {kind: uid_of(here, kind) for kind in CHILDREN},
        before,
        when=f"the WebApp in {other_namespace} was deleted; the children in {namespace}, by uid",
        hint=hint,
    )


@check(points=2, section="four-answers")
def test_what_its_children_go_through(operator, namespace, outside):
    """Without a period a deleted child comes back and a rollout is reported; during a deletion, no child is made."""
    configure(operator, period=30)
    app = webapp(namespace, register=new_host())
    operator.start()
    says(app, "True", when="a WebApp was created", hint="Being done is worth reporting: say() it.")
    for kind in CHILDREN:
        comes_back(
            operator,
            app,
            kind,
            within=SOON,
            when="PERIOD is long",
            hint="Done means done until something changes. The watches on your children tell you when one does.",
        )
    operator.settle()
    # The Pod waits at the gate until the operator rests. What comes then is a change of status, and nothing else.
    gated = {"schedulingGates": [{"name": "converge.example/not-yet"}]}
    namespace.patch("Deployment", app.name, {"spec": {"template": {"spec": gated}}})
    app.edit(replicas=1)
    eventually(
        lambda: namespace.list("Pod"),
        when="replicas was changed from 0 to 1",
        expected="a Pod",
        hint="A change of the spec reaches the Deployment.",
    )
    operator.recorder.wait_quiet(scaled(0.3), deadline=scaled(3))
    for pod in namespace.list("Pod"):
        namespace.patch("Pod", pod["metadata"]["name"], {"spec": {"schedulingGates": None}})
    eventually(
        lambda: {
            "Available": (app.condition("Available") or {"status": "no such condition"})["status"],
            "availableReplicas": app.status.get("availableReplicas"),
        },
        {"Available": "True", "availableReplicas": 1},
        when="replicas was changed from 0 to 1, the Pod came up later, and PERIOD is long; the WebApp's status",
        hint="A rollout that gets on changes the Deployment's status only, not its generation. A watch that leaves "
        "such events out never tells you that it's done.",
        seen=lambda: f"the Deployment's status: {(deployment_of(app) or {}).get('status')}",
    )
    hint = "A WebApp with a metadata.deletionTimestamp is on its way out: what you make for it now is in the way."
    before = []

    def lose_the_record():
        outside.records.clear()
        before.append(len(outside.requests))

    makes_nothing_while_deleted(operator, app, hint=hint, once_it_is=lose_the_record)
    made = [each.path for each in about(outside, app, before[0]) if each.method == "PUT"]
    expect(
        made,
        [],
        when=f"{app} was being deleted, held by someone else's finalizer, and its record was removed at the service; "
        "the records that were made since then",
        hint=hint,
    )
