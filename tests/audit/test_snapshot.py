"""Two clean runs never agree on everything: what differs is masked, what is wrong is not."""

from __future__ import annotations

from converge.audit import drifts
from converge.audit.snapshot import Mask, comes_to_an_end, random_kinds, shape
from converge.testing.attacks.compare import belongs
from converge.testing.objects.custom_resource import CustomResource


class Here:
    """A namespace that is only a name."""

    def __str__(self):
        return "team-1"


def app(name="shop", uid="u-1"):
    return CustomResource(Here(), {"kind": "Shop", "metadata": {"name": name, "uid": uid}, "spec": {}})


def child(kind, name, owner="shop", **parts):
    owners = [{"kind": "Shop", "name": owner, "uid": f"uid-of-{owner}"}]
    metadata = {"name": name, "uid": "x", "resourceVersion": "7", "namespace": "team-1", "ownerReferences": owners}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **parts}


def own(generation=1, finalizers=(), **status):
    return {"metadata": {"name": "shop", "generation": generation, "finalizers": list(finalizers)}, "status": status}


def test_names_uids_and_versions_tell_objects_apart_and_nothing_else():
    one = shape(app("shop"), {"ConfigMap": [child("ConfigMap", "shop-a", data={"url": "http://shop"})], "": []})
    two = shape(
        app("other"), {"ConfigMap": [child("ConfigMap", "other-a", "other", data={"url": "http://other"})], "": []}
    )
    assert one == two
    assert list(one) == ["ConfigMap/NAME-a"]


def test_what_clean_runs_disagree_on_is_masked():
    def secret(value):
        return shape(app(), {"Secret": [child("Secret", "shop", data={"password": value, "user": "admin"})], "": []})

    mask = Mask()
    mask.learn(secret("a"), secret("b"))
    assert mask.paths == {"Secret/NAME.data.password"}
    assert not mask.differences(secret("c"), secret("a"))
    changed = secret("c")
    changed["Secret/NAME"]["data"]["user"] = "root"
    assert [each.path for each in mask.differences(changed, secret("a"))] == ["Secret/NAME.data.user"]


def test_a_missing_child_and_one_too_many_are_differences():
    there = {"Service/NAME": {"spec": {}}, "Shop": {}}
    gone = {"Shop": {}}
    assert [(each.path, each.got) for each in Mask().differences(gone, there)] == [("Service/NAME", "missing")]
    assert [(each.path, each.got) for each in Mask().differences(there, gone)] == [("Service/NAME", "there")]


def test_a_finalizer_may_stay_while_the_object_lives_and_may_not_be_missing():
    held, free = ({"Shop": {"status": {}, "finalizers": each}} for each in (["shop.example/record"], []))
    going = {"Shop": {**held["Shop"], "deletionTimestamp": "set"}}
    assert not Mask().differences(held, free)
    assert [each.path for each in Mask().differences(free, held)] == ["Shop.finalizers"]
    assert "Shop.finalizers" in [each.path for each in Mask().differences(going, free)]


def test_children_with_random_names_are_counted_and_compared_in_any_order():
    def pods(*names, image="a"):
        return shape(app(), {"Pod": [child("Pod", name, spec={"image": image}) for name in names], "": []}, {"Pod"})

    one = shape(app(), {"Pod": [child("Pod", "shop-x1")], "": []})
    assert random_kinds(one, shape(app(), {"Pod": [child("Pod", "shop-y2")], "": []})) == {"Pod"}
    assert pods("shop-x", "shop-y") == pods("shop-b", "shop-a")
    assert [each.got for each in Mask().differences(pods("a", "b", "c"), pods("a", "b"))] == ["3 of them"]
    assert Mask().differences(pods("a", image="b"), pods("a"))


def test_a_status_that_is_older_than_the_spec_says_so():
    def status(generation, observed):
        return shape(app(), {"": [own(generation, observedGeneration=observed, ready=1)]})

    assert status(1, 1) == status(4, 4)
    assert [each.path for each in Mask().differences(status(2, 1), status(1, 1))] == ["Shop.status.observedGeneration"]


def test_times_are_no_state():
    assert shape(app(), {"": [own(lastUpdateTime="now")]}) == shape(app(), {"": [own(lastUpdateTime="then")]})


def test_ports_and_containers_are_compared_by_name_in_any_order():
    def service(*names):
        ports = [{"name": name, "port": len(name)} for name in names]
        return shape(app(), {"Service": [child("Service", "shop", spec={"ports": ports})], "": []})

    assert service("http", "metrics") == service("metrics", "http")
    assert service("http") != service("metrics")


def test_conditions_come_in_any_order():
    ready, synced = {"type": "Ready", "status": "True"}, {"type": "Synced", "status": "True"}
    one, other = (shape(app(), {"": [own(conditions=list(each))]}) for each in ((ready, synced), (synced, ready)))
    assert one == other


def test_a_condition_about_an_exec_that_nobody_answers_is_masked():
    """It's `Success` until the operator has tried, and `Failed` until it tries again."""

    def shot(ready, **condition):
        return shape(app(), {"": [own(conditions=[ready, {"type": "Reconciled", **condition}])]})

    failed = {"status": "False", "message": "feature flags: error dialing backend: dial tcp :10250: refused"}
    ready, not_ready = {"type": "Ready", "status": "True"}, {"type": "Ready", "status": "False"}
    mask = Mask()
    mask.learn_unanswered(shot(ready, **failed))
    assert mask.paths == {"Shop.status.conditions[1]"}
    assert not mask.differences(shot(ready, status="True", message="all done"), shot(ready, **failed))
    assert mask.differences(shot(not_ready, **failed), shot(ready, **failed))


def test_when_pods_were_restarted_is_no_difference():
    """An operator that heals the configuration of its Pods restarts them, and notes when."""

    def template(**annotations):
        spec = {"template": {"metadata": {"annotations": annotations} if annotations else {}}}
        return shape(app(), {"StatefulSet": [child("StatefulSet", "shop", spec=spec)], "": []})

    assert not Mask().differences(template(restartedAt="2026-11-18T11:53:39Z"), template())
    assert not Mask().differences(template(restartedAt="2026-11-18T11:53:39.5+01:00", a="b"), template(a="b"))
    assert Mask().differences(template(checksum="2026"), template())


def test_a_job_of_someone_else_has_a_selector_of_its_own():
    """The server refuses one with another Job's uid."""
    labels = {"app": "shop", "controller-uid": "u-2", "batch.kubernetes.io/job-name": "shop-run"}
    spec = {"selector": {"matchLabels": {"controller-uid": "u-2"}}, "template": {"metadata": {"labels": labels}}}
    made = drifts.stranger(child("Job", "shop-run", spec=spec), "shop", "amber")
    assert made["metadata"] == {"name": "amber-run"}
    assert made["spec"] == {"template": {"metadata": {"labels": {"app": "amber"}}}}


def test_to_say_zero_is_to_say_nothing():
    """A merge patch from an empty status leaves a 0 out, one from a 2 sends it."""
    told = shape(app(), {"": [own(ready=0, message="", children=[], paused=False, phase="Up")]})
    assert told == shape(app(), {"": [own(phase="Up")]})
    assert told != shape(app(), {"": [own(ready=1, phase="Up")]})


def test_a_status_that_is_up_to_date_is_never_wrong():
    says, silent, old = (
        shape(app(), {"": [own(2, **each)]}) for each in ({"observedGeneration": 2}, {}, {"observedGeneration": 1})
    )
    assert not Mask().differences(says, silent)
    assert Mask().differences(old, silent)
    assert Mask().differences(old, says)


def condition(type, status):
    return {"type": type, "status": status, "reason": type, "message": type}


def job(*over):
    return child("Job", "shop-run", spec={}, status={"conditions": [condition(each, "True") for each in over]})


def pod(name, controller, phase="Running"):
    made = child("Pod", name, spec={"containers": [{"name": "a"}]}, status={"phase": phase})
    made["metadata"]["ownerReferences"] = [{"kind": controller, "name": "shop", "uid": "of-it", "controller": True}]
    return made


def test_what_a_workload_makes_is_no_child():
    """The operator makes Pods, and a Job of which Kubernetes makes a Pod with a random name."""
    assert belongs(pod("shop-worker-0", "Shop"), app())
    assert not belongs(pod("shop-run-x7k2q", "Job"), app())
    owned = pod("shop-run-x7k2q", "Job")
    owned["metadata"]["ownerReferences"][0]["uid"] = app().uid
    assert belongs(owned, app())


def test_an_object_ends_that_says_so_or_of_which_only_a_job_was_left():
    done = own(conditions=[condition("Running", "False"), condition("Succeeded", "True")])
    ready = own(conditions=[condition("Ready", "True"), condition("Succeeded", "False")])
    web = child("Deployment", "shop", spec={})
    for ends, captured in (
        (True, {"Job": [job("Complete")], "": [done]}),
        (True, {"": [own(phase="Completed")]}),
        (True, {"Job": [job("SuccessCriteriaMet", "Complete")], "": [own()]}),
        (False, {"Job": [job()], "": [own()]}),
        (False, {"Job": [job("Complete")], "Pod": [pod("shop-0", "Shop")], "": [ready]}),
        (False, {"Job": [job("Complete")], "Deployment": [web], "": [own(phase="Succeeded")]}),
        (False, {"ConfigMap": [], "": [ready]}),
    ):
        assert comes_to_an_end(captured) is ends, captured


def test_of_an_object_that_ended_its_history_is_not_compared():
    """Whether it was ever seen running depends on when its operator looked."""

    def status(*conditions, **more):
        return shape(app(), {"": [own(conditions=list(conditions), **more)]}, ends=True)

    done, workers = condition("Succeeded", "True"), {"Launcher": {"succeeded": 1}}
    clean = status(condition("Running", "False"), done, replicaStatuses=workers)
    assert clean == status(done)
    assert clean != status(condition("Failed", "True"))
    assert clean != status(condition("Succeeded", "False"))


def test_the_order_of_options_in_a_command_line_says_nothing():
    """They come from a map: in two clean runs the order may be the same by chance, and then it isn't masked."""
    clean = {"Pod/*": [{"spec": {"containers": [{"args": ["start --cpus=1 --memory=2 --block"]}]}}]}
    other = {"Pod/*": [{"spec": {"containers": [{"args": ["start --block --cpus=1 --memory=2"]}]}}]}
    wrong = {"Pod/*": [{"spec": {"containers": [{"args": ["start --block --cpus=1 --memory=3"]}]}}]}
    assert not Mask().differences(other, clean)
    assert [each.path for each in Mask().differences(wrong, clean)] == ["Pod/*[0].spec.containers[0].args[0]"]


def test_of_an_object_that_has_ended_nobody_compares_lists_of_its_pods():
    def found(script, ends):
        return shape(app(), {"ConfigMap": [child("ConfigMap", "shop-hosts", data={"hosts": script})], "": []}, (), ends)

    hosts = "#!/bin/sh\necho shop-worker-0\n"
    assert found(hosts, True) == found("#!/bin/sh\n", True)
    assert found(hosts, False) != found("#!/bin/sh\n", False)
    assert found(hosts, True) != found("#!/bin/bash\n", True)
