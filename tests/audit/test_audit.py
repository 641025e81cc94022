"""Audits of the course's own operators: the bugs of lab 15 are found, right answers are left in peace."""

from __future__ import annotations

import sys
import textwrap
import time
from dataclasses import replace

import pytest
import yaml

from converge.audit import session as sessions
from converge.audit.attacks import ATTACKS, base
from converge.audit.attacks.base import always
from converge.audit.attacks.walks import CLAIMS_STAY, NOT_AT_REST
from converge.audit.settings import AuditError
from converge.operators.webapp import WEBAPP
from converge.runtime import ApiError
from converge.testing.access.pod_env import free_port
from converge.testing.waits.waiting import eventually
from tests.audit.conftest import settings_for

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(900)]
BUGS = "labs/15_chaos/chaos.py"
RIGHT = "solutions/15_chaos/chaos.py"
CHILDREN_FIRST = {"how": "children-first"}


def found(report):
    return {each.attack: each for each in report.findings if each.counts}


def left_out(report):
    return [each for row in report.rows for each in row.left_out]


def test_a_state_between_two_writes_is_found_and_replayed(session, tmp_path):
    report = session(settings_for(tmp_path, BUGS)).run(["killed-after"])
    finding = found(report)["killed-after"]
    assert "Service/NAME: missing" in finding.got
    assert finding.failed == finding.tried == 2
    from converge.audit import findings

    settings, _, again = findings.load(tmp_path / "findings" / f"{finding.id.replace('/', '-')}.json")
    assert found(session(settings).replay(again)), "the file replays it"


def test_an_old_read_is_found(session, tmp_path):
    assert "deployments" in found(session(settings_for(tmp_path, BUGS)).run(["old-cache"]))["old-cache"].got


def test_a_path_through_the_specs_is_found(session, tmp_path):
    report = session(settings_for(tmp_path, BUGS)).run(["walks"])
    stays = {each.id: each.got for each in report.findings if each.counts}
    assert "Deployment/NAME.metadata.labels.tier: 'front' (of a new one: nothing)" in stays["walks/labels-removed"]
    assert "ports" in stays["walks/port"]


def test_the_right_answer_has_no_findings(session, tmp_path):
    quick = ["deletion", "killed-after", "walks", "child-deleted", "old-cache", "child-edited", "watches"]
    quick += ["edited-meanwhile"]
    report = session(settings_for(tmp_path, RIGHT)).run(quick)
    assert not report.findings
    assert not left_out(report)
    assert report.learned.children == ["Deployment", "Service"]


def test_lost_news_and_a_second_process_do_no_harm_to_the_right_answer(session, tmp_path):
    report = session(settings_for(tmp_path, RIGHT)).run(["lost-news", "two-replicas"])
    assert not report.findings
    assert not left_out(report)


def operator(tmp_path, reconcile):
    """An operator of a few lines."""
    file = tmp_path / "small.py"
    file.write_text(
        textwrap.dedent(
            """
            import time
            from contextlib import suppress

            from converge.operators.webapp import WEBAPP
            from converge.runtime import AlreadyExists

            class Small:
                def __init__(self, manager):
                    self.client, self.webapps = manager.client, manager.cached(*WEBAPP)

                def reconcile(self, request):
                    webapp = self.webapps.get(request.name, request.namespace)
                    if webapp is not None:
                        self.act(webapp)

                def act(self, webapp):
            """
        )
        + textwrap.indent(textwrap.dedent(reconcile), " " * 8)
        + textwrap.dedent(
            """

            def setup(manager):
                manager.controller(Small(manager)).for_(*WEBAPP)
            """
        )
    )
    return settings_for(tmp_path, file)


def test_a_write_that_changes_nothing_is_found_when_the_object_is_touched(session, tmp_path):
    settings = operator(
        tmp_path,
        """
        status = {"status": {"readyReplicas": 1}}
        name, namespace = webapp["metadata"]["name"], webapp["metadata"]["namespace"]
        self.client.patch(*WEBAPP, name, namespace, status, subresource="status")
        """,
    )
    made = session(settings)
    said: list[str] = []
    made.say = said.append
    finding = found(made.run(["at-rest"]))["at-rest"]
    assert finding.id == "at-rest/touched"
    assert "PATCH webapps/" in finding.got
    assert (finding.failed, finding.tried) == (2, 2)
    place = next(place for place, each in enumerate(said) if "found after" in each)
    assert not any(each.startswith("at-rest:") for each in said[:place]), "the clean runs have shown it"
    assert found(session(settings).replay(finding)), "on its own as well"


def test_an_operator_that_takes_all_conditions_for_its_own_gets_a_note(session, tmp_path):
    """Nobody promised that others may report there, so that's no error. On a good day as well, theirs are lost."""
    settings = operator(
        tmp_path,
        """
        metadata, there = webapp["metadata"], webapp.get("status", {}).get("conditions", [])
        said = f"generation {metadata['generation']}"
        if said not in [each["message"] for each in there]:
            ready = {"type": "Ready", "status": "True", "reason": "Seen", "message": said}
            ready["lastTransitionTime"] = "2026-01-01T00:00:00Z"
            status = {"status": {"conditions": [ready]}}
            self.client.patch(*WEBAPP, metadata["name"], metadata["namespace"], status, subresource="status")
        """,
    )
    (note,) = session(settings).run(["rival"]).findings
    assert (note.severity, note.also) == ("note", ["rival/in-between"])
    assert "takes all conditions for its own" in note.got


FORGETFUL = """
    time.sleep(1)  # longer than any pause between two writes of it
    metadata, spec = webapp["metadata"], webapp["spec"]
    owner = {"apiVersion": WEBAPP[0], "kind": WEBAPP[1], "name": metadata["name"], "uid": metadata["uid"]}
    wanted = [metadata["name"], *([metadata["name"] + "-logger"] if "sidecar" in spec else [])]
    for name in wanted:
        of = {"name": name, "namespace": metadata["namespace"], "labels": spec.get("labels", {})}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**of, "ownerReferences": [owner]}}
        try:
            self.client.create(body)
        except AlreadyExists:
            self.client.patch("v1", "ConfigMap", name, metadata["namespace"], body)
    """


def test_pods_that_no_node_takes_and_claims_that_stay_are_no_findings(session, tmp_path):
    """A rollout that never ends isn't an operator that never rests. And a claim may be kept on purpose: it has data."""
    settings = operator(
        tmp_path,
        """
        metadata, spec = webapp["metadata"], webapp["spec"]
        name, namespace, labels = metadata["name"], metadata["namespace"], {"app": metadata["name"]}
        owner = {"apiVersion": WEBAPP[0], "kind": WEBAPP[1], "name": name, "uid": metadata["uid"]}
        of = {"name": name, "namespace": namespace, "ownerReferences": [owner]}
        pod = {"containers": [{"name": "web", "image": "nginx"}], "nodeSelector": {"nowhere": "yes"}}
        template = {"metadata": {"labels": labels}, "spec": pod}
        web = {"selector": {"matchLabels": labels}, "template": template}
        wanted = [{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": of, "spec": web}]
        if "sidecar" in spec:
            claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
            wanted.append({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": of, "spec": claim})
        for each in wanted:
            with suppress(AlreadyExists):
                self.client.create(each)
        """,
    )
    settings.sample.write_text(settings.sample.read_text().replace("port: 8080", "sidecar: logger"))
    report = session(settings).run(["walks"])
    assert not report.learned.restless
    assert not report.findings
    assert ("walks/sidecar-removed", CLAIMS_STAY) in report.rows[0].answers


def test_what_an_operator_that_begins_late_forgets_is_found(session, tmp_path):
    """Silence before its first write isn't rest: a reference without children would hide all that's wrong with them.

    And a new object with fewer children isn't one that the operator refuses.
    """
    settings = operator(tmp_path, FORGETFUL)
    settings.sample.write_text(settings.sample.read_text().replace("port: 8080", "sidecar: logger"))
    report = session(settings).run(["walks"])
    assert not report.learned.mask.paths
    stays = {each.id: each.got for each in report.findings if each.counts}
    assert "ConfigMap/NAME.metadata.labels: {'tier': 'front'} (of a new one: nothing)" in stays["walks/labels-removed"]
    assert stays["walks/sidecar-removed"] == "ConfigMap/NAME-logger: there (of a new one: not there)"


def test_a_child_without_an_owner_that_stays_is_found(session, tmp_path):
    """Its name isn't the object's own. A claim without an owner may be kept on purpose: it has data."""
    settings = operator(
        tmp_path,
        """
        name, namespace = webapp["metadata"]["name"], webapp["metadata"]["namespace"]
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        for kind, more in (("ConfigMap", {}), ("PersistentVolumeClaim", {"spec": claim})):
            of = {"name": name + "-data", "namespace": namespace}
            with suppress(AlreadyExists):
                self.client.create({"apiVersion": "v1", "kind": kind, "metadata": of, **more})
        """,
    )
    stays = [each.got for each in session(settings).run(["deletion"]).findings if each.counts]
    assert len(stays) == 1, "the three ways to delete it have one cause"
    assert stays[0].startswith("ConfigMap/")
    assert stays[0].endswith("-data")
    assert "PersistentVolumeClaim" not in stays[0]


def test_a_finalizer_that_stays_because_a_child_is_gone_is_found(session, tmp_path):
    settings = operator(
        tmp_path,
        """
        metadata = webapp["metadata"]
        name, namespace = metadata["name"], metadata["namespace"]
        if "deletionTimestamp" in metadata:
            self.client.delete("v1", "ConfigMap", name, namespace)
            self.client.patch(*WEBAPP, name, namespace, {"metadata": {"finalizers": None}})
            return
        with suppress(AlreadyExists):
            of = {"name": name, "namespace": namespace}
            self.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": of})
        if not metadata.get("finalizers"):
            held = {"metadata": {"finalizers": ["small.example/map"]}}
            self.client.patch(*WEBAPP, name, namespace, held)
        """,
    )
    (finding,) = [each for each in session(settings).run(["deletion"]).findings if each.counts]
    assert finding.id == "deletion/children-first"
    assert "and all of its children were deleted while the operator was down" in finding.when


def test_the_pods_of_a_job_go_with_the_children_that_are_deleted_first(session, tmp_path, monkeypatch):
    """By default the server keeps the Pods of a deleted Job, and then they'd look like what the operator has left."""
    settings = operator(
        tmp_path,
        """
        metadata = webapp["metadata"]
        name, namespace = metadata["name"], metadata["namespace"]
        owner = {"apiVersion": WEBAPP[0], "kind": WEBAPP[1], "name": name, "uid": metadata["uid"]}
        pod = {"restartPolicy": "Never", "containers": [{"name": "web", "image": webapp["spec"]["image"]}]}
        for kind, version, suffix, spec in (
            ("Pod", "v1", "-worker", pod),
            ("Job", "batch/v1", "-launcher", {"template": {"spec": pod}}),
        ):
            of = {"name": name + suffix, "namespace": namespace, "ownerReferences": [owner]}
            with suppress(AlreadyExists):
                self.client.create({"apiVersion": version, "kind": kind, "metadata": of, "spec": spec})
        """,
    )
    children_first = replace(next(each for each in ATTACKS if each.name == "deletion"), cases=always(CHILDREN_FIRST))
    monkeypatch.setattr(sessions, "ATTACKS", (children_first,))
    report = session(settings).run(["deletion"])
    assert not report.findings
    assert not left_out(report)


def test_a_second_process_that_makes_a_child_again_is_a_note(session, tmp_path):
    """Names that the server makes up, and no leader election: two processes make two children."""
    settings = operator(
        tmp_path,
        """
        namespace, owner = webapp["metadata"]["namespace"], webapp["metadata"]
        mine = [
            each for each in self.client.list("v1", "ConfigMap", namespace)
            if any(ref["uid"] == owner["uid"] for ref in each["metadata"].get("ownerReferences", []))
        ]
        if not mine:
            reference = {"apiVersion": WEBAPP[0], "kind": WEBAPP[1], "name": owner["name"], "uid": owner["uid"]}
            metadata = {"generateName": owner["name"] + "-", "namespace": namespace, "ownerReferences": [reference]}
            self.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        """,
    )
    report = session(settings).run(["two-replicas", "left-alone"])
    two = next(each for each in report.findings if each.attack == "two-replicas")
    assert two.severity == "note"
    assert "2 of them" in two.got or "2 ConfigMaps" in two.got
    assert not report.failed


LOSES_EDITS = """
    metadata, image = webapp["metadata"], webapp["spec"]["image"]
    name, namespace = metadata["name"], metadata["namespace"]
    owner = {"apiVersion": WEBAPP[0], "kind": WEBAPP[1], "name": name, "uid": metadata["uid"]}
    of = {"name": name, "namespace": namespace, "ownerReferences": [owner]}
    self.client.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": of, "data": {"image": image}}, "small")
    if metadata.get("annotations", {}).get("small/image") != image:
        now = self.client.get(*WEBAPP, name, namespace)
        kept = {"name": name, "namespace": namespace, "resourceVersion": now["metadata"]["resourceVersion"]}
        kept["annotations"] = {"small/image": image}
        self.client.replace({**webapp, "metadata": kept})
    """


def test_an_edit_that_an_old_copy_overwrites_is_found(session, tmp_path):
    report = session(operator(tmp_path, LOSES_EDITS)).run(["edited-meanwhile", "at-rest"])
    lost = found(report)["edited-meanwhile"]
    assert "as its user left it" in lost.got
    assert "write number 1" in lost.when
    notes = [each for each in report.findings if each.attack == "at-rest"]
    assert [each.severity for each in notes] == ["note"], "an apply that changes nothing"


def test_an_edit_that_is_never_carried_out_is_no_finding_of_attacks_that_edit(session, tmp_path, monkeypatch):
    """It's one of `walks`. Without the walks nobody knows beforehand which edits those are."""
    settings = operator(
        tmp_path,
        """
        of = {"name": webapp["metadata"]["name"], "namespace": webapp["metadata"]["namespace"]}
        with suppress(AlreadyExists):
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": of, "data": {"is": str(webapp["spec"])}}
            self.client.create(body)
        """,
    )
    monkeypatch.setattr(base, "MOST_EDITS", 1)
    report = session(settings).run(["old-spec", "while-down"])
    assert not report.findings
    assert not left_out(report)
    answers = [answer for row in report.rows for _, answer in row.answers]
    assert answers == [NOT_AT_REST, NOT_AT_REST]


def test_an_operator_that_looks_by_the_clock_may_take_as_long(session, tmp_path):
    """A timer heals the children: between two looks its silence doesn't mean that it has given up."""
    settings = operator(
        tmp_path,
        """
        name, namespace = webapp["metadata"]["name"], webapp["metadata"]["namespace"]
        owner = {"apiVersion": WEBAPP[0], "kind": WEBAPP[1], "name": name, "uid": webapp["metadata"]["uid"]}
        metadata = {"name": name, "namespace": namespace, "ownerReferences": [owner]}
        with suppress(AlreadyExists):
            self.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        return Result(requeue_after=20)
        """,
    )
    file = tmp_path / "small.py"
    file.write_text(
        file.read_text()
        .replace("import AlreadyExists", "import AlreadyExists, Result")
        .replace("self.act(webapp)", "return self.act(webapp)")
    )
    report = session(settings).run(["child-deleted"])
    assert not report.findings
    assert 15 < report.learned.clock < 40


def test_children_that_an_edit_replaces_are_no_finding(session, tmp_path):
    """Names that the server makes up, and an image that can't be changed: a new one for each edit.

    What others added goes with the old one, and an answer that's lost leaves one too many for a moment.
    """
    settings = operator(
        tmp_path,
        """
        namespace, owner, image = webapp["metadata"]["namespace"], webapp["metadata"], webapp["spec"]["image"]
        mine = [
            each for each in self.client.list("v1", "ConfigMap", namespace)
            if any(ref["uid"] == owner["uid"] for ref in each["metadata"].get("ownerReferences", []))
        ]
        good = [each for each in mine if each["data"] == {"image": image}]
        for each in [*good[1:], *(each for each in mine if each not in good)]:
            self.client.delete("v1", "ConfigMap", each["metadata"]["name"], namespace)
        if not good:
            reference = {"apiVersion": WEBAPP[0], "kind": WEBAPP[1], "name": owner["name"], "uid": owner["uid"]}
            metadata = {"generateName": owner["name"] + "-", "namespace": namespace, "ownerReferences": [reference]}
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"image": image}}
            self.client.create({**body, "immutable": True})
        """,
    )
    report = session(settings).run(["every-request", "foreign-fields"])
    assert not report.findings
    assert not left_out(report)


def test_an_operator_that_can_not_run_twice_on_a_machine_is_run_alone(session, tmp_path):
    """The second reference run begins beside the first one, and its operator doesn't get the port."""
    settings = operator(
        tmp_path,
        """
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": webapp["metadata"]["name"]}}
        body["metadata"]["namespace"] = webapp["metadata"]["namespace"]
        with suppress(AlreadyExists):
            self.client.create(body)
        """,
    )
    taken = f"import socket\nkept = socket.socket()\nkept.bind(('127.0.0.1', {free_port()}))\nkept.listen()\n"
    file = tmp_path / "small.py"
    file.write_text(taken + file.read_text())
    report = session(settings).run(["late-children"])
    assert report.learned.alone
    assert report.learned.children == ["ConfigMap"]
    assert not report.findings
    assert not left_out(report)


def test_an_operator_that_never_touches_the_sample_is_one_sentence(session, tmp_path):
    """And what it printed: an error of its own may be why."""
    with pytest.raises(AuditError, match=r"never touches the sample(?s:.*)KeyError: 'nothing'"):
        session(operator(tmp_path, "webapp['nothing']")).run()


def test_a_command_that_dies_is_one_sentence(session, tmp_path):
    settings = replace(settings_for(tmp_path, RIGHT), command=(sys.executable, "-c", "print('no'); exit(3)"))
    with pytest.raises(AuditError, match="exited with status 3"):
        session(settings).run()


def test_a_webhook_that_is_not_there_is_one_sentence(session, tmp_path):
    settings = settings_for(tmp_path, RIGHT)
    settings.sample.write_text(settings.sample.read_text().replace("name: shop", "name: shop, labels: {hooked: audit}"))
    made = session(settings)
    rule = {"apiGroups": ["converge.example"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["webapps"]}
    hook = {
        "name": "nobody.audit.example",
        "rules": [rule],
        "objectSelector": {"matchLabels": {"hooked": "audit"}},  # nobody else's objects
        "clientConfig": {"url": "https://127.0.0.1:1/validate"},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }
    api, kind, name = "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "nobody.audit.example"
    made.admin.create({"apiVersion": api, "kind": kind, "metadata": {"name": name}, "webhooks": [hook]})

    def in_force():  # the server hears of the configuration by a watch
        body = yaml.safe_load(settings.sample.read_text())
        body["metadata"] |= {"name": f"probe-{time.monotonic_ns()}", "namespace": "default"}
        try:
            made.admin.create(body)
        except ApiError:
            return True
        made.admin.delete(*WEBAPP, body["metadata"]["name"], "default")
        return False

    try:
        assert eventually(in_force)
        with pytest.raises(AuditError, match=r"A webhook that isn't there: .*nobody.audit.example"):
            made.run()
    finally:
        made.admin.delete(api, kind, name)


def test_a_sample_that_the_server_refuses_is_one_sentence(session, tmp_path):
    settings = settings_for(tmp_path, RIGHT)
    settings.sample.write_text(settings.sample.read_text().replace("replicas: 1", "replicas: many"))
    with pytest.raises(AuditError, match="doesn't fit its CRD"):
        session(settings).run()
