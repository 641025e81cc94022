"""The instructor's side of a run on Kubernetes: starts the Job, collects results, goes on with a Job begun earlier."""

from __future__ import annotations

import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from converge.classroom import grading
from converge.classroom.grading import Piece
from converge.classroom.kubernetes import manifests, parcel, status
from converge.classroom.kubernetes.manifests import JobSettings, Object
from converge.classroom.kubernetes.run import Entry, Run, entry_of, read_run, remember_collected
from converge.classroom.reading import Held
from converge.classroom.store import ResultStore
from converge.cluster.errors import ClusterError
from converge.grader.course import Course
from converge.grader.course.course_toml import CourseError
from converge.grader.course.results import LabResult
from converge.runtime import ApiError, Client, Forbidden, Gone, Invalid, NotFound
from converge.testing.sandbox.jail import NoJailError

LOOK_AGAIN = 10.0  # seconds after which the Job is read again, whatever its Pods do
NEW_NAMESPACE, ASK_AGAIN = 30.0, 0.5  # seconds for a namespace to become ready for Pods, and between two looks
NO_ACCOUNT_YET = 'serviceaccount "default" not found'  # what the server says until then
LOG_TIME = 30.0  # seconds without a word while a log is read

ReadLog = Callable[[Client, str, str], str]


def read_log(client: Client, namespace: str, pod: str) -> str:
    """What a Pod has written, all of it: a kubelet counts the last lines before it joins long ones."""
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}/log"
    query = {"container": manifests.CONTAINER}
    response = client.connection.stream(path, query, asked=f"read the log of {pod}", read_timeout=LOG_TIME)
    try:
        return b"".join(response.stream(None)).decode(errors="replace")
    finally:
        response.close()


class Grading:
    """Grades pieces on a cluster and stores their results as `converge grade` does on one machine."""

    def __init__(
        self,
        client: Client,
        settings: JobSettings,
        course: Course,
        store: ResultStore,
        on_stored: Callable[[Piece, LabResult], None],
        say: Callable[[str], None],
        read_log: ReadLog = read_log,
    ) -> None:
        self.client = client
        self.settings = settings
        self.course = course
        self.store = store
        self.on_stored = on_stored
        self._say = say
        self._said: set[str] = set()
        self._read_log = read_log
        self._remembered = store.folder / "kubernetes.jsonl"

    def grade(self, todo: Sequence[Piece]) -> None:
        """Grade all of it: first what a Job of an earlier command still grades, then the rest in Jobs of its own."""
        left = list(todo)
        try:
            if begun := self._begun():
                run, collected = begun
                self.say(f"Going on with Job {run.name}: {len(collected)} of {len(run.entries)} results are here")
                left = self._without(left, self._finish(run, collected))
            while left:
                started, left_out = self._start(left)
                if not started:
                    return
                run, settled = started, self._finish(started, set())
                if not settled:
                    raise ClusterError(
                        f"Job {run.name} ended, but no result could be read from the logs of its Pods",
                        "check that you may read logs in that namespace, and run the same command again",
                    )
                left = self._without(left_out + self._graded_by(run, left), settled)
        except ApiError as error:
            raise ClusterError(str(error), "a Job that has begun goes on; run the same command again") from None

    def say(self, text: str) -> None:
        """Once each: the same is noticed of many Pods, again and again."""
        if text not in self._said:
            self._said.add(text)
            self._say(text)

    def _without(self, pieces: Sequence[Piece], settled: Sequence[Entry]) -> list[Piece]:
        known = {entry.identity for entry in settled}
        return [piece for piece in pieces if entry_of(piece).identity not in known]

    def _graded_by(self, run: Run, pieces: Sequence[Piece]) -> list[Piece]:
        known = {entry.identity for entry in run.entries}
        return [piece for piece in pieces if entry_of(piece).identity in known]

    # The beginning

    def _begun(self) -> tuple[Run, set[int]] | None:
        """The Job of an earlier command, if it's still there, and what has been collected from it."""
        remembered = read_run(self._remembered)
        if not remembered:
            return None
        run, _ = remembered
        try:
            job = self.client.get("batch/v1", "Job", run.name, run.namespace)
        except NotFound:
            if run.server != self.client.connection.server:
                raise CourseError(
                    f"{self._remembered} names a Job on {run.server}, and this is {self.client.connection.server}. "
                    f"Name that --context; or delete the file, and a new Job grades what is left"
                ) from None
            self._remembered.unlink()
            return None
        if manifests.UPLOADED in job["metadata"].get("annotations", {}):
            return remembered
        self._remove(run)  # interrupted before its submissions were there
        return None

    def _start(self, pieces: Sequence[Piece]) -> tuple[Run | None, list[Piece]]:
        """Begin a Job for as many pieces as one can have; the others come back."""
        entries: list[Entry] = []
        parcels: list[bytes] = []
        seconds, size, rest = 0, 0, list(pieces)
        while rest and size < manifests.LARGEST_JOB:
            piece = rest.pop(0)
            if packed := self._pack(piece):
                held, content = packed
                entries.append(entry_of(piece, held))
                parcels.append(content)
                size += len(content)
                seconds = max(seconds, manifests.deadline(piece.only or piece.lab.checks))
        if not entries:
            return None, rest
        server, namespace = self.client.connection.server, self.settings.namespace
        run = Run(server, namespace, f"converge-{secrets.token_hex(4)}", tuple(entries))
        contents = manifests.packed(parcels)
        self._ask_first(manifests.pod(run.name, self.settings, seconds))
        run.remember(self._remembered)
        job = self.client.create(manifests.job(run.name, self.settings, len(entries), len(contents), seconds))
        for each in manifests.belongings(job, contents):
            self.client.create(each)
        begun: Object = {"metadata": {"annotations": {manifests.UPLOADED: "true"}}}
        if not self.settings.queue:
            begun["spec"] = {"suspend": False}
        self.client.patch("batch/v1", "Job", run.name, run.namespace, begun)
        self.say(f"Job {run.name} grades {len(entries)} submissions. It goes on if this command is interrupted")
        return run, rest

    def _pack(self, piece: Piece) -> tuple[Held | None, bytes] | None:
        """Why a submission is held, and its parcel; None if no Pod has to grade it."""
        with tempfile.TemporaryDirectory(prefix="converge-class-") as scratch:
            refusal, held = grading.prepare(piece, Path(scratch))
            if refusal:
                self.on_stored(piece, grading.keep(self.store, piece, refusal, held))
                return None
            only = [check.name for check in piece.only or ()]
            content = parcel.read(Path(scratch), piece.lab.slug, piece.lab.files, only).pack()
        return held, content

    def _ask_first(self, pod: Object) -> None:
        """Have the server check a Pod without creating it: a Job only says later, and elsewhere, why it has no Pods."""
        path = f"/api/v1/namespaces/{self.settings.namespace}/pods"
        give_up = time.monotonic() + NEW_NAMESPACE
        while True:
            try:
                self.client.connection.request("POST", path, {"dryRun": "All"}, asked="create a Pod", body=pod)
                return
            except (Forbidden, Invalid, NotFound) as error:
                if NO_ACCOUNT_YET not in str(error.answer) or time.monotonic() > give_up:
                    raise CourseError(
                        f"The namespace {self.settings.namespace} doesn't take the Pods that grade: {error.answer}"
                    ) from None
            time.sleep(ASK_AGAIN)

    # The end

    def _finish(self, run: Run, collected: set[int]) -> list[Entry]:
        """Collect all results of a Job and remove it. Returns what is settled; what isn't has to be graded again."""
        for job, pods in self._watched(run):
            for pod in pods:
                self._look_at(run, pod, collected)
            if why := status.failed_for(job, "PodFailurePolicy"):
                sentence = self._refusal(run, pods) or why
                self._remove(run)
                raise NoJailError(f"the Pods of this cluster can't grade: {sentence}")
            if status.is_finished(job) or len(collected) == len(run.entries):
                for index in sorted(status.indexes(job["status"].get("failedIndexes", "")) - collected):
                    last = max((pod for pod in pods if status.index_of(pod) == index), key=status.created, default=None)
                    self._keep(run, index, self._failure(run, index, last), collected)
                self._remove(run)
                break
        return [run.entries[index] for index in collected]

    def _watched(self, run: Run) -> Iterator[tuple[Object, list[Object]]]:
        """The Job with all of its Pods, again and again, and the Pods that change in between."""
        selector = f"{manifests.RUN}={run.name}"
        while True:
            job = self.client.get("batch/v1", "Job", run.name, run.namespace)
            pods = self.client.list("v1", "Pod", run.namespace, label_selector=selector)
            yield job, list(pods)
            try:
                with self.client.watch(
                    "v1",
                    "Pod",
                    run.namespace,
                    resource_version=pods.resource_version,
                    label_selector=selector,
                    timeout=LOOK_AGAIN,
                    idle_timeout=2 * LOOK_AGAIN,
                ) as events:
                    for event in events:
                        yield job, [event.object] if event.type == "MODIFIED" else []
            except Gone:
                continue  # it waited for too long: list again

    def _look_at(self, run: Run, pod: Object, collected: set[int]) -> None:
        index = status.index_of(pod)
        if index in collected or not 0 <= index < len(run.entries):
            return
        if pod["status"].get("phase") == "Succeeded":
            if result := parcel.from_log(self._log(run, pod)):
                self._keep(run, index, result, collected)
        elif reason := status.cannot_start(pod):
            self.say(f"A Pod can't start: {reason}")

    def _log(self, run: Run, pod: Object) -> str:
        try:
            return self._read_log(self.client, run.namespace, pod["metadata"]["name"])
        except ApiError as error:
            self.say(f"A log can't be read, so that submission may be graded again: {error}")
            return ""

    def _keep(self, run: Run, index: int, result: LabResult, collected: set[int]) -> None:
        entry = run.entries[index]
        piece = entry.piece(self.course)
        if result.lab != piece.lab.slug or {each.name for each in result.checks} != expected(piece):
            result = troubled(piece, "its Pod graded other checks than these: is the image of the same version?")
        stored = grading.keep(self.store, piece, result, entry.held)
        remember_collected(self._remembered, index)
        collected.add(index)
        self.on_stored(piece, stored)

    def _failure(self, run: Run, index: int, pod: Object | None) -> LabResult:
        """The result of an index that Kubernetes has given up: what its last Pod said, or else how that ended."""
        log = self._log(run, pod) if pod else ""
        if result := parcel.from_log(log):
            return result
        tries = f"graded {manifests.TRIES_AGAIN + 1} times without a result"
        ended = status.how_it_ended(pod) if pod else "its Pod is gone"
        return troubled(run.entries[index].piece(self.course), f"{tries}: {ended}\n{log[-2000:]}".strip())

    def _refusal(self, run: Run, pods: Sequence[Object]) -> str:
        """The sentence of a Pod that couldn't isolate its submission."""
        refusing = next((pod for pod in pods if status.exit_code(pod) == parcel.NO_JAIL), None)
        lines = self._log(run, refusing).strip().splitlines() if refusing else []
        return lines[-1] if lines else ""

    def _remove(self, run: Run) -> None:
        """Delete the Job with its Pods, Secrets and policy, and forget it."""
        try:
            self.client.delete("batch/v1", "Job", run.name, run.namespace, propagation="Background")
        except NotFound:
            pass
        self._remembered.unlink(missing_ok=True)


def troubled(piece: Piece, why: str) -> LabResult:
    """The result of a piece on which the grader failed."""
    result = grading.ungraded(piece)
    result.trouble = why
    return result


def expected(piece: Piece) -> set[str]:
    return {check.name for check in piece.only or piece.lab.checks}
