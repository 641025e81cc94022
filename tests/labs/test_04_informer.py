"""Checks of lab 04, easiest first. Each docstring is the line that the learner reads."""

from urllib.parse import parse_qs, urlsplit

import pytest

from converge.grader import Made, check, eventually, expect, fail, never
from converge.grader.recorder import reads, watches

KIND = "WebApp"


class Followed:
    """An informer of the submission that follows the WebApps of this check, and all it told its handler."""

    def __init__(self, lab, kubeconfig, namespace, recorder):
        self.recorder = recorder
        client = lab.resolve("converge.runtime:Client")(str(kubeconfig))
        self.informer = lab.Informer(client, "converge.example/v1", KIND, str(namespace))
        self.told = []
        self.informer.add_handler(lambda request: self.told.append(request[1]))
        self.running = None

    def start(self, synced=True):
        """Run it; by default until it says that it has synced and its watch is open."""
        self.running = self.informer.run.start()
        if synced:
            eventually(
                self.has_synced,
                within=8,
                when="run() was started",
                expected="has_synced() becomes true",
                hint="relist() is the first thing that run() does; it sets `synced`.",
            )
            self.open_watch()
        return self

    def has_synced(self):
        self.still_runs()
        return self.informer.has_synced()

    def still_runs(self):
        """Say so if run() has ended, which it must not before stop()."""
        if self.running.finished(within=0):
            self.running.result()  # says what it raised, or that it is a TODO
            fail(
                when="run() was started",
                expected="it runs until stop() is called",
                got="it returned",
                hint="run() is a loop that only `stopping` ends.",
            )

    def lists(self):
        return [
            request
            for request in self.recorder.reads(KIND)
            if request.verb == "list" and "continue=" not in request.path
        ]

    def open_watch(self, after=0):
        """Wait until a watch is open that was not among the first ``after``; that watch."""

        def newest():
            self.still_runs()
            every = self.recorder.watches(KIND)[after:]
            return next((each for each in every if each.status == 200 and each.duration is None), None)

        return eventually(
            newest,
            within=8,
            when="the cache had been filled",
            expected="a watch is open",
            hint="After the list, watch; when a watch ends, open another one.",
        )

    def cache(self):
        """What a reader sees: the image of each WebApp, by name."""
        return {obj["metadata"]["name"]: obj["spec"]["image"] for obj in self.informer.list()}

    def shows(self, *apps, when, hint, within=8):
        """Wait until the cache is what the cluster has."""
        want = {app.name: app.spec["image"] for app in apps}
        eventually(self.cache, want, within=within, when=when, hint=hint)


@pytest.fixture
def followed(lab, kubeconfig, namespace, recorder):
    return Followed(lab, kubeconfig, namespace, recorder)


def version_of(request):
    return parse_qs(urlsplit(request.path).query).get("resourceVersion", [""])[0]


def collection_version(namespace):
    return namespace.client.list("converge.example/v1", KIND, str(namespace)).resource_version


@check(points=2, section="list-then-watch")
def test_it_lists_what_is_there(followed, namespace):
    """After the first list, the cache has every object that was there before."""
    apps = [namespace.webapp() for _ in range(3)]
    followed.start()
    followed.shows(
        *apps,
        when="three WebApps existed before the informer was started",
        hint="relist() puts every listed object in `objects`, under its key.",
    )
    one = Made("converge.runtime:Request", (str(namespace), apps[0].name))
    nobody = Made("converge.runtime:Request", (str(namespace), namespace.new_name()))
    found, missing = followed.informer.get(one), followed.informer.get(nobody)
    expect(
        (found or {}).get("spec"),
        apps[0].spec,
        when=f"get() was called for {apps[0].name}",
        hint="The cache keeps whole objects.",
    )
    expect(missing, None, when="get() was called for a WebApp that does not exist", hint="None, and no exception.")


@check(points=2, section="synced-before-work", incident="kubernetes-client/python#868: an informer without has_synced")
def test_synced_means_listed(followed, namespace, recorder):
    """has_synced() is false until the first list has been read, also when that list fails at first."""
    app = namespace.webapp()
    recorder.fail(reads(KIND), status=500, times=2)
    recorder.slow(reads(KIND), seconds=0.5, nth=3, times=1)
    followed.start(synced=False)

    def too_early():
        # Asked in this order, an answer that arrives in between cannot look like a lie.
        return followed.has_synced() and not recorder.wait_for(answered, 0.2)

    def answered():
        return any(request.status == 200 and request.duration is not None for request in followed.lists())

    never(
        too_early,
        until=answered,
        within=12,
        when="the first two lists were answered 500 and the third one slowly",
        expected="has_synced() is false until a list has been read",
        hint="Set `synced` after the cache has been filled, and nowhere else.",
    )
    if not answered():
        fail(
            when="the first two lists were answered 500",
            expected="the informer lists again until it works",
            got=f"{len(followed.lists())} lists in 12 s",
            hint="ApiError is raised by a failed list. Catch it in run(), wait a little, go on.",
        )
    followed.shows(app, when="the third list succeeded", hint="Fill `objects` before `synced` is set.")


@check(points=2, section="list-then-watch")
def test_it_follows_changes(followed, namespace):
    """What is created, changed or deleted afterwards is so in the cache a moment later."""
    first, second = namespace.webapp(image=namespace.images.web[0]), namespace.webapp()
    followed.start()
    third = namespace.webapp()
    followed.shows(
        first,
        second,
        third,
        when="a WebApp was created while the informer watched",
        hint="An ADDED event puts its object in the cache.",
    )
    first.edit(image=namespace.images.web[1])
    followed.shows(
        first,
        second,
        third,
        when=f"the image of {first.name} was changed",
        hint="A MODIFIED event carries the whole new object: it replaces the old one.",
    )
    second.delete()
    followed.shows(first, third, when=f"{second.name} was deleted", hint="A DELETED event removes the object.")


@check(points=2, section="keys-not-events")
def test_handlers_get_keys(followed, namespace, lab):
    """Handlers are told which object to look at: at the first list, at each change, at the deletion."""
    app = namespace.webapp(image=namespace.images.web[0])
    owners = []
    mapped = lambda obj: [[obj["metadata"]["namespace"], "owner-of-" + obj["metadata"]["name"]]]  # noqa: E731
    followed.informer.add_handler(lambda request: owners.append(request[1]), mapped)
    hint = "tell() is called for each object of the first list and for each event but bookmarks."
    followed.start()
    eventually(lambda: followed.told.count(app.name), 1, when="a WebApp existed before the first list", hint=hint)
    app.edit(image=namespace.images.web[1])
    eventually(lambda: followed.told.count(app.name), 2, when="it was changed", hint=hint)
    app.delete()
    eventually(lambda: followed.told.count(app.name), 3, when="it was deleted", hint=hint)
    eventually(
        lambda: owners,
        ["owner-of-" + app.name] * 3,
        within=3,
        when="another handler was added with keys=, a function from an object to the keys to look at",
        hint="Each handler is called with what its own `keys` says, not with the object's own key.",
    )


@check(points=2, section="keys-not-events")
def test_the_cache_is_first(lab, followed, namespace):
    """When a handler is told of a change, the cache has it already."""
    app = namespace.webapp(image=namespace.images.web[0])
    saw = []
    followed.informer.add_handler(lambda request: saw.append(followed.cache().get(request[1])))
    followed.start()
    app.edit(image=namespace.images.web[1])
    eventually(
        lambda: len(saw) >= 2,
        when="a WebApp was listed, then changed",
        expected="two calls of the handler",
        hint="tell() after each change of the cache.",
    )
    app.delete()
    eventually(
        lambda: len(saw) >= 3,
        when="it was deleted",
        expected="another call of the handler",
        hint="tell() after each change of the cache.",
    )
    expect(
        saw,
        [*namespace.images.web, None],
        when="a handler looked into the cache each time it was told: listed, changed, deleted",
        hint="First the cache, then tell(): a worker that is woken too early sees the past and is not woken again.",
    )


@check(
    points=3, section="read-only", incident="openshift/cluster-samples-operator#370: a reader changed the shared cache"
)
def test_a_reader_cannot_change_the_cache(followed, namespace, lab):
    """Whatever a reader does to an object it got, the cache stays as it is."""
    app = namespace.webapp()
    followed.start()
    request = Made("converge.runtime:Request", (str(namespace), app.name))
    lab.resolve("converge.grader.careless:careless_reader")(followed.informer, request)
    listed = [obj["spec"] for obj in followed.informer.list()]
    expect(
        [(followed.informer.get(request) or {}).get("spec"), *listed],
        [app.spec, app.spec],
        when="a reader got a WebApp from the cache and changed its spec, deep inside",
        hint="Hand out a copy, all the way down. (A copy of the outer dict shares everything below it.)",
    )


@check(points=2, section="list-then-watch", incident="kubernetes-client/python#174: every event twice")
def test_one_list_and_one_watch(followed, namespace, recorder):
    """It costs one list and one watch, which begins where the list ended; no polling."""
    apps = [namespace.webapp() for _ in range(2)]
    before = collection_version(namespace)
    followed.start()
    after = collection_version(namespace)
    for app in apps:
        app.edit(replicas=1)
        app.edit(image=namespace.images.web[1])
    followed.shows(*apps, when="two WebApps were changed twice each", hint="Follow the watch.")
    recorder.wait_quiet(0.4, 3)
    lists, opened = followed.lists(), recorder.watches(KIND)
    expect(
        (len(lists), len(opened)),
        (1, 1),
        when="the informer followed four changes",
        hint="(lists, watches): a list is needed once; a watch stays open and brings everything after it.",
    )
    begun = version_of(opened[0])
    if not begun or not int(before) <= int(begun) <= int(after):
        fail(
            when="the watch was opened after the list",
            expected=f"it begins where the list ended: resourceVersion between {before} and {after}",
            got=f"resourceVersion {begun}" if begun else "no resourceVersion",
            hint="relist() returns the version of the list. A watch from another one misses changes, or repeats them.",
        )


@check(points=2, section="when-a-watch-ends")
def test_a_cut_watch_goes_on(followed, namespace, recorder):
    """After a watch has ended, the next begins at the last version seen: nothing is missed, nothing listed again."""
    app = namespace.webapp(image=namespace.images.web[0])
    followed.start()
    seen = app.edit(replicas=1)["metadata"]["resourceVersion"]
    eventually(lambda: followed.told.count(app.name) >= 2, when="a WebApp was changed", hint="Follow the watch.")
    recorder.end_watches(KIND)
    followed.open_watch(after=1)
    app.edit(image=namespace.images.web[1])
    followed.shows(
        app,
        when="the watch was cut, and the image changed afterwards",
        hint="A watch that ends is ordinary: servers end them every few minutes. Open the next one.",
    )
    expect(len(followed.lists()), 1, when="the watch was cut once", hint="No 410, no list: the watch can go on.")
    expect(
        version_of(recorder.watches(KIND)[1]),
        seen,
        when="the watch was cut after a change had been seen",
        hint="Remember the resourceVersion of each event's object: that is where the next watch begins.",
    )


@check(points=2, section="bookmarks")
def test_bookmarks_move_the_version(followed, namespace, recorder):
    """A bookmark is not an object; it moves the version from which the next watch begins."""
    app = namespace.webapp()
    followed.start()
    elsewhere = namespace.create({"kind": "ConfigMap", "metadata": {"name": namespace.new_name()}})
    version = elsewhere["metadata"]["resourceVersion"]
    recorder.bookmark(KIND, version)
    recorder.end_watches(KIND)
    followed.open_watch(after=1)
    followed.shows(
        app,
        when="the server sent a bookmark",
        hint="A BOOKMARK has a resourceVersion and nothing else: no name, no spec. Keep it out of the cache.",
    )
    expect(
        version_of(recorder.watches(KIND)[1]),
        version,
        when="a bookmark was sent, then the watch was cut",
        hint="Ask for bookmarks (bookmarks=True), and take the version from every event, bookmarks as well.",
    )


@check(points=3, section="gone", incident="kubernetes-client/python#869: a watch that never came back")
def test_410_means_list_again(followed, namespace, recorder):
    """After 410 Gone, within the stream or as an answer, it lists again and follows on."""
    app = namespace.webapp(image=namespace.images.web[0])
    followed.start()
    opened = len(recorder.watches(KIND))
    recorder.expire_watches(KIND)
    hint = "Gone means that the version is too old to go on from: forget it, and list."
    eventually(
        lambda: len(followed.lists()),
        2,
        when="the watch said 410 Gone in its stream",
        expected="a second list",
        hint=hint,
    )
    followed.open_watch(after=opened)
    app.edit(image=namespace.images.web[1])
    followed.shows(app, when="the image was changed after the second list", hint=hint)
    recorder.fail(watches(KIND), status=410, times=1)
    recorder.end_watches(KIND)
    eventually(
        lambda: len(followed.lists()),
        3,
        when="the next watch was answered 410 Gone",
        expected="a third list",
        hint=hint,
    )
    app.edit(image=namespace.images.web[0])
    followed.shows(app, when="the image was changed after the third list", hint=hint)


@check(
    points=3,
    section="gone",
    incident="kubernetes-sigs/sig-storage-local-static-provisioner#222: a disk that could never be used again",
)
def test_a_deletion_while_away_is_seen(followed, namespace, recorder):
    """What was deleted or changed while it could not watch is seen by the next list, and told."""
    gone, changed = namespace.webapp(), namespace.webapp(image=namespace.images.web[0])
    same = namespace.webapp()
    followed.start()
    eventually(
        lambda: len(followed.told) >= 3,
        when="three WebApps were listed",
        expected="three keys told",
        hint="tell() is called for each object of the first list.",
    )
    away = recorder.fail(watches(KIND), status=503, times=None)
    recorder.end_watches(KIND)
    eventually(
        lambda: away.fired,
        when="watches were answered 503",
        expected="the informer tries to watch again",
        hint="An ApiError of a watch is no reason to give up.",
    )
    followed.told.clear()
    gone.delete()
    changed.edit(image=namespace.images.web[1])
    new = namespace.webapp()
    recorder.fail(watches(KIND), status=410, times=1)
    away.remove()
    when = "one WebApp was deleted, one changed and one created while no watch was open, and then came 410"
    followed.shows(
        changed, same, new, when=when, hint="The list is the truth: what is in the cache and not in the list is gone."
    )
    eventually(
        lambda: {gone.name, changed.name, new.name} <= set(followed.told),
        True,
        when=when,
        seen=lambda: f"told: {followed.told}",
        hint="Compare the old cache with the list: tell of what is new, what has another version, what is missing.",
    )


@check(points=1, section="keys-not-events")
def test_a_failing_handler_stops_nothing(followed, namespace):
    """A handler that raises stops neither the other handlers nor the informer."""

    def broken(request):
        raise ValueError("this handler is broken")

    informer = followed.informer
    informer.add_handler(broken)
    after = []
    informer.add_handler(lambda request: after.append(request[1]))
    app = namespace.webapp(image=namespace.images.web[0])
    followed.start()
    app.edit(image=namespace.images.web[1])
    followed.shows(
        app,
        when="one of three handlers raised at every call, and a WebApp was changed",
        hint="Catch what a handler raises, say it, and go on with the next one.",
    )
    eventually(
        lambda: after.count(app.name),
        2,
        when="the handler before it raised each time",
        hint="Each handler has a try of its own.",
    )


@check(points=1, section="when-a-watch-ends")
def test_failures_are_spaced(followed, namespace, recorder):
    """While the server refuses, it asks again, but not at once and not a hundred times a second."""
    namespace.webapp()
    followed.start()
    refused = recorder.fail(watches(KIND), status=500, times=None)
    recorder.end_watches(KIND)
    recorder.wait_for(lambda: len(refused.fired) >= 40, 1.0)
    if len(refused.fired) >= 40:
        first, last = refused.fired[0].time, refused.fired[39].time
        fail(
            when="every watch was answered 500",
            expected="a pause between two attempts",
            got=f"40 attempts in {last - first:.2f} s",
            hint="`stopping.wait(seconds)` is a pause that stop() can end.",
        )
    eventually(
        lambda: refused.fired,
        when="every watch was answered 500",
        expected="at least one more attempt",
        hint="An error is no reason to give up.",
    )


@check(points=1, section="stopping")
def test_stop_ends_it(followed, namespace, recorder):
    """stop() ends run() within a second, also while it waits for an event, and closes the watch."""
    followed.start()
    app = namespace.webapp()  # told by the watch: so it is in the informer's hands, and not only on its way there
    followed.shows(app, when="a WebApp was created", hint="apply() puts what an event tells into the cache.")
    followed.informer.stop()
    if not followed.running.finished(within=1.5):
        fail(
            when="stop() was called while the informer waited for an event",
            expected="run() returns within a second",
            got="it still ran 1.5 s later",
            hint="Keep the open watch in `self.watch`, so that stop() can close it.",
        )
    eventually(
        lambda: all(each.duration is not None for each in recorder.watches(KIND)),
        True,
        when="stop() was called",
        expected="no watch stays open",
        hint="stop() closes `self.watch`.",
    )
