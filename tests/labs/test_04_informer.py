"""Checks of lab 04, easiest first. Each docstring is the line that the learner reads."""

from urllib.parse import parse_qs, urlsplit

import pytest

from converge.grader import NewObject, check, eventually, expect, fail, never
from converge.operators.webapp import WEBAPP
from converge.recorder import reads, watches

KIND = "WebApp"


class Followed:
    """An informer of the submission that follows the WebApps of this check, and every key that its handler got."""

    def __init__(self, lab, kubeconfig, namespace, recorder, longer_after=None):
        self.recorder = recorder
        if longer_after is None:
            client = lab.resolve("converge.runtime:Client")(str(kubeconfig))
        else:  # versions gain a digit after this one
            before_longer = lab.resolve("converge.grader.library.doubles:client_before_longer_versions")
            client = before_longer(str(kubeconfig), longer_after)
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

    def has_synced(self, when="run() was started"):
        self.still_runs(when)
        return self.informer.has_synced()

    def still_runs(self, when="run() was started"):
        """Say so if run() has ended, which it must not before stop()."""
        if self.running.finished(within=0):
            self.running.result()  # says what it raised, or that it is a TODO
            fail(
                when=when,
                expected="run() runs until stop() is called",
                got="it returned",
                hint="run() is a loop that only `stopping` ends, whatever the server answers.",
            )

    def lists(self):
        return [
            request
            for request in self.recorder.reads(KIND)
            if request.verb == "list" and "continue=" not in request.path
        ]

    def open_watch(self, after=0, when="the cache had been filled"):
        """Wait until a watch is open that was not among the first ``after``; that watch."""

        def newest():
            self.still_runs(when)
            every = self.recorder.watches(KIND)[after:]
            return next((each for each in every if each.status == 200 and each.duration is None), None)

        return eventually(
            newest,
            within=8,
            when=when,
            expected="a watch is open",
            hint="After the list, watch; when a watch ends, open another one.",
        )

    def cache(self):
        """What a reader sees: the image of each WebApp, by name."""
        return {obj["metadata"]["name"]: obj["spec"]["image"] for obj in self.informer.list()}

    def hears(self, app, times, when, hint, names=None):
        """Wait until the handler (or the one that fills `names`) has been called that often with a WebApp's key."""
        names = self.told if names is None else names
        eventually(lambda: names.count(app.name), times, within=8, when=when, hint=hint)

    def ends(self, when, hint):
        """run() returns soon after stop(), and leaves no watch open."""
        if not self.running.finished(within=1.5):
            fail(when=when, expected="run() returns within a second", got="it still ran 1.5 s later", hint=hint)
        self.running.result()
        eventually(
            lambda: [each for each in self.recorder.watches(KIND) if each.duration is None],
            [],
            when=when,
            expected="no watch stays open",
            hint="stop() closes `self.watch`. If run() opens another watch after that, run() has to close it.",
        )

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
    one = NewObject("converge.runtime:Request", (str(namespace), apps[0].name))
    nobody = NewObject("converge.runtime:Request", (str(namespace), namespace.new_name()))
    found, missing = followed.informer.get(one), followed.informer.get(nobody)
    expect(
        (found or {}).get("spec"),
        apps[0].spec,
        when=f"get() was called for {apps[0].name}",
        hint="The cache keeps whole objects.",
    )
    expect(missing, None, when="get() was called for a WebApp that does not exist", hint="None, without an exception.")


@check(points=2, section="synced-before-work", incident="maistra/xns-informer#21: work began on an empty cache")
def test_synced_means_listed(followed, namespace, recorder):
    """has_synced() is false until the first list has been read, even when lists are refused at first."""
    app = namespace.webapp()
    refusals = (
        "the first list was answered 500, the second 403, the third 404 page not found (UnknownKind: nobody has "
        "installed the CRD yet), the fourth 407 by a proxy on the way (an ApiError that has no class of its own)"
    )
    recorder.fail(reads(KIND), status=500, nth=1)
    recorder.fail(reads(KIND), status=403, nth=2)
    recorder.fail(reads(KIND), status=404, reason="", nth=3)
    recorder.fail(reads(KIND), status=407, nth=4)
    recorder.slow(reads(KIND), seconds=0.5, nth=5, times=1)
    followed.start(synced=False)

    def too_early():
        # Asked in this order, an answer that arrives in between cannot look like a lie.
        return followed.has_synced(refusals) and not recorder.wait_for(answered, 0.2)

    def answered():
        return any(request.status == 200 and request.duration is not None for request in followed.lists())

    never(
        too_early,
        until=answered,
        within=12,
        when=f"{refusals}, and the fifth one slowly",
        expected="has_synced() is false until a list has been read",
        hint="Set `synced` after the cache has been filled, and nowhere else.",
    )
    if not answered():
        fail(
            when=refusals,
            expected="the informer lists again until it works",
            got=f"{len(followed.lists())} lists in 12 s",
            hint="A refused list raises an ApiError, whatever the reason. Catch it in run(), wait a little, go on.",
        )
    followed.shows(app, when="the fifth list succeeded", hint="Fill `objects` before `synced` is set.")


@check(points=2, section="list-then-watch")
def test_it_follows_changes(lab, kubeconfig, namespace, recorder):
    """Objects created, changed or deleted later show up that way in the cache a moment after."""
    first, second = namespace.webapp(image=namespace.images.web[0]), namespace.webapp()
    followed = Followed(lab, kubeconfig, namespace, recorder, longer_after=collection_version(namespace))
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
        hint="A MODIFIED event carries the whole new object: it replaces the old one, whatever their versions are. "
        "(Here the new version has a digit more.)",
    )
    request = NewObject("converge.runtime:Request", (str(namespace), third.name))

    def lasting():
        obj = followed.informer.get(request) or {}
        return {"labels": obj.get("metadata", {}).get("labels"), "status": obj.get("status")}

    for labels, status in (({"team": "shop"}, {"availableReplicas": 1}), (None, None)):
        namespace.patch(KIND, third.name, {"metadata": {"labels": labels}})
        namespace.patch(KIND, third.name, {"status": status}, subresource="status")
        eventually(
            lasting,
            {"labels": labels, "status": status},
            within=8,
            when=f"labels and status of {third.name} were " + ("set" if labels else "set, and then removed altogether"),
            hint="A MODIFIED event carries the whole new object, which takes the place of the old one. What it lacks "
            "is gone: don't merge it into what you had.",
        )
    second.delete()
    followed.shows(first, third, when=f"{second.name} was deleted", hint="A DELETED event removes the object.")


@check(points=2, section="keys-not-events")
def test_handlers_get_keys(followed, namespace, lab):
    """Handlers get the key of each object: at the first list, at each change, at the deletion."""
    app = namespace.webapp(image=namespace.images.web[0])
    nobody, owners, last, images = [], [], [], []

    def no_owner(obj):
        images.append(obj["spec"]["image"])
        return []

    def two_owners(obj):
        namespace, name = obj["metadata"]["namespace"], obj["metadata"]["name"]
        return [NewObject("converge.runtime:Request", (namespace, each + name)) for each in ("first-", "second-")]

    followed.informer.add_handler(lambda request: nobody.append(request[1]), no_owner)
    followed.informer.add_handler(lambda request: owners.append(request[1]), two_owners)
    followed.informer.add_handler(lambda request: last.append(request[1]))
    hint = "tell() is called for each object of the first list and for each event but bookmarks."
    followed.start()
    followed.hears(app, 1, when="a WebApp existed before the first list", hint=hint)
    app.edit(image=namespace.images.web[1])
    followed.hears(app, 2, when="it was changed", hint=hint)
    app.delete()
    followed.hears(app, 3, when="it was deleted", hint=hint)
    followed.hears(
        app,
        3,
        names=last,
        when="four handlers were added, and a WebApp was listed, changed, deleted",
        hint="Call every handler.",
    )
    for names, found in ((nobody, []), (owners, ["first-" + app.name, "second-" + app.name])):
        eventually(
            lambda names=names: [names[:2], len(names)],
            [found, 3 * len(found)],
            when=f"a handler was added with `keys` that finds {len(found)} keys, and a WebApp was listed, changed and "
            "deleted (the first names that the handler got, and how many in all)",
            hint="Each handler is called with every key that its own `keys` finds, and not with the object's own key.",
        )
    old, new = namespace.images.web
    eventually(
        lambda: images,
        [old, new, new],
        when="a WebApp was listed, its image was changed, and it was deleted; a function of `keys` noted the image of "
        "each object that it got",
        hint="`keys` gets the whole object: the new one after a change, and the last one that was there after a "
        "deletion.",
    )


@check(points=2, section="keys-not-events")
def test_the_cache_is_first(lab, followed, namespace):
    """When a handler is called, the cache already has the change."""
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
        when="a handler looked into the cache each time it was called: listed, changed, deleted",
        hint="First the cache, then tell(): a worker that is woken too early sees the past and is not woken again.",
    )


@check(
    points=3, section="read-only", incident="openshift/cluster-samples-operator#370: a reader changed the shared cache"
)
def test_a_reader_cannot_change_the_cache(followed, namespace, lab):
    """Whatever a reader does to an object it got, the cache stays as it is."""
    app = namespace.webapp(labels={"team": "shop"})
    finalizers = ["backup.example/wait", "audit.example/wait"]
    namespace.patch("WebApp", app.name, {"metadata": {"finalizers": finalizers}})
    followed.start()
    request = NewObject("converge.runtime:Request", (str(namespace), app.name))
    for got in ("get", "list"):
        lab.resolve("converge.grader.library.doubles:change_cached_object")(followed.informer, request, got)
        found = [followed.informer.get(request) or {}, *followed.informer.list()]
        expect(
            [[each.get("spec"), each.get("metadata", {}).get("finalizers")] for each in found],
            [[app.spec, finalizers]] * 2,
            when=f"a reader got a WebApp from the cache with {got}(), and changed its spec, the labels in the spec and "
            "the list of its finalizers",
            hint="Hand out a copy, all the way down, lists too. (A copy of the outer dict shares everything below it, "
            "and one of two levels shares everything below those.)",
        )
    namespace.patch("WebApp", app.name, {"metadata": {"finalizers": []}})


@check(points=2, section="list-then-watch", incident="kubernetes-client/python#819: a watch replayed the past")
def test_one_list_and_one_watch(followed, namespace, recorder):
    """It costs one list and one watch, which starts where the list ended; no polling."""
    apps = [namespace.webapp() for _ in range(2)]
    # Something else happens as well, so that the version of the list isn't that of its newest object.
    namespace.create({"kind": "ConfigMap", "metadata": {"name": namespace.new_name()}})
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
        hint="(lists, watches): one list is enough; the watch stays open and brings everything after it.",
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
def test_a_cut_watch_goes_on(lab, kubeconfig, followed, namespace, recorder):
    """After a watch ends, the next one starts at the last version seen: nothing is missed, nothing listed again."""
    app, other = namespace.webapp(image=namespace.images.web[0]), namespace.webapp()
    followed.start()
    seen = app.edit(replicas=1)["metadata"]["resourceVersion"]
    eventually(lambda: followed.told.count(app.name) >= 2, when="a WebApp was changed", hint="Follow the watch.")
    recorder.end_watches(KIND)
    followed.open_watch(after=1)
    app.edit(image=namespace.images.web[1])
    followed.shows(
        app,
        other,
        when="the watch was cut, and the image changed afterwards",
        hint="Watches end all the time: servers and proxies close them. Open the next one.",
    )
    expect(
        len(followed.lists()),
        1,
        when="the watch was cut once",
        hint="No 410, no list: the next watch can start at the last version you saw.",
    )
    expect(
        version_of(recorder.watches(KIND)[1]),
        seen,
        when="the watch was cut after a change had been seen",
        hint="Remember the resourceVersion of every event's object, bookmarks included: the next watch starts there.",
    )
    other.delete()
    followed.hears(other, 2, when="a WebApp was listed, then deleted", hint="Pass on a DELETED event as well.")
    deleted = recorder.delivered(KIND, name=other.name, type="DELETED")[-1].resource_version
    opened = len(recorder.watches(KIND))
    recorder.fail_watches(KIND)
    begun = version_of(followed.open_watch(after=opened))
    if not begun or int(begun) < int(deleted):
        fail(
            when="a WebApp was deleted, and after its DELETED event had been seen, the watch ended with an ERROR event "
            "that said 500",
            expected=f"the next watch begins at the deletion: resourceVersion {deleted}",
            got=f"resourceVersion {begun}" if begun else "no resourceVersion",
            hint="The object in a DELETED event has the version of the deletion. A watch from an older one brings the "
            "deletion a second time. Keep the version of each event as it comes: a watch may also end with an "
            "exception.",
        )
    expect(
        len(followed.lists()),
        1,
        when="the watch was cut once, and ended with an ERROR event that said 500 once",
        hint="Only Gone takes the version away, wherever the error comes from. After any other one, watch from where "
        "you were.",
    )
    opened = len(recorder.watches(KIND))
    for nth, status in enumerate((400, 409, 407), start=1):
        recorder.fail(watches(KIND), status=status, nth=nth)
    recorder.end_watches(KIND)
    when = "the watch was cut, and the next ones were answered 400, 409 and 407"
    followed.open_watch(after=opened, when=when)
    app.edit(image=namespace.images.web[0])
    followed.shows(app, when=f"{when}; then the image was changed", hint="Keep asking, whatever the reason was.")
    followed.informer.stop()
    cut_again_and_again(lab, Followed(lab, kubeconfig, namespace, recorder).start(), namespace)


def cut_again_and_again(lab, followed, namespace):
    """Nothing changes, and the watch is cut every ten minutes: it costs no list, and the pauses don't grow."""
    hurried = lab.resolve("converge.grader.library.doubles:InstantSleep")()
    recorder, listed, pauses = followed.recorder, len(followed.lists()), []
    for number in range(12):
        opened = len(recorder.watches(KIND))
        hurried.oversleep(600)
        if number > 1:  # two have brought nothing; more of that, in no time, may well be taken for a failure
            recorder.bookmark(KIND, collection_version(namespace))
        before = hurried.waited
        recorder.end_watches(KIND)
        followed.open_watch(after=opened)
        pauses.append(hurried.waited - before)
    when = f"no WebApp changed for two hours, and the watch was cut every ten minutes, {len(pauses)} times"
    expect(
        len(followed.lists()) - listed,
        0,
        when=when,
        expected="no list",
        hint="A watch that brought nothing was a good one: nothing has changed. The next one starts where it did.",
    )
    if min(pauses[-3:]) > max(5.0, 5 * max(pauses[:3])):
        fail(
            when=when,
            expected="a short pause before each new watch",
            got="pauses of " + ", ".join(f"{pause:.3g}" for pause in pauses) + " s",
            hint="A watch that ends isn't an error, and one that could be opened shows that the server is well: the "
            "next pause is a short one again. Until then the cache is wrong.",
        )


@check(points=2, section="bookmarks")
def test_bookmarks_move_the_version(followed, namespace, recorder):
    """A bookmark is not an object; it moves the version from which the next watch starts."""
    app = namespace.webapp()
    told = []
    followed.informer.add_handler(lambda request: None, lambda obj: told.append(obj["metadata"].get("name")) or [])
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
    expect(
        told,
        [app.name],
        when="a WebApp was listed, and a bookmark was sent; `keys` of a handler noted the name of each object",
        hint="A bookmark isn't an object, and nothing has changed: there's nobody to tell.",
    )


@check(points=3, section="gone", incident="Yelp/task_processing#223: stuck restarting a watch from an old version")
def test_410_means_list_again(followed, namespace, recorder):
    """After 410 Gone, within the stream or as an answer, it lists again and goes on watching."""
    app = namespace.webapp(image=namespace.images.web[0])
    followed.start()
    opened = len(recorder.watches(KIND))
    recorder.expire_watches(KIND)
    hint = "Gone means that the version is too old to go on from. Forget the version, and list."
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
    recorder.fail(watches(KIND), status=410, times=1)
    recorder.fail(reads(KIND), status=500, times=1)
    recorder.end_watches(KIND)
    eventually(
        lambda: len([each for each in followed.lists() if each.status == 200]),
        4,
        when="the next watch was answered 410 Gone, and the list after it 500",
        expected="one more list that succeeds",
        hint="A list after Gone can fail like any other. Let the same except catch it: pause, and try again.",
    )
    app.edit(image=namespace.images.web[1])
    followed.shows(app, when="the image was changed after the list that succeeded", hint=hint)


@check(
    points=3,
    section="gone",
    incident="kubernetes-sigs/sig-storage-local-static-provisioner#222: a disk that could never be used again",
)
def test_a_deletion_while_away_is_seen(lab, kubeconfig, namespace, recorder):
    """The next list finds what was deleted or changed while it could not watch, and handlers are called."""
    gone, changed = namespace.webapp(), namespace.webapp(image=namespace.images.web[0])
    labelled, same = namespace.webapp(), namespace.webapp()
    followed = Followed(lab, kubeconfig, namespace, recorder, longer_after=collection_version(namespace))
    looked = []  # what a worker that starts at once finds in the cache
    followed.informer.add_handler(lambda request: looked.append((request[1], followed.cache().get(request[1]))))
    given = []  # what `keys` gets to see

    def keys(obj):
        given.append((obj["metadata"]["name"], (obj.get("spec", {}).get("image"), obj["metadata"].get("labels"))))
        return []

    followed.informer.add_handler(lambda request: None, keys)
    followed.start()
    eventually(
        lambda: len(looked) >= 4,
        when="four WebApps were listed",
        expected="four calls of the handler",
        hint="tell() is called for each object of the first list.",
    )
    away = recorder.fail(watches(KIND), status=503, times=None)
    recorder.end_watches(KIND)
    eventually(
        lambda: away.fired,
        when="watches were answered 503",
        expected="the informer tries to watch again",
        hint="An ApiError from a watch isn't a reason to give up.",
    )
    followed.told.clear()
    looked.clear()
    given.clear()
    gone.delete()
    changed.edit(image=namespace.images.web[1])
    namespace.client.patch(*WEBAPP, labelled.name, str(namespace), {"metadata": {"labels": {"team": "shop"}}})
    new = namespace.webapp()
    recorder.fail(watches(KIND), status=410, times=1)
    away.remove()
    when = (
        "one WebApp was deleted, one changed, one got a label and one was created while no watch was open, and then "
        "came 410"
    )
    followed.shows(
        changed,
        labelled,
        same,
        new,
        when=when,
        hint="The list is the truth: what is in the cache and not in the list is gone.",
    )
    differences = {gone.name: "deleted", changed.name: "changed", labelled.name: "labelled", new.name: "created"}
    eventually(
        lambda: ", ".join(
            f"no call for the {what} one" for name, what in differences.items() if name not in followed.told
        ),
        "",
        expected="the handlers are called for all four",
        when=when,
        seen=lambda: f"keys that the handler got: {followed.told}",
        hint="Compare the old cache with the list: tell() what is new, what has another version, and what is missing. "
        'As strings, "1000" is less than "999".',
    )
    eventually(
        lambda: len({name for name, _ in looked}) >= len(differences), when=when, expected="every handler is called"
    )
    expect(
        {differences[name]: image for name, image in looked if name in differences},
        {
            "deleted": None,
            "changed": changed.spec["image"],
            "labelled": labelled.spec["image"],
            "created": new.spec["image"],
        },
        when=f"{when}; a handler looked into the cache for the image of the WebApp that it was called with",
        hint="First the whole cache, then tell(), also for what is missing from the list: a worker that is woken too "
        "early still finds the deleted object, and isn't woken again.",
    )
    eventually(
        lambda: len({name for name, _ in given}) >= len(differences), when=when, expected="every `keys` is called"
    )
    expect(
        {differences[name]: seen for name, seen in given if name in differences},
        {
            "deleted": (gone.spec["image"], None),
            "changed": (changed.spec["image"], None),
            "labelled": (labelled.spec["image"], {"team": "shop"}),
            "created": (new.spec["image"], None),
        },
        when=f"{when}; a function of `keys` noted image and labels of each object that it got",
        hint="`keys` gets the whole object, also of one that is gone: its last state is in the old cache. In lesson 05 "
        "`keys` reads the owner reference of a deleted Deployment.",
    )
    expect(
        followed.told.count(same.name),
        0,
        when=f"{same.name} was the same before and after",
        expected="no handler is called with it",
        hint="An object whose version is the same hasn't changed: no one has to look at it.",
    )
    expect(
        [followed.told.count(name) for name in differences],
        [1] * len(differences),
        when=f"{when}; calls of a handler for each of these four",
        hint="Call tell() once for each difference.",
    )
    expired = recorder.fail(watches(KIND), status=503, times=None)
    recorder.end_watches(KIND)
    for app in (changed, labelled, same, new):
        app.delete()
    recorder.fail(watches(KIND), status=410, times=1)
    expired.remove()
    followed.shows(
        when="the last WebApps were deleted while no watch was open, and then came 410",
        hint="An empty list is an answer like any other: nothing is there, so nothing is in the cache.",
    )


@check(points=2, section="keys-not-events")
def test_a_failing_handler_stops_nothing(followed, namespace, lab):
    """If a handler or its `keys` raises, that's logged, and the other handlers and the informer go on."""
    lab.resolve("converge.grader.library.doubles:show_logs")()

    def broken(anything):
        raise ValueError("this handler is broken")

    def broken_keys(obj):
        raise ValueError("this function of keys is broken")

    def broken_once(request):
        after_itself.append(request[1])
        if len(after_itself) == 1:
            raise ValueError("this handler was broken")

    after_handler, after_keys, after_itself = [], [], []
    for handler, *keys in (
        (broken,),
        (lambda request: after_handler.append(request[1]),),
        (lambda request: None, broken_keys),
        (lambda request: after_keys.append(request[1]),),
        (broken_once,),
    ):
        followed.informer.add_handler(handler, *keys)
    app = namespace.webapp(image=namespace.images.web[0])
    followed.start()
    app.edit(image=namespace.images.web[1])
    when = "one handler raised at every call, the `keys` of another did, and a WebApp was changed"
    followed.shows(app, when=when, hint="Catch what a handler or its `keys` raises, log it, and go on with the next.")
    for names, what in ((after_handler, "a handler"), (after_keys, "a handler whose `keys`")):
        followed.hears(
            app,
            2,
            names=names,
            when=f"{what} raised each time, and there was another handler after it",
            hint="Each handler has a try of its own, with its `keys` inside.",
        )
    followed.hears(
        app,
        2,
        names=after_itself,
        when="a handler raised at its first call, and then the WebApp was changed",
        hint="Log what it raised and go on. A handler that failed once is still called at the next change.",
    )
    for reason in ("this handler is broken", "this function of keys is broken"):
        eventually(
            lambda reason=reason: reason in lab.output,
            True,
            when=f'ValueError("{reason}") was raised',
            expected="the error is printed or logged, at INFO or above",
            seen=lambda: f"printed and logged: {lab.output[-300:] or 'nothing'}",
            hint="If a handler fails silently, nobody looks at that change. Log what it raised.",
        )


def too_fast(refused):
    """Four attempts within a tenth of a second: no pause worth the name. (A busy machine only slows them.)"""
    times = [request.time for request in refused.fired]
    return any(fourth - first < 0.1 for first, fourth in zip(times, times[3:], strict=False))


@check(points=1, section="when-a-watch-ends")
def test_failures_are_spaced(lab, kubeconfig, namespace, recorder):
    """While the server refuses, it asks again, but with a pause, and a refused watch doesn't make it list."""
    namespace.webapp()
    for what, match, status in (
        ("list", reads(KIND), 500),
        ("watch", watches(KIND), 410),
        ("watch", watches(KIND), 403),
        ("watch", watches(KIND), 503),
    ):
        followed = Followed(lab, kubeconfig, namespace, recorder)
        if what == "watch":
            followed.start()
        listed = len(followed.lists())
        with recorder.fail(match, status=status, times=None) as refused:
            if what == "watch":
                recorder.end_watches(KIND)
            else:
                followed.start(synced=False)
            recorder.wait_for(lambda refused=refused: len(refused.fired) >= 12, 0.5)
            eventually(
                lambda refused=refused: len(refused.fired) >= 2,
                True,
                when=f"every {what} was answered {status}",
                expected=f"at least two attempts to {what}",
                hint="An error isn't a reason to give up.",
            )
            tried = len(refused.fired)
            recorder.wait_for(lambda refused=refused, tried=tried: len(refused.fired) > tried, 2)
            followed.informer.stop()
            followed.ends(
                when=f"every {what} was answered {status}, and stop() was called during the pause after that",
                hint="`stopping.wait(seconds)` is a pause that stop() can end; time.sleep() isn't.",
            )
        if too_fast(refused):
            fail(
                when=f"every {what} was answered {status}",
                expected="a pause between two attempts",
                got=f"{len(refused.fired)} attempts in {refused.fired[-1].time - refused.fired[0].time:.2f} s",
                hint="After every error, 410 included: `stopping.wait(seconds)` is a pause that stop() can end.",
            )
        if what == "watch" and status != 410:
            expect(
                len(followed.lists()) - listed,
                0,
                when=f"the watch was cut, and every other one was answered {status}",
                expected="no list",
                hint="Only Gone makes the version useless. After any other error, watch from where you were.",
            )


@check(points=1, section="stopping")
def test_stop_ends_it(followed, namespace):
    """stop() ends run() within a second, even while it waits for an event, and closes the watch."""
    followed.start()
    app = namespace.webapp()  # told by the watch: so it is in the informer's hands, and not only on its way there
    followed.shows(app, when="a WebApp was created", hint="apply() puts the object of an event into the cache.")
    followed.informer.stop()
    followed.ends(
        when="stop() was called while the informer waited for an event",
        hint="Keep the open watch in `self.watch`, so that stop() can close it.",
    )


@check(points=1, section="stopping")
def test_stop_comes_before_the_watch(lab, kubeconfig, namespace, recorder):
    """stop() ends run() even if it comes during the list, or while the watch is being opened."""
    namespace.webapp()
    for during, arrives in (("list", reads(KIND)), ("watch", watches(KIND))):
        followed = Followed(lab, kubeconfig, namespace, recorder)
        stopped = recorder.meanwhile(arrives, followed.informer.stop)
        followed.start(synced=False)
        eventually(
            lambda stopped=stopped: stopped.fired,
            within=8,
            when="run() was started",
            expected=f"a {during}",
            hint="First a list, then a watch from its version.",
        )
        followed.ends(
            when=f"stop() was called after the {during} was asked for and before the server answered",
            hint="stop() had no watch to close yet. Look at `stopping` once more as soon as you have one.",
        )


def gone_while_it_is_read(lab, followed, namespace):
    """An object goes out of the cache while a reader is in the middle of get() or list(): both return."""
    read = lab.resolve("converge.grader.library.doubles:read_while_it_goes")
    name = namespace.new_name()
    request = NewObject("converge.runtime:Request", (str(namespace), name))
    for how in ("get", "list"):
        reached, line = True, 0
        while reached and line < 12:
            line += 1
            app = namespace.webapp(name)
            followed.shows(app, when="a WebApp was created", hint="An ADDED event puts its object in the cache.")
            reached, raised = read(followed.informer, request, how, line, app.delete)
            if raised:
                fail(
                    when=f"a WebApp was deleted, and run() took it out of the cache right before line number {line} "
                    f"that {how}() of another thread ran",
                    expected=f"{how}() returns: the object as it was, or nothing",
                    got=f"{how}() raised {raised}",
                    hint="Between two looks at `objects`, run() may change it: look once, with `self.objects.get(…)`, "
                    "and go through a copy of the keys.",
                )
            if not reached:
                app.delete()
            followed.shows(when="it was deleted", hint="A DELETED event removes the object.")
    followed.informer.stop()


@check(points=2, section="gone")
def test_the_cache_has_no_gap(followed, namespace, recorder, lab, kubeconfig):
    """Once synced, a reader finds an object at every moment: a list replaces the cache as a whole."""
    gone_while_it_is_read(lab, Followed(lab, kubeconfig, namespace, recorder).start(), namespace)
    app = namespace.webapp(image=namespace.images.web[0])
    request = NewObject("converge.runtime:Request", (str(namespace), app.name))
    reader = lab.resolve("converge.grader.library.doubles:ReaderOnEveryLine")(followed.informer, request)
    followed.start()
    app.edit(image=namespace.images.web[1])
    followed.shows(app, when="the image of a WebApp was changed", hint="Follow the watch.")
    opened = len(recorder.watches(KIND))
    recorder.expire_watches(KIND)
    followed.open_watch(after=opened)
    if not reader.missed:
        return
    fail(
        when=f"another thread looked for {app.name} before each line that run() ran, as soon as has_synced() was true: "
        "during the first list, a change of that WebApp and a second list",
        expected=f"{app.name} is always there, and has_synced() stays true",
        got=f"{reader.missed} of {reader.looks} times it wasn't",
        hint="Build the new dict on the side, put it in place with one assignment, and set `synced` after that.",
    )
