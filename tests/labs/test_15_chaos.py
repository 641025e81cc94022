"""Checks of lab 15. Each bug has two checks, or one, that it alone makes fail: whoever mends one earns its points."""

from converge.grader import attacks, check, eventually, expect
from converge.grader.oracles import wrong_webapp
from converge.grader.recorder import writes

CHILDREN = ("Deployment", "Service")
FIELDS = ("image", "replicas", "port", "labels", "sidecar")
SOON = 5.0  # seconds; a right operator needs a fraction of them, a wrong one keeps its author waiting


def wrong(app):
    """What is not as the spec says, in words; nothing when all is."""
    return wrong_webapp(app) or wrong_status(app)


def wrong_status(app):
    condition, available = app.condition("Available") or {}, app.status.get("availableReplicas", 0)
    if condition.get("status") == "True" and available == app.spec["replicas"]:
        return ""
    return f"status: Available is {condition.get('status')}, availableReplicas is {available}"


def converged(app, *, when, hint, within=SOON):
    """Wait until all is as the spec says."""
    eventually(lambda: wrong(app), "", within=within, when=when, hint=hint)


def running(operator, namespace, **spec):
    """An operator and a WebApp with which all is well; with one Pod, since rollouts take time."""
    operator.start()
    app = namespace.webapp(**{"replicas": 1, **spec})
    converged(app, when="a WebApp was created", hint="What worked on a good day has to go on working.")
    operator.settle()
    return app


def one_pod(namespace):
    return lambda **spec: namespace.webapp(**{"replicas": 1, **spec})


@check(points=2, section="states-between-two-writes", incident="rabbitmq/cluster-operator#782", timeout=60)
def test_killed_after_each_write(operator, namespace):
    """Killed right after any of its writes and started again, it gets there."""
    attacks.crash_after_every_write(
        operator,
        make=one_pod(namespace),
        wrong=wrong,
        within=SOON,
        hint="The next life begins in the middle. Which child is made only in the same pass as another one?",
    )


@check(points=2, section="states-between-two-writes", incident="rabbitmq/cluster-operator#782", timeout=60)
def test_a_child_that_is_missing_alone_is_made(operator, namespace):
    """Each child that is missing comes back, whatever the other is like, and edits by hand are undone."""
    app = running(operator, namespace)

    def uid(kind):
        return (namespace.get(kind, app.name) or {"metadata": {"uid": None}})["metadata"]["uid"]

    for kind in CHILDREN:
        before = uid(kind)
        namespace.delete(kind, app.name)
        eventually(
            lambda kind=kind, before=before: uid(kind) not in (None, before),
            within=SOON,
            when=f"the {kind} was deleted, and all else was left as it is",
            expected=f"a new {kind}",
            hint="A state between two writes can be reached by other ways than a crash. Look at each child by itself.",
        )
    converged(app, when="the children were deleted, one after the other", hint="Make them as the spec says.")
    attacks.heals_drift(
        operator,
        app,
        wrong,
        drifts={"replicas": ("Deployment", app.name, {"spec": {"replicas": 2}})},
        within=SOON,
    )


@check(points=2, section="events-that-nobody-saw", incident="instaclustr/cassandra-operator#398", timeout=60)
def test_changed_while_it_was_down(operator, namespace):
    """A sidecar that was taken out of the spec while the operator was down goes at its start."""
    app = running(operator, namespace, sidecar=namespace.images.web[0])
    attacks.changes_while_down(
        operator,
        change=lambda: app.edit(sidecar=None, image=namespace.images.web[1]),
        wrong=lambda: wrong(app),
        what="the sidecar was taken out of the spec, and the image was changed,",
        within=SOON,
        hint="Nobody was there to see the change. What does the operator remember, and from when?",
    )
    attacks.zero_writes_at_rest(operator, app, hint="The mend costs too much: nothing has changed.")


@check(points=2, section="events-that-nobody-saw", incident="instaclustr/cassandra-operator#410", timeout=60)
def test_killed_before_it_has_acted(operator, namespace, recorder):
    """Killed when it has seen a change and has not written yet, it makes up for it."""
    app = running(operator, namespace, sidecar=namespace.images.web[0])
    killed = recorder.kill_before(writes("Deployment"), kill=operator.crash)
    app.edit(sidecar=None)
    eventually(
        lambda: killed.fired and not operator.running,
        when="the sidecar was taken out of the spec",
        expected="the operator changes the Deployment",
        hint="What worked on a good day has to go on working.",
    )
    operator.start()
    converged(
        app,
        when="the sidecar was taken out of the spec; the operator was killed before its first write; it was started",
        hint="It saw the change, and that knowledge died with it. Find out from what is in the cluster.",
    )
    attacks.crash_before_every_write(operator, make=lambda: namespace.webapp(replicas=0), wrong=wrong)


@check(points=2, section="paths-through-the-specs", incident="minio/operator#2038", timeout=60)
def test_what_is_taken_out_of_the_spec_goes(operator, namespace):
    """A label that is taken out of the spec goes, and so does a port that was changed; what others have added stays."""
    app = running(operator, namespace, labels={"keep": "a", "drop": "b"}, port=8080)
    app.edit(labels={"drop": None}, port=9090)
    hint = "A patch that names what you want says nothing of what you no longer want."
    converged(app, when="the port was changed in the spec", hint=hint)
    operator.settle()
    left = {
        kind: sorted({"drop"} & namespace.get(kind, app.name)["metadata"].get("labels", {}).keys()) for kind in CHILDREN
    }
    expect(
        left,
        {"Deployment": [], "Service": []},
        when="the label `drop` was taken out of the spec",
        hint=hint,
    )
    attacks.foreign_fields_survive(
        operator,
        app,
        child=("Deployment", app.name),
        change=lambda: app.edit(labels={"keep": "c"}),
        hint="Remove what you have put there, and only that.",
    )


@check(points=2, section="lost-updates", incident="cloudnative-pg/cloudnative-pg#6317", timeout=60)
def test_an_old_copy_is_not_written_back(operator, namespace, second_writer):
    """A condition of somebody else's, which the operator has not heard of yet, stays."""
    app = running(operator, namespace)
    attacks.late_watch_loses_nothing(operator, app, second_writer, change=lambda: app.edit(replicas=2), wrong=wrong)


@check(points=2, section="lost-updates", incident="cloudnative-pg/cloudnative-pg#6328", timeout=60)
def test_a_write_in_between_is_not_lost(operator, namespace, second_writer):
    """A condition that somebody sets between the operator's read and its write stays."""
    app = running(operator, namespace)
    attacks.write_in_between_is_not_lost(operator, app, second_writer, change=lambda: app.edit(replicas=2), wrong=wrong)


@check(points=3, section="reads-that-are-old", incident="pravega/zookeeper-operator#312", timeout=60)
def test_an_old_cache_destroys_nothing(operator, namespace):
    """Started with an old cache, in which a running WebApp is missing or its namesake is dying, it does no harm."""
    app = attacks.old_cache_destroys_nothing(operator, make=one_pod(namespace), wrong=wrong, children=CHILDREN)
    attacks.deletion_leaves_nothing(operator, app, children=CHILDREN)
    attacks.old_deletion_destroys_nothing(operator, make=one_pod(namespace), wrong=wrong, children=CHILDREN)
    attacks.two_objects_are_independent(operator, make=one_pod(namespace), wrong=wrong, children=CHILDREN)


@check(points=3, section="paths-through-the-specs", incident="minio/operator#2038", timeout=90)
def test_every_path_ends_where_a_fresh_start_ends(operator, namespace):
    """However the spec came about, the children are those of a WebApp that had it from the start."""
    operator.start()
    attacks.random_walks(
        operator,
        make=one_pod(namespace),
        fields=FIELDS,
        children=CHILDREN,
        hint="Compare the two: what is left over was asked for by an older spec.",
    )
