"""What a check is given, also for notebooks: a lab's operator in a namespace of its own, seen through a recorder.

    world = lab_testbed("01")                        # the solution of lab 01, not started
    app = world.namespace.webapp(replicas=3)
    world.operator.start()
    …
    world.timeline()                             # the recorder's picture
    world.close()

`lab_testbed("01", "labs")` is the learner's own file; any path to an operator will do.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from converge import cluster as clusters
from converge.grader import course as courses
from converge.grader.checks.course_namespace import CourseNamespace
from converge.grader.course import Lab
from converge.grader.course.submissions import is_program, resolve, rights
from converge.grader.session.lab_jail import jail_of
from converge.grader.session.lab_operator import LabOperator, launch_of
from converge.testing.access.identity import drop_namespace, limit_pods
from converge.testing.operator import Operator
from converge.testing.testbed import Testbed

if TYPE_CHECKING:
    from converge.cluster import Cluster
    from converge.recorder import Recorder
    from converge.runtime import Client


@dataclass(frozen=True)
class Picture:
    """An SVG that Jupyter shows as a picture."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg


# What an untrusted operator may use up of the cluster that it shares with others, in one check. Our solutions need 900
# writes of 3 MB in all at most, however long a check takes, and a dozen Pods.
MOST_WRITES, MOST_STORED, MOST_PODS = 3000, 8 << 20, 60
# What the labs let it write. In lab 16 the Role is its own, and could let it delete its quota, or write what nobody
# frees of a finalizer when the namespace is deleted.
WRITTEN = frozenset(
    (
        *("webapps", "databases", "deployments", "statefulsets", "services", "secrets", "configmaps"),
        *("persistentvolumeclaims", "events", "leases"),
    )
)


class LabTestbed(Testbed[CourseNamespace]):
    """A testbed for the operator of a lab, or for any test of the course that has no lab."""

    def __init__(
        self,
        cluster: Cluster,
        admin: Client,
        directory: Path,
        *,
        title: str,
        lab: Lab | None,
        against: str,
        drop: Callable[[Client, str], None] = drop_namespace,
        two_namespaces: bool = False,
        jailed: bool = False,
    ) -> None:
        self.jailed = jailed

        def new_namespace(client: Client, name: str) -> CourseNamespace:
            if jailed:
                limit_pods(client, name, MOST_PODS)
            return CourseNamespace(client, name, cluster)

        def operator(
            namespace: CourseNamespace, kubeconfig: Path, recorder: Recorder, other: CourseNamespace | None
        ) -> Operator:
            assert lab is not None, "only the checks of a lab have an operator"
            file = resolve(lab, against, directory)
            jail = jail_of(lab, file) if jailed else None
            launch = launch_of(lab, file, None if other else namespace.name, jail)
            return LabOperator(launch, namespace, kubeconfig, recorder, other)

        super().__init__(
            cluster,
            admin,
            directory,
            title=title,
            namespace=new_namespace,
            operator=operator,
            rights=lambda: rights(lab, against) if lab else (),
            tls=is_program(Path(against).expanduser()),  # a client in Go sends no token over plain HTTP
            drop=drop,
            two_namespaces=two_namespaces,
        )

    def new_recorder(self, title: str) -> Recorder:
        """One more recorder. An untrusted operator may write so much and no more."""
        made = super().new_recorder(title)
        if self.jailed:
            made.allow(writes=MOST_WRITES, size=MOST_STORED, resources=WRITTEN)
        return made


class TemporaryTestbed(LabTestbed):
    """A lab's testbed with a directory of its own, for use outside of pytest."""

    def __init__(self, lab: Lab, against: str, title: str, two_namespaces: bool = False) -> None:
        from converge.runtime import Client

        cluster = clusters.ensure()
        self._temporary = tempfile.TemporaryDirectory(prefix="converge-testbed-")
        admin = Client(cluster.kubeconfig, user_agent="kubectl")
        super().__init__(
            cluster,
            admin,
            Path(self._temporary.name),
            title=title,
            lab=lab,
            against=against,
            two_namespaces=two_namespaces,
        )

    def timeline(self, since: float = 0.0) -> Picture:
        """The recorder's picture of the run, from a mark on."""
        from converge.recorder.timeline import svg
        from converge.recorder.timeline.model import Timeline

        return Picture(svg.draw(Timeline.of(self.operator.recorded().since(since))))

    def close(self) -> None:
        super().close()
        self._temporary.cleanup()


def lab_testbed(
    lab: str, against: str | Path = "solutions", title: str = "", *, two_namespaces: bool = False
) -> TemporaryTestbed:
    """Everything for one run of the operator of a lab: its solution, `labs` for your own, or a path.

    With `two_namespaces` the operator serves `namespace` and `other_namespace`.
    """
    chosen = courses.load().find(lab)
    made = TemporaryTestbed(chosen, str(against), title or chosen.title, two_namespaces)
    if chosen.kind == "operator":
        resolve(chosen, str(against), made.directory)  # a path that isn't there is an error now, not at the start
    return made
