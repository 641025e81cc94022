"""Checks of lab 10, easiest first. Each docstring is the line that the learner reads."""

import random
import secrets
import threading

from converge.grader import check, eventually, expect
from converge.grader.checks.waits import pauses
from converge.grader.checks.webapps import gone_without_retries
from converge.recorder import writes
from converge.runtime import Conflict
from converge.testing import attacks

TICKET = "tickets.converge.example/"
SERVED = "converge.example/served"
OLD, NEW = "registry.old.example/", "registry.example/"
SOON = 5.0  # seconds; what is refused a few times comes back within a tenth of one


def annotations(app):
    return dict(app.now()["metadata"].get("annotations", {}))


def tickets(app):
    """The tickets that still wait."""
    return sorted(key for key in annotations(app) if key.startswith(TICKET))


def desk(app):
    """What the WebApp says of its tickets: as many words as a report needs."""
    return {"served": int(annotations(app).get(SERVED, "0")), "tickets that wait": len(tickets(app))}


def put_tickets(app, count):
    """Put tickets on a WebApp, as a user does: each has a key of its own, so no version is needed."""
    some = {TICKET + secrets.token_hex(4): "" for _ in range(count)}
    annotate(app, some)
    return list(some)


def annotate(app, some):
    app.namespace.patch("WebApp", app.name, {"metadata": {"annotations": some}})


def count_elsewhere(app, times=1):
    """Another desk adds to the same counter, and does it right: with the version, again after a 409."""
    for _ in range(times):
        while True:
            webapp = app.now()
            known = webapp["metadata"].setdefault("annotations", {})
            known[SERVED] = str(int(known.get(SERVED, "0")) + 1)
            try:
                app.namespace.client.replace(webapp, field_manager="another-desk")
                break
            except Conflict:
                continue


def with_tickets(namespace, name=None, tickets=3, **spec):
    """A WebApp that names the old registry and has some tickets."""
    app = namespace.webapp(name, **{"image": old_image(), **spec})
    put_tickets(app, tickets)
    return app


def wrong(app):
    """What is not as it should be with a WebApp that had three tickets."""
    found, image = desk(app), app.now()["spec"]["image"]
    right = found == {"served": 3, "tickets that wait": 0} and image.startswith(NEW)
    return "" if right else f"of 3 tickets: {found}; image {image}"


def served(app, count, *, when, hint):
    """Wait until that many are counted and none waits."""
    eventually(lambda: desk(app), {"served": count, "tickets that wait": 0}, within=SOON, when=when, hint=hint)


def old_image(field="shop"):
    return f"{OLD}{field}:{random.randint(1, 99)}"


@check(points=2, section="read-change-write")
def test_tickets_are_served(operator, namespace):
    """Tickets are taken away and counted; every other annotation stays."""
    app = namespace.webapp()
    note = {"cost.example/centre": namespace.new_name(), f"my-{TICKET}1": "no ticket"}
    theirs = {"labels": {"team": "blue"}, "finalizers": ["backup.example/wait"]}
    namespace.patch("WebApp", app.name, {"metadata": {"annotations": note, **theirs}})
    count = random.randint(2, 5)
    put_tickets(app, count)
    operator.start()
    served(app, count, when=f"a WebApp had {count} tickets", hint="serve_tickets() removes each and counts each.")
    more = random.randint(1, 3)
    put_tickets(app, more)
    served(app, count + more, when=f"{more} more tickets came", hint="Add to the number that is there.")
    for times in (1, 2):
        annotate(app, {f"{TICKET}twice": "waiting"})
        served(
            app,
            count + more + times,
            when=f"the ticket {TICKET}twice was put on the WebApp, the {'first' if times == 1 else 'second'} time",
            hint="A ticket is an annotation that exists now. Remove it and count it, whatever you served before.",
        )
    metadata = app.now()["metadata"]
    expect(
        {key: annotations(app).get(key) for key in note} | {key: metadata.get(key) for key in theirs},
        note | theirs,
        when="tickets were served on a WebApp with annotations, a label and a finalizer of others",
        hint="Write back what you read, with your change in it. A PUT of less removes the rest.",
    )
    namespace.patch("WebApp", app.name, {"metadata": {"finalizers": []}})


@check(points=2, section="read-change-write")
def test_images_are_migrated(operator, namespace):
    """Images of the old registry are rewritten, in both fields; nothing else of the spec is touched."""
    sidecar, elsewhere = old_image("logger"), f"mirror.example/{OLD}shop:1"
    moved = namespace.webapp(image=old_image(), sidecar=sidecar, labels={"a": "b"})
    kept = [namespace.webapp(image=image) for image in (elsewhere, OLD.replace("/", ":5000/shop:1"))]
    operator.start()
    want = moved.spec | {
        "image": NEW + moved.spec["image"].removeprefix(OLD),
        "sidecar": NEW + sidecar.removeprefix(OLD),
    }
    eventually(
        lambda: moved.now()["spec"],
        want,  # in the usual time, not soon: the operator has just been started
        when="a WebApp named the old registry in image and sidecar",
        hint="migrate_images() replaces the beginning of the name, and only that.",
    )
    operator.settle()
    for each in kept:
        expect(
            each.now()["spec"],
            each.spec,
            when=f"another WebApp had the image {each.spec['image']}",
            hint=f"It doesn't begin with {OLD}",
        )
    again = old_image(f"mirror/{OLD}shop")
    moved.edit(image=again)
    eventually(
        lambda: moved.now()["spec"]["image"],
        NEW + again.removeprefix(OLD),
        within=SOON,
        when=f"its user set the image to {again}",
        hint="In each pass, look at what the spec says now, and replace the beginning of the name once.",
    )


@check(points=2, section="read-change-write")
def test_at_rest_nothing_is_written(operator, namespace):
    """Nothing is written when there is no ticket and no old image, however often the WebApp is touched."""
    plain, noted = namespace.webapp(), namespace.webapp()
    annotate(noted, {"cost.example/centre": "blue"})
    app = namespace.webapp(image=old_image())
    put_tickets(app, 1)
    operator.start()
    served(app, 1, when="a ticket was put on a WebApp", hint="First of all, tickets are served.")
    operator.settle()
    for idle, had in ((plain, "neither annotations nor an old image"), (noted, "an annotation, and no ticket")):
        expect(
            [str(each) for each in operator.recorder.writes("WebApp", name=idle.name)],
            [],
            when=f"a WebApp had {had}; the writes of it",
            hint="If the change leaves the object as it was, there is nothing to write: not even an empty map or a 0.",
        )
    attacks.zero_writes_at_rest(
        operator, app, hint="If the change leaves the object as it was, there is nothing to write."
    )
    app.delete()
    gone_without_retries(operator, app)


@check(points=2, section="409-means-read-again", incident="Azure/azure-service-operator#2719")
def test_a_refused_write_is_made_again(operator, namespace, recorder):
    """A write refused with 409 is made again, and what it counts is counted once."""
    app = namespace.webapp(image=old_image())
    count = random.randint(2, 4)
    put_tickets(app, count)
    refused = recorder.fail(writes("WebApp", name=app.name), status=409, times=3)
    operator.start()
    when = f"a WebApp had {count} tickets, and three writes were refused with 409"
    hint = (
        "A 409 means that nothing was written. If you ignore it, you wait for an event that does not come. Read, "
        "change and write again."
    )
    served(app, count, when=when, hint=hint)
    expect(len(refused.fired), 3, when=when, hint=hint)
    want = NEW + app.spec["image"].removeprefix(OLD)
    eventually(lambda: app.now()["spec"]["image"], want, within=SOON, when=when, hint=hint)


@check(points=3, section="apply-the-change-again", incident="RamenDR/ramen#2338")
def test_another_desk_counts_between_read_and_write(operator, namespace, recorder):
    """What others do between the operator's read and its write counts: another desk's work, new tickets, lost ones."""
    app = namespace.webapp()
    operator.start()
    operator.settle()
    mine, theirs, late = random.randint(2, 4), 3, 2

    given_back = TICKET + "given-back"

    def meanwhile():
        count_elsewhere(app)
        annotate(app, {given_back: None})
        if len(faster.fired) <= late:
            put_tickets(app, 1)

    faster = recorder.meanwhile(writes("WebApp", name=app.name), meanwhile, times=theirs)
    annotate(app, {given_back: "", **{TICKET + secrets.token_hex(4): "" for _ in range(mine)}})
    served(
        app,
        mine + late + theirs,
        when=f"{mine + 1} tickets were put on a WebApp, one was taken back and {late} more came while the operator was "
        f"writing, and each of its first {theirs} writes was preceded by another writer who added 1 to the counter",
        hint="After a 409 the object that you hold is out of date. Read it again and make the change again on what you "
        "find; a new resourceVersion on the old object only hides what you undo.",
    )


@check(points=3, section="when-a-patch-needs-no-version")
def test_a_user_edits_the_spec_between_read_and_write(operator, namespace, recorder):
    """An edit of the spec between the operator's read and its write stays, even one of the fields it migrates."""
    newer, elsewhere = old_image("newer"), f"other.example/shop:{random.randint(1, 99)}"
    hint = "The new image follows from the one that you have read. If that image is gone, so is your reason to write."
    operator.start()
    for image, want in ((newer, NEW + newer.removeprefix(OLD)), (elsewhere, elsewhere)):
        app = namespace.webapp(replicas=1)
        user = recorder.meanwhile(
            writes("WebApp", name=app.name), lambda app=app, image=image: app.edit(image=image, replicas=7)
        )
        first = old_image("first")
        app.edit(image=first)
        eventually(lambda user=user: user.fired, when=f"the image was set to {first}", expected="a write", hint=hint)
        eventually(
            lambda app=app: {key: app.now()["spec"][key] for key in ("image", "replicas")},
            {"image": want, "replicas": 7},
            within=SOON,
            when=f"the image was {first}, and its user set image={image} and replicas=7 while the operator was writing",
            hint=hint,
        )
        operator.settle()
        expect(
            app.now()["spec"]["image"],
            want,
            when=f"the image was {first}, then {image}, and the operator came to rest",
            hint=hint,
        )
    expect(
        [str(each) for each in recorder.writes("WebApp", name=app.name) if each.status == 200],
        [],
        when=f"the image was {first}, and its user set image={elsewhere} while the operator was writing; what it wrote",
        hint="After a 409, compare with what you have just read, not with what you read first: there's nothing to do.",
    )
    both = namespace.webapp()
    user = recorder.meanwhile(writes("WebApp", name=both.name), lambda: both.edit(sidecar=elsewhere))
    both.edit(image=(first := old_image()), sidecar=old_image("logger"))
    when = f"image and sidecar were of the old registry, and its user set sidecar={elsewhere} while the operator wrote"
    eventually(lambda: user.fired, when=when, expected="a write", hint=hint)
    eventually(
        lambda: {key: both.now()["spec"][key] for key in ("image", "sidecar")},
        {"image": NEW + first.removeprefix(OLD), "sidecar": elsewhere},
        within=SOON,
        when=when,
        hint="Each field that you write follows from what you have read: so none of them may have changed since.",
    )


@check(points=3, section="apply-the-change-again")
def test_two_writers_count_together(operator, namespace):
    """Two writers count at the same time, N each; the sum is 2N."""
    app = namespace.webapp()
    operator.start()
    number = random.randint(20, 30)
    other = threading.Thread(target=count_elsewhere, args=(app, number), daemon=True)
    other.start()
    for _ in range(number):
        put_tickets(app, 1)
    other.join()
    served(
        app,
        2 * number,
        when=f"{number} tickets came one by one, while another desk added 1 to the same counter {number} times",
        hint="Each write must say which version it was made from, so that the server can refuse it.",
    )


@check(points=2, section="one-write")
def test_a_crash_counts_nothing_twice(operator, namespace):
    """Killed after any of its writes and started again, it has counted each ticket once."""

    attacks.crash_after_every_write(
        operator,
        make=lambda: with_tickets(namespace),
        wrong=wrong,
        within=SOON,
        hint="Taking the ticket and counting it must be one write: a crash fits between two.",
    )


@check(points=2, section="one-write", timeout=60)
def test_a_lost_answer_counts_nothing_twice(operator, namespace, recorder):
    """When a request fails, or the answer to a write is lost, each ticket is still counted once."""
    attacks.fault_at_every_request(
        operator,
        make=lambda name=None, **spec: with_tickets(namespace, name, **spec),
        wrong=wrong,
        children=(),
        hint="If the answer is lost, you cannot know whether it was done; after a 409 it wasn't. Either way, let the "
        "error end the pass, and read again: the tickets that are still there are the ones to count.",
    )
    app = with_tickets(namespace, tickets=0, image="registry.example/shop:1")
    for status in (503, 504):
        operator.settle()
        before = desk(app)["served"]
        recorder.fail(writes("WebApp", name=app.name), status=status)
        put_tickets(app, 2)
        served(
            app,
            before + 2,
            when=f"two tickets were put on a WebApp, and the write that served them was answered {status}, undone",
            hint="That answer doesn't say whether it was done, and no event comes if it wasn't. Let the error end the "
            "pass, and read again.",
        )


@check(points=2, section="read-change-write")
def test_namesakes_in_two_namespaces(operator, other_namespace):
    """Two WebApps with the same name in two namespaces each have their own counter."""
    attacks.namesakes_are_independent(
        operator,
        make=lambda namespace, name: with_tickets(namespace, name, tickets=3),
        wrong=wrong,
        children=(),
        edit=lambda app: app.edit(image=old_image("newer")),
    )


@check(points=3, section="how-often")
def test_retries_are_bounded(operator, namespace, recorder):
    """WebApps whose writes are always refused do not keep the operator from the others."""
    # A loop that sleeps for seconds in a worker gets to the last of four batches later than any deadline, however long.
    sick = [namespace.webapp() for _ in range(16)]
    for app in sick:
        put_tickets(app, 1)
    names = {app.name for app in sick}
    refusing = recorder.fail(writes("WebApp", where=lambda write: write.name in names), status=409, times=None)
    operator.start()
    eventually(
        lambda: {write.name for write in refusing.fired} == names,
        within=SOON,
        when=f"every write of {len(names)} WebApps was refused with 409",
        expected="a write of each",
        hint="A retry that never gives up keeps its worker forever, one that sleeps between its attempts keeps it for "
        "seconds, and there are only a few workers.",
    )
    well = namespace.webapp()
    put_tickets(well, 2)
    served(
        well,
        2,
        when=f"every write of {len(names)} WebApps was refused with 409, and another one got 2 tickets",
        hint="After a few attempts, let the Conflict out. The work queue tries again later, and waits longer each "
        "time.",
    )
    last = sick.pop()
    still = recorder.fail(writes("WebApp", name=last.name), status=409, times=None)
    refusing.remove()
    for app in sick:
        served(app, 1, when="writes were no longer refused", hint="Giving up for now must not mean giving up for good.")
    eventually(
        lambda: sum(pause >= 0.3 for pause in pauses(still.fired, until=recorder.mark())) >= 2,
        within=SOON,
        when=f"every write of {last} was still refused with 409",
        expected="attempts that get rarer: at least two pauses of 0.3 s",
        hint="The work queue's backoff is there to prevent attempt after attempt at full speed.",
        seen=lambda: f"{len(still.fired)} writes of it",
    )


@check(points=2, section="how-often")
def test_no_write_is_forced(operator, namespace, recorder):
    """After any number of refused writes, from one to eight, what another desk counted is still there."""
    apps = {refusals: namespace.webapp() for refusals in range(1, 9)}
    operator.start()
    operator.settle()
    for refusals, app in apps.items():
        recorder.meanwhile(writes("WebApp", name=app.name), lambda app=app: count_elsewhere(app), times=refusals)
    for app in apps.values():
        put_tickets(app, 1)
    for refusals, app in apps.items():
        served(
            app,
            1 + refusals,
            when=f"a WebApp got a ticket, and another desk added 1 to its counter before each of the operator's first "
            f"{refusals} writes of it",
            hint="A write that was refused many times is as out of date as any other. Never force it: raise the "
            "Conflict.",
        )
