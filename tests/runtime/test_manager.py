"""The manager against a real server: what is watched, in which order things start, and what is at rest."""

import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest
from runtime_world import WEBAPP, config_map, web_app, write_kubeconfig

from converge.grader import eventually
from converge.recorder import events, reads
from converge.runtime import (
    Client,
    Controller,
    Informer,
    Manager,
    Poll,
    Request,
    Result,
    RuntimeProblem,
    Unavailable,
    UnknownKind,
    WorkQueue,
    generation_changed,
)
from converge.testing.waits.deadlines import scaled


class Mirror:
    """Keeps one ConfigMap for each WebApp, with its image in it."""

    def __init__(self, manager):
        self.client = manager.client
        self.web_apps = manager.cached(*WEBAPP)
        self.config_maps = manager.cached("v1", "ConfigMap")
        self.calls = []

    def reconcile(self, request):
        self.calls.append(request)
        web_app = self.web_apps.get(request.name, request.namespace)
        if web_app is None:
            return
        owner = {"apiVersion": WEBAPP[0], "kind": WEBAPP[1], "name": request.name, "controller": True}
        wanted = config_map(request.name, request.namespace, image=web_app["spec"]["image"])
        wanted["metadata"]["ownerReferences"] = [{**owner, "uid": web_app["metadata"]["uid"]}]
        found = self.config_maps.get(request.name, request.namespace)
        if found is None or found.get("data") != wanted["data"]:
            self.client.apply(wanted, field_manager="mirror", force=True)
        return


@pytest.fixture
def manage(client, namespace):
    """Make a manager; it is stopped at the end."""
    made = []

    def make(**options):
        options.setdefault("namespace", namespace)
        manager = Manager(options.pop("client", client), **options)
        made.append(manager)
        return manager

    yield make
    for manager in made:
        manager.stop()


def mirror(manager, **options):
    reconciler = Mirror(manager)
    manager.controller(reconciler, **options).for_(*WEBAPP, predicate=generation_changed).owns("v1", "ConfigMap")
    return reconciler


def image_of(admin, name, namespace):
    found = admin.list("v1", "ConfigMap", namespace, field_selector=f"metadata.name={name}")
    return found[0].get("data", {}).get("image") if found else None


def test_objects_and_what_they_own_are_followed(manage, admin, namespace):
    manager = manage()
    mirror(manager)
    manager.start()
    admin.create(web_app("a", namespace))
    assert eventually(lambda: image_of(admin, "a", namespace) == "registry.example/web:1", within=20)
    admin.patch(*WEBAPP, "a", namespace, {"spec": {"image": "registry.example/web:2"}})
    assert eventually(lambda: image_of(admin, "a", namespace) == "registry.example/web:2", within=20)
    admin.patch("v1", "ConfigMap", "a", namespace, {"data": {"image": "drift"}})
    assert eventually(lambda: image_of(admin, "a", namespace) == "registry.example/web:2", within=20), "drift is healed"
    admin.delete("v1", "ConfigMap", "a", namespace)
    assert eventually(lambda: image_of(admin, "a", namespace) == "registry.example/web:2", within=20), "it comes back"


def test_one_list_and_one_watch_per_kind_are_shared_and_nothing_happens_at_rest(manage, admin, recorder, namespace):
    for number in range(10):
        admin.create(web_app(f"a{number}", namespace))
    manager = manage()
    mirrors = [mirror(manager, name="one"), mirror(manager, name="two")]
    manager.start()
    assert eventually(lambda: len(admin.list("v1", "ConfigMap", namespace, label_selector="app")) == 10, within=20)
    assert recorder.wait_quiet(0.5, deadline=20)
    lists = [(request.resource, request.verb) for request in recorder.reads()]
    assert sorted(lists) == [("configmaps", "list"), ("webapps", "list")]
    assert sorted(request.resource for request in recorder.watches()) == ["configmaps", "webapps"]
    mark = recorder.mark()
    assert recorder.wait_quiet(1.5, deadline=20)
    assert not recorder.since(mark).requests
    assert all(len(set(one.calls)) == 10 for one in mirrors)


def test_workers_start_only_when_every_cache_is_full(manage, admin, recorder, namespace):
    admin.create(web_app("a", namespace))
    admin.create(config_map("a", namespace, image="registry.example/web:1"))
    manager = manage()
    seen = []

    class Looks:
        def reconcile(self, request):
            seen.append([informer.has_synced() for informer in manager.informers])

    manager.controller(Looks()).for_(*WEBAPP).owns("v1", "ConfigMap").watches("v1", "Secret", lambda secret: ())
    recorder.slow(reads("ConfigMap"), seconds=0.4)
    recorder.slow(reads("Secret"), seconds=0.2)
    manager.start()
    assert eventually(lambda: seen, within=20)
    assert seen[0] == [True, True, True]


def test_a_write_of_its_own_can_be_read_at_once(manage, admin, recorder, namespace):
    """The reconciler runs again before the watch has brought its child: it must not write it again."""
    manager = manage()
    reconciler = mirror(manager)
    held = recorder.hold(events("ConfigMap"))
    manager.start()
    admin.create(web_app("a", namespace))
    assert eventually(lambda: image_of(admin, "a", namespace), within=20)
    calls = len(reconciler.calls)
    admin.patch(*WEBAPP, "a", namespace, {"spec": {"replicas": 2}})
    assert eventually(lambda: len(reconciler.calls) > calls, within=20)
    assert len(recorder.writes("ConfigMap")) == 1
    held.release()


def test_watches_maps_other_objects_to_requests(manage, admin, namespace):
    manager = manage()
    calls = []

    class Diary:
        def reconcile(self, request):
            calls.append(request)

    manager.controller(Diary()).for_(*WEBAPP).watches(
        "v1", "Secret", lambda secret: [Request(namespace, "reader")], label_selector="app"
    )
    manager.start()
    admin.create({**config_map("s", namespace), "kind": "Secret", "data": {}})
    assert eventually(lambda: Request(namespace, "reader") in calls, within=20)


def test_cluster_scoped_owners_have_no_namespace(manage, admin, namespace):
    """A ConfigMap in a namespace that belongs to a cluster-scoped object."""
    manager = manage(namespace=None)
    calls = []

    class Diary:
        def reconcile(self, request):
            calls.append(request)

    manager.controller(Diary()).for_("v1", "Namespace").owns("v1", "ConfigMap")
    manager.start()
    assert eventually(lambda: Request("", namespace) in calls, within=20)
    calls.clear()
    child = config_map("a", namespace)
    uid = admin.get("v1", "Namespace", namespace)["metadata"]["uid"]
    child["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "Namespace", "name": namespace, "uid": uid, "controller": True}
    ]
    admin.create(child)
    assert eventually(lambda: Request("", namespace) in calls, within=20)


def test_a_namespace_limits_what_is_seen(manage, admin, recorder, namespace):
    manager = manage()
    reconciler = mirror(manager)
    manager.start()
    other = admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "runtime-"}})
    admin.create(web_app("elsewhere", other["metadata"]["name"]))
    admin.create(web_app("here", namespace))
    assert eventually(lambda: image_of(admin, "here", namespace), within=20)
    assert {request.namespace for request in reconciler.calls} == {namespace}
    assert {request.namespace for request in recorder.reads("WebApp")} == {namespace}
    admin.delete("v1", "Namespace", other["metadata"]["name"])


def test_a_poll_reconciles_each_and_once_more_what_has_gone(admin, client, namespace, caplog):
    seen = []

    def reconcile(client, request):
        seen.append(request.name)
        if request.name == "poison":
            raise RuntimeError("a bug")
        return Result()

    poll, stopping = Poll(*WEBAPP, reconcile), threading.Event()

    def one_pass():
        seen.clear()
        poll.one_pass(client, stopping, namespace)
        return sorted(seen)

    for name in ("a", "poison", "z"):
        admin.create(web_app(name, namespace))
    assert one_pass() == ["a", "poison", "z"], "one that fails does not keep the others from their turn"
    assert "failed: RuntimeError: a bug" in caplog.text
    assert "in reconcile" in caplog.text
    assert "in one_pass" not in caplog.text
    admin.delete(*WEBAPP, "a", namespace)
    assert one_pass() == ["a", "poison", "z"]
    assert one_pass() == ["poison", "z"]


def test_a_poll_survives_a_server_that_refuses(manage, admin, recorder, namespace):
    admin.create(web_app("a", namespace))
    seen = []
    manager = manage()
    manager.add(Poll(*WEBAPP, lambda client, request: seen.append(request), every=0.01))
    recorder.fail(reads("WebApp"), status=500, times=3)
    manager.start()
    assert eventually(lambda: seen, within=20)


def test_health_readiness_and_metrics_are_served(manage, admin, namespace):
    manager = manage(port=0)
    mirror(manager)
    url = "http://{}:{}".format(*manager.address)
    manager.start()
    admin.create(web_app("a", namespace))
    assert eventually(lambda: image_of(admin, "a", namespace), within=20)

    def page(path):
        with urllib.request.urlopen(url + path, timeout=10) as answer:
            return answer.read().decode()

    assert page("/healthz") == "ok\n"
    assert page("/readyz") == "ok\n"
    metrics = page("/metrics")
    for line in (
        'controller_runtime_reconcile_total{controller="webapp",result="success"}',
        'controller_runtime_reconcile_errors_total{controller="webapp"} 0.0',
        'controller_runtime_terminal_reconcile_errors_total{controller="webapp"} 0.0',
        'controller_runtime_reconcile_time_seconds_count{controller="webapp"}',
        'workqueue_depth{name="webapp"} 0.0',
        'workqueue_adds_total{name="webapp"}',
        f'informer_objects{{kind="WebApp",namespace="{namespace}"}} 1.0',
        'rest_client_requests_total{code="200",method="GET"}',
        "process_resident_memory_bytes",
    ):
        assert line in metrics, line
    with pytest.raises(urllib.error.HTTPError, match="404"):
        page("/nothing")


def test_it_is_not_ready_before_its_caches_are_full(manage, recorder, namespace):
    manager = manage(port=0)
    mirror(manager)
    recorder.slow(reads("WebApp"), seconds=1.0)
    starting = threading.Thread(target=manager.start, daemon=True)
    starting.start()
    url = "http://{}:{}/readyz".format(*manager.address)
    with pytest.raises(urllib.error.HTTPError) as answer:
        urllib.request.urlopen(url, timeout=10)
    assert answer.value.code == 503
    assert "WebApp" in answer.value.read().decode()
    starting.join(20)
    with urllib.request.urlopen(url, timeout=10) as answer:
        assert answer.status == 200


def test_stopping_finishes_the_work_in_hand_within_two_seconds(manage, admin, namespace):
    entered, written = threading.Event(), []
    manager = manage()

    class Slow:
        def reconcile(self, request):
            entered.set()
            assert manager._stopping.wait(20), "the stop comes while this is in hand"
            written.append(manager.client.create(config_map("done", namespace)))

    manager.controller(Slow()).for_(*WEBAPP)
    manager.start()
    admin.create(web_app("a", namespace))
    assert entered.wait(20)
    started = time.monotonic()
    manager.stop()
    assert time.monotonic() - started < scaled(2)
    assert len(written) == 1


def test_stopping_in_the_middle_of_the_start_waits_for_all_that_was_started(manage, monkeypatch):
    manager = manage()
    controller = manager.controller(Mirror(manager)).for_(*WEBAPP)
    halfway, go_on = threading.Event(), threading.Event()
    start = threading.Thread.start

    def slowly(thread):
        if thread.name.startswith(f"{controller.name}-"):
            halfway.set()
            assert go_on.wait(20)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", slowly)
    with ThreadPoolExecutor() as pool:
        starting = pool.submit(manager.start)
        assert halfway.wait(20)
        stopping = pool.submit(manager.stop)
        assert eventually(manager._stopping.is_set, within=20)
        go_on.set()
        starting.result(20)
        stopping.result(20)
    assert controller._threads
    assert not any(thread.is_alive() for thread in controller._threads)


def test_stopping_does_not_wait_for_work_that_does_not_end(manage, admin, namespace, caplog):
    entered, forever = threading.Event(), threading.Event()
    manager = manage(grace=0.3)

    class Stuck:
        def reconcile(self, request):
            entered.set()
            forever.wait()

    manager.controller(Stuck()).for_(*WEBAPP)
    manager.start()
    admin.create(web_app("a", namespace))
    assert entered.wait(20)
    started = time.monotonic()
    manager.stop()
    assert time.monotonic() - started < scaled(2)
    assert f"webapp: stopped while reconciling {namespace}/a" in caplog.text
    forever.set()


# --- what cannot work says so, at once


def test_a_missing_crd_is_one_clear_error(manage):
    manager = manage()
    manager.controller(Mirror(manager)).for_("nobody.example/v1", "Thing")
    with pytest.raises(UnknownKind, match=r"nobody.example/v1; is the CustomResourceDefinition installed"):
        manager.start()


def test_a_server_that_is_not_there_is_one_clear_error(manage, tmp_path):
    client = Client(kubeconfig=write_kubeconfig(tmp_path / "nowhere", "http://127.0.0.1:1", {}))
    manager = manage(client=client)
    mirror(manager)
    with pytest.raises(Unavailable, match=r"no answer from http://127.0.0.1:1: .*refused"):
        manager.start()


def test_a_list_that_is_not_allowed_is_one_clear_error(manage, admin, cluster, tmp_path, namespace):
    eventually(lambda: admin.list("v1", "ServiceAccount", namespace), within=20)
    wanted = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": {"namespace": namespace}}
    token = admin.create({**wanted, "spec": {}}, subresource="token", name="default")["status"]["token"]
    authority = {"certificate-authority": str(cluster.ca_file)}
    client = Client(kubeconfig=write_kubeconfig(tmp_path / "weak", cluster.server, {"token": token}, **authority))
    manager = manage(client=client, sync_timeout=0.2)
    mirror(manager)
    with pytest.raises(RuntimeProblem, match=r"the cache of WebApp could not be filled: list WebApp .*403 Forbidden"):
        manager.start()


def test_a_cache_that_cannot_be_filled_is_no_silent_hang(manage, recorder):
    recorder.fail(reads("WebApp"), status=500, times=None)
    manager = manage(sync_timeout=0.3)
    mirror(manager)
    with pytest.raises(RuntimeProblem, match=r"the cache of WebApp could not be filled: list WebApp .*500"):
        manager.start()


def test_mistakes_in_setting_up_are_named(manage, client):
    with pytest.raises(RuntimeProblem, match="there is nothing to run"):
        manage().start()
    manager = manage()
    manager.controller(Mirror(manager))
    with pytest.raises(RuntimeProblem, match="watches nothing"):
        manager.start()
    with pytest.raises(TypeError, match="runs Controllers and Polls"):
        manage().add(object())
    with pytest.raises(RuntimeProblem, match="cannot listen on"):
        Manager(client, port=manage(port=0).address[1])


def test_parts_of_ones_own_fit(client, manage, admin, namespace):
    """A controller with another queue, and another make of informer."""

    class Queue(WorkQueue):
        pass

    class Mine(Informer):
        pass

    manager = manage(informer=Mine)
    reconciler = Mirror(manager)
    controller = Controller(reconciler, queue=Queue()).for_(*WEBAPP).owns("v1", "ConfigMap")
    manager.add(controller)
    manager.start()
    admin.create(web_app("a", namespace))
    assert eventually(lambda: image_of(admin, "a", namespace), within=20)
    assert all(isinstance(informer, Mine) for informer in manager.informers)
