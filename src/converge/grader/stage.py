"""The fixtures of a check, for notebooks: an operator in a namespace of its own, seen through a recorder.

    world = stage("01")                          # the solution of lab 01, not started
    app = world.namespace.webapp(replicas=3)
    world.operator.start()
    …
    world.timeline()                             # the recorder's picture
    world.close()

`stage("01", "labs")` is the learner's own file; any path to an operator will do.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from converge import cluster
from converge.grader import course
from converge.grader.against import resolve
from converge.grader.identity import drop_namespace, make_account, make_namespace, write_kubeconfig
from converge.grader.namespace import Namespace
from converge.grader.operator import Operator
from converge.grader.recorder import Recorder, svg
from converge.grader.recorder.timeline import Timeline
from converge.runtime import Client


@dataclass(frozen=True)
class Picture:
    """An SVG that Jupyter shows as what it is."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg


@dataclass(frozen=True)
class Stage:
    """What a check is given, outside of a check."""

    namespace: Namespace
    recorder: Recorder
    operator: Operator
    kubeconfig: Path  # of the lab's own identity, through the recorder
    _folder: tempfile.TemporaryDirectory[str]

    def timeline(self, since: float = 0.0) -> Picture:
        """The recorder's picture of the run, from a mark on."""
        return Picture(svg.draw(Timeline.of(self.operator.recorded().since(since))))

    def close(self) -> None:
        """Stop the operator and remove the namespace. The recording stays."""
        self.operator.close()
        self.recorder.stop()
        drop_namespace(self.namespace.client, self.namespace.name)
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def stage(lab: str, against: str | Path = "solutions", title: str = "") -> Stage:
    """Everything for one run of the operator of a lab: its solution, `labs` for your own, or a path."""
    there, chosen = cluster.ensure(), course.load().find(lab)
    folder = tempfile.TemporaryDirectory(prefix="converge-stage-")
    home = Path(folder.name)
    admin = Client(there.kubeconfig, user_agent="kubectl")
    namespace = Namespace(admin, there, make_namespace(admin))
    recorder = Recorder(there.server, there.ca_file, title=title or chosen.title).start()
    token = make_account(admin, namespace.name, chosen.rights)
    kubeconfig = write_kubeconfig(home / "kubeconfig", recorder.url, token, namespace.name)
    operator = Operator(chosen, resolve(chosen, str(against), home), namespace, kubeconfig, recorder)
    return Stage(namespace, recorder, operator, kubeconfig, folder)
