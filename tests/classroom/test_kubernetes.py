"""A class as an Indexed Job: what is created, what is collected, and how a second command goes on with the first.

The Job, its Secrets, its policy and its Pods are real objects of a real API server. No kubelet runs the Pods: KWOK says
of each that it succeeded, and these tests say what its log would hold. So they test the instructor's side alone.
`test_the_pod_s_side_grades_one_submission` tests the other one.
"""

import json
import random
import subprocess
import sys
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from converge import cluster as clusters
from converge.classroom import grading, roster
from converge.classroom.grading import Piece
from converge.classroom.kubernetes import manifests, parcel, status
from converge.classroom.kubernetes.client import Grading
from converge.classroom.kubernetes.manifests import INDEX, RUN, JobSettings
from converge.classroom.kubernetes.parcel import Parcel
from converge.classroom.kubernetes.run import read_run
from converge.classroom.store import ResultStore
from converge.cli import app
from converge.cluster.errors import ClusterError
from converge.grader import course as courses
from converge.grader.checks.verdict import Status
from converge.grader.course.course_toml import CourseError
from converge.runtime import Client, NotFound
from converge.testing.sandbox import jail
from converge.testing.sandbox.jail import NoJailError
from converge.testing.waits.waiting import eventually

COURSE = courses.load()
LAB = COURSE.find("03")
IMAGE = "registry.example/converge:1"
STUCK = "registry.example/converge:bad"  # KWOK leaves a Pod with such an image as it is


# What travels


def test_a_parcel_comes_out_as_it_went_in():
    files = {"a.py": bytes(range(256)), "b.py": "größer\r\n".encode()}
    assert parcel.unpack(Parcel("03_workqueue", ("test_a",), files).pack()) == Parcel(
        "03_workqueue", ("test_a",), files
    )


def result_of(piece, passes=True):
    result = grading.ungraded(piece)
    for check in result.checks:
        check.status, check.parts = (Status.PASSED, {}) if passes else (Status.FAILED, {"message": "wrong"})
    return result


def test_a_result_comes_out_of_a_log_as_it_went_in():
    result = result_of(Piece(roster.Submission("ada", None), LAB), passes=False)
    log = f"a warning\n{parcel.to_line(result)}\n"
    assert parcel.from_log(log) == result


@pytest.mark.parametrize("log", ["", "converge-result:", "converge-result:!!", f"{parcel.MARK}eJyrVg=="])
def test_a_log_without_a_whole_result_has_none(log):
    assert parcel.from_log(log) is None


def test_a_log_that_was_cut_off_has_no_result():
    line = parcel.to_line(result_of(Piece(roster.Submission("ada", None), LAB)))
    assert all(parcel.from_log(line[:length]) is None for length in range(0, len(line), 97))


def test_a_result_that_is_too_long_goes_without_its_timelines():
    result = result_of(Piece(roster.Submission("ada", None), LAB), passes=False)
    result.checks[0].timeline = random.Random(0).randbytes(parcel.LARGEST_LINE).hex()
    found = parcel.from_log(parcel.to_line(result))
    assert found.checks[0].timeline == ""
    assert found.checks[0].parts == {"message": "wrong"}


def test_a_job_lists_indexes_as_ranges():
    assert status.indexes("") == set()
    assert status.indexes("1,3-5,9") == {1, 3, 4, 5, 9}


def test_a_secret_holds_what_fits():
    parcels = [bytes(400 * 1024), bytes(400 * 1024), bytes(400 * 1024), b"small"]
    contents = manifests.packed(parcels)
    assert [sorted(each) for each in contents] == [["0", "1"], ["2", "3"]]
    assert {key: value for each in contents for key, value in each.items()} == dict(zip("0123", parcels, strict=True))


# What is created


@pytest.fixture(scope="module")
def client():
    made = Client(clusters.ensure().kubeconfig)
    yield made
    made.close()


@pytest.fixture
def namespace(client, request):
    name = f"grading-{random.SystemRandom().randrange(16**8):08x}"
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield name
    client.delete("v1", "Namespace", name)


@pytest.fixture
def settings(namespace):
    return JobSettings(namespace, IMAGE, parallelism=4)


def strictly(client, obj, path):
    """What the server would make of an object; it refuses any field that it doesn't know."""
    query = {"dryRun": "All", "fieldValidation": "Strict"}
    return client.connection.request("POST", path, query, asked="try it", body=obj)


@pytest.mark.cluster
def test_the_server_takes_the_job_and_leaves_it_as_it_is(client, settings):
    jobs = f"/apis/batch/v1/namespaces/{settings.namespace}/jobs"
    queued = replace(settings, queue="courses", runtime_class="gvisor")
    job = strictly(client, manifests.job("converge-x", settings, 1000, 9, 900), jobs)
    assert job["spec"]["completionMode"] == "Indexed"
    assert job["spec"]["parallelism"] == 4
    assert strictly(client, manifests.job("converge-x", queued, 1000, 9, 900), jobs)["metadata"]["labels"] == {
        RUN: "converge-x",
        "kueue.x-k8s.io/queue-name": "courses",
    }


@pytest.mark.cluster
def test_the_pods_have_as_little_as_they_can(client, settings):
    pods = f"/api/v1/namespaces/{settings.namespace}/pods"
    spec = strictly(client, manifests.pod("converge-x", settings, 900), pods)["spec"]
    [container] = spec["containers"]
    assert spec["automountServiceAccountToken"] is False
    assert not [each for each in spec["volumes"] if each["name"].startswith("kube-api-access")]
    assert spec["hostUsers"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["activeDeadlineSeconds"] == 900
    assert spec["restartPolicy"] == "Never"
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "procMount": "Unmasked",
        "readOnlyRootFilesystem": True,
    }
    assert set(container["resources"]["limits"]) == {"cpu", "memory", "ephemeral-storage"}
    assert [each["mountPath"] for each in container["volumeMounts"]] == ["/submission", "/tmp"]


@pytest.mark.cluster
def test_a_runtime_class_is_named_and_brings_its_own_namespaces(settings):
    spec = manifests.pod("converge-x", replace(settings, runtime_class="gvisor"), 900)["spec"]
    assert spec["runtimeClassName"] == "gvisor"
    assert "hostUsers" not in spec
    assert "procMount" not in spec["containers"][0]["securityContext"]


# What is collected


class Class:
    """A class on this cluster whose Pods write what `logs` says, by the student's name."""

    def __init__(self, client, settings, folder, students):
        self.client, self.settings, self.store = client, settings, ResultStore(folder / "graded")
        for student in students:
            (folder / "in" / student).mkdir(parents=True)
            (folder / "in" / student / LAB.file).write_text(f"name = {student!r}\n")
        self.submissions = roster.find([folder / "in"])
        self.read, self.stored, self.said = [], [], []
        self.logs = {each.student: self.passed for each in self.submissions}

    def passed(self, piece):
        return parcel.to_line(result_of(piece))

    def left(self, only=None):
        return grading.pieces(self.store, self.submissions, [LAB], only or {})

    def pods(self):
        return self.client.list("v1", "Pod", self.settings.namespace, label_selector=RUN)

    def job(self):
        [job] = self.client.list("batch/v1", "Job", self.settings.namespace)
        return job

    def read_log(self, client, namespace, pod):
        """Stands for the kubelet: the submission that this Pod has mounted decides what it wrote."""
        found = client.get("v1", "Pod", pod, namespace)
        opened = self.mounted(found)
        student = opened.files[LAB.file].decode().split("'")[1]
        self.read.append(student)
        only = tuple(LAB.check(name) for name in opened.only) or None
        return self.logs[student](Piece(roster.Submission(student, None), LAB, only))

    def mounted(self, pod):
        """The parcel that the kubelet would put at the Pod's `subPathExpr`."""
        [volume] = [each for each in pod["spec"]["volumes"] if "projected" in each]
        index = pod["metadata"]["annotations"][INDEX]
        for source in volume["projected"]["sources"]:
            secret = self.client.get("v1", "Secret", source["secret"]["name"], pod["metadata"]["namespace"])
            if index in secret["data"]:
                return parcel.unpack(parcel.base64.b64decode(secret["data"][index]))
        raise AssertionError(f"no Secret has {index}")

    def grade(self, todo=None, on_stored=None):
        def stored(piece, result):
            self.stored.append(piece.submission.student)
            if on_stored:
                on_stored(piece, result)

        made = Grading(self.client, self.settings, COURSE, self.store, stored, self.said.append, read_log=self.read_log)
        made.grade(self.left() if todo is None else todo)

    def nothing_is_left(self):
        """The Job has gone, and garbage collection takes all that belonged to it."""
        kinds = (("batch/v1", "Job"), ("v1", "Secret"), ("networking.k8s.io/v1", "NetworkPolicy"), ("v1", "Pod"))
        eventually(
            lambda: (
                not [
                    each
                    for kind in kinds
                    for each in self.client.list(*kind, self.settings.namespace, label_selector=RUN)
                ]
            ),
            when="the Job is deleted with all that belongs to it",
        )
        return not (self.store.folder / "kubernetes.jsonl").exists()


@pytest.fixture
def make(client, settings, tmp_path, monkeypatch):
    monkeypatch.setattr("converge.classroom.kubernetes.client.LOOK_AGAIN", 1.0)
    return lambda *students, **changed: Class(client, replace(settings, **changed), tmp_path, students)


@pytest.mark.cluster
def test_every_submission_gets_its_own_result(make):
    made = make("ada", "bob", "eve")
    made.logs["bob"] = lambda piece: parcel.to_line(result_of(piece, passes=False))
    made.grade()
    points = {each.student: made.store.read(each.key, LAB).points for each in made.submissions}
    assert points == {"ada": LAB.points, "bob": 0, "eve": LAB.points}
    assert made.store.read("bob", LAB).against == "bob"
    assert sorted(made.stored) == ["ada", "bob", "eve"]
    assert made.left() == []
    assert made.nothing_is_left()


@pytest.mark.cluster
def test_a_submission_that_was_not_handed_in_needs_no_pod(make):
    made = make("ada")
    made.submissions.append(roster.Submission("zoe", None))
    made.grade()
    assert made.read == ["ada"]
    assert made.store.read("zoe", LAB).points == 0


@pytest.mark.cluster
def test_a_closed_client_goes_on_with_the_same_job(make, client):
    made = make("ada", "bob", "eve", "joe")
    for student in ("bob", "eve"):
        with (made.submissions[0].source.parent / student / LAB.file).open("a") as file:
            file.write("import gc\n")

    def close(piece, result):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made.grade(on_stored=close)
    begun = made.job()["metadata"]["uid"]
    _, collected = read_run(made.store.folder / "kubernetes.jsonl")
    assert len(collected) == 1
    seen = []
    made.grade(on_stored=lambda piece, result: seen.append(made.job()["metadata"]["uid"]))
    assert seen == [begun] * 3
    assert sorted(made.stored) == ["ada", "bob", "eve", "joe"]
    assert sorted(made.read) == ["ada", "bob", "eve", "joe"]
    attempts = [json.loads(made.store.path(each.key, LAB).read_text())["attempts"] for each in made.submissions]
    assert attempts == [1, 1, 1, 1]
    held = [made.store.read(each.key, LAB).held for each in made.submissions]
    assert held == ["", "line 2: import of gc", "line 2: import of gc", ""]
    assert made.nothing_is_left()


@pytest.mark.cluster
def test_a_job_that_was_interrupted_before_its_submissions_were_there_is_begun_again(make, monkeypatch):
    made, belongings = make("ada", "bob"), manifests.belongings
    monkeypatch.setattr(manifests, "belongings", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        made.grade()
    begun = made.job()
    assert begun["spec"]["suspend"]
    assert not made.pods()
    monkeypatch.setattr(manifests, "belongings", belongings)
    made.grade()
    assert sorted(made.stored) == ["ada", "bob"]
    with pytest.raises(NotFound):
        made.client.get("batch/v1", "Job", begun["metadata"]["name"], made.settings.namespace)


@pytest.mark.cluster
def test_a_result_that_was_lost_with_its_node_is_graded_again(make):
    made = make("ada", "bob")
    made.logs["bob"] = lambda piece: "" if made.read.count("bob") < 3 else made.passed(piece)
    made.grade()
    assert made.stored.count("bob") == 1
    assert made.store.read("bob", LAB).passed
    assert made.left() == []


@pytest.mark.cluster
def test_logs_that_no_one_can_read_end_the_command(make):
    made = make("ada")
    made.logs["ada"] = lambda piece: ""
    with pytest.raises(ClusterError, match="no result could be read"):
        made.grade()
    assert made.left()


@pytest.mark.cluster
def test_one_check_is_graded_again_and_the_others_stay(make):
    made = make("ada", "bob")
    made.logs["ada"] = lambda piece: parcel.to_line(result_of(piece, passes=False))
    made.grade()
    made.logs["ada"] = made.passed
    made.grade(made.left({LAB: (LAB.checks[1],)}))
    assert made.store.read("ada", LAB).points == LAB.checks[1].points


@pytest.mark.cluster
def test_a_result_of_other_checks_is_never_taken(make):
    made = make("ada")
    other = COURSE.find("04")
    made.logs["ada"] = lambda piece: parcel.to_line(result_of(Piece(piece.submission, other)))
    made.grade()
    result = made.store.read("ada", LAB)
    assert result.points == 0
    assert "same version" in result.trouble


def ended(code, reason="Error"):
    """The status of a Pod that failed, as a kubelet would write it."""
    state = {"terminated": {"exitCode": code, "reason": reason, "finishedAt": "2026-01-01T00:00:00Z"}}
    container = {"name": "grade", "image": STUCK, "imageID": "", "ready": False, "restartCount": 0, "state": state}
    return {"status": {"phase": "Failed", "containerStatuses": [container]}}


def fail_pods(made, code, reason="Error", conditions=()):
    """Play the kubelet for the Pods of a class whose image KWOK leaves alone. Returns how many failed."""
    count = 0
    for pod in made.pods():
        if pod["status"]["phase"] == "Pending":
            change = ended(code, reason)
            change["status"]["conditions"] = list(conditions)
            name = pod["metadata"]["name"]
            made.client.patch("v1", "Pod", name, made.settings.namespace, change, subresource="status")
            count += 1
    return count


def begin(made):
    """Begin a Job and close the client at once."""

    class ClosedError(Exception):
        pass

    def watched(self, run):
        raise ClosedError
        yield

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Grading, "_watched", watched)
        with pytest.raises(ClosedError):
            made.grade()


@pytest.mark.cluster
def test_a_poison_submission_is_tried_three_times_and_then_blames_the_grader(make):
    made = make("eve", image=STUCK)
    begin(made)
    for _ in range(1 + manifests.TRIES_AGAIN):
        eventually(lambda: fail_pods(made, 137, "OOMKilled"), when="a Pod to fail")
    eventually(lambda: status.is_finished(made.job()), when="the Job gives up")
    assert made.job()["status"]["failedIndexes"] == "0"
    made.logs["eve"] = lambda piece: "Killed"
    made.grade()
    result = made.store.read("eve", LAB)
    assert result.is_ours
    assert "3 times" in result.trouble
    assert "OOMKilled" in result.trouble
    assert made.nothing_is_left()


@pytest.mark.cluster
def test_an_evicted_pod_is_graded_again_and_not_counted(make):
    made = make("ada", image=STUCK)
    begin(made)
    evicted = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    for _ in range(3 + manifests.TRIES_AGAIN):
        eventually(lambda: fail_pods(made, 137, conditions=[evicted]), when="a Pod to evict")
    eventually(
        lambda: any(pod["status"]["phase"] == "Pending" for pod in made.pods()),
        when="another Pod after so many evictions",
    )
    assert not status.is_finished(made.job())


@pytest.mark.cluster
def test_pods_that_cannot_isolate_end_the_job_at_once(make):
    made = make("ada", "bob", "eve", image=STUCK, parallelism=1)
    begin(made)
    eventually(lambda: fail_pods(made, parcel.NO_JAIL), when="a Pod to fail")
    made.logs = dict.fromkeys(made.logs, lambda piece: "bubblewrap can't isolate submissions on this machine: no\n")
    with pytest.raises(NoJailError, match="bubblewrap can't isolate"):
        made.grade()
    assert made.stored == []
    assert made.nothing_is_left()


@pytest.mark.cluster
def test_a_pod_that_cannot_start_is_mentioned_once(make):
    made = make("ada", "bob", image=STUCK)
    begin(made)
    eventually(lambda: [pod for pod in made.pods() if status.cannot_start(pod)], when="KWOK refuses the image")

    def close(client, namespace, pod):
        raise AssertionError("nothing has ended")

    made.read_log = close
    with pytest.MonkeyPatch.context() as patch:
        watched = Grading._watched

        def twice(self, run):
            for number, seen in enumerate(watched(self, run)):
                if number > 3:
                    raise KeyboardInterrupt
                yield seen

        patch.setattr(Grading, "_watched", twice)
        with pytest.raises(KeyboardInterrupt):
            made.grade()
    assert len([line for line in made.said if "can't start: ErrImagePull" in line]) == 1


@pytest.mark.cluster
def test_a_namespace_that_refuses_the_pods_is_named_before_any_job(make, client):
    made = make("ada")
    label = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "baseline"}}}
    client.patch("v1", "Namespace", made.settings.namespace, None, label)
    with pytest.raises(CourseError, match=r"doesn't take the Pods that grade: .*PodSecurity"):
        made.grade()
    assert not client.list("batch/v1", "Job", made.settings.namespace)
    assert not (made.store.folder / "kubernetes.jsonl").exists()


@pytest.mark.cluster
def test_a_namespace_that_was_made_a_moment_ago_takes_the_pods(make, client):
    made = make("ada")
    name = f"new-{made.settings.namespace}"
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    try:
        made.settings = replace(made.settings, namespace=name)
        made.grade()  # its ServiceAccount comes after it
        assert made.stored == ["ada"]
    finally:
        client.delete("v1", "Namespace", name)


@pytest.mark.cluster
def test_a_job_on_another_cluster_is_not_forgotten(make):
    made = make("ada", image=STUCK)
    begin(made)
    path = made.store.folder / "kubernetes.jsonl"
    name = made.job()["metadata"]["name"]
    path.write_text(
        path.read_text().replace(made.client.connection.server, "https://other").replace(name, "converge-1")
    )
    with pytest.raises(CourseError, match="names a Job on https://other"):
        made.grade()
    assert path.exists()


@pytest.mark.cluster
@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--on", "mars"], "--on takes here or kubernetes"),
        (["--on", "kubernetes"], "needs --image"),
        (["--namespace", "grading"], "Only --on kubernetes has a context"),
        (["--on", "kubernetes", "--image", IMAGE, "--context", "nowhere"], "nowhere"),
    ],
)
def test_wrong_options_get_one_line(options, says, tmp_path, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(clusters.ensure().kubeconfig))
    (tmp_path / "in" / "ada").mkdir(parents=True)
    arguments = ["grade", str(tmp_path / "in"), "--lab", "03", "--out", str(tmp_path / "out"), *options]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2
    assert says in done.output


@pytest.mark.cluster
def test_nothing_is_graded_where_what_a_submission_makes_would_run(tmp_path, monkeypatch):
    there = replace(clusters.ensure(), provider="kind", pods_are_real=True)
    monkeypatch.setattr(clusters, "current", lambda: there)
    (tmp_path / "in" / "ada").mkdir(parents=True)
    done = CliRunner().invoke(app, ["grade", str(tmp_path / "in"), "--lab", "01", "--out", str(tmp_path / "out")])
    assert isinstance(done.exception, ClusterError)
    assert "would run outside of its jail" in str(done.exception)
    assert not list((tmp_path / "out").rglob("*.json"))


@pytest.mark.cluster
def test_the_command_grades_on_the_cluster_of_the_kubeconfig(make, namespace, tmp_path, monkeypatch):
    made = make("ada", "bob")
    monkeypatch.setenv("KUBECONFIG", str(clusters.ensure().kubeconfig))
    monkeypatch.setattr(Grading.__init__, "__defaults__", (made.read_log,))
    where = ["--on", "kubernetes", "--namespace", namespace, "--image", IMAGE, "--parallelism", "1"]
    arguments = ["grade", str(tmp_path / "in"), "--lab", "03", "--out", str(made.store.folder), *where]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    table = (made.store.folder / "class.csv").read_text().splitlines()
    assert table[1:] == [f"{name},{LAB.points},{LAB.points},{LAB.points}," for name in ("ada", "bob")]


# The other side


@pytest.mark.skipif(bool(jail.refusal()), reason=f"not run: {jail.refusal()}")
@pytest.mark.parametrize("only", [(), ("test_keys_come_out_in_order",)])
def test_the_pod_s_side_grades_one_submission(tmp_path, only):
    only = only or (LAB.checks[0].name, LAB.checks[1].name)
    packed = Parcel(LAB.slug, only, {LAB.file: LAB.solution.read_bytes()}).pack()
    (tmp_path / "parcel").write_bytes(packed)
    command = [sys.executable, "-m", "converge.classroom.kubernetes.pod", str(tmp_path / "parcel")]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=COURSE.root, timeout=100)
    assert ended.returncode == 0, ended.stderr
    result = parcel.from_log(ended.stdout)
    assert result.passed
    assert [check.name for check in result.checks] == list(only)


def test_a_pod_without_a_jail_says_so_and_grades_nothing(monkeypatch, capsys, tmp_path):
    from converge.classroom.kubernetes import pod

    monkeypatch.setattr(jail, "refusal", lambda: "no namespaces here")
    assert pod.main(str(tmp_path / "none")) == parcel.NO_JAIL
    assert capsys.readouterr().out == "no namespaces here\n"
