"""One run of an operator, put together: a namespace, an identity with rights, a recorder, a kubeconfig, the operator.

Fixtures, notebooks and audits all get these parts from here. Each part is made when it's first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from converge.testing.access.identity import drop_namespace, make_account, make_namespace, write_kubeconfig
from converge.testing.access.in_cluster import write_service_account
from converge.testing.access.rights import Rights, Rule, generous
from converge.testing.objects.namespace import Namespace
from converge.testing.operator import SERVICE_ACCOUNT, Launch, Operator
from converge.testing.waits.waiting import interruptions

if TYPE_CHECKING:
    from converge.cluster import Cluster
    from converge.recorder import Recorder
    from converge.runtime import Client

N = TypeVar("N", bound=Namespace)


class Testbed(Generic[N]):
    """What one run of an operator needs."""

    __test__ = False  # pytest: this is not a class of tests

    def __init__(
        self,
        cluster: Cluster,
        admin: Client,
        directory: Path,
        *,
        title: str,
        namespace: Callable[[Client, str], N],
        operator: Callable[[N, Path, Recorder, N | None], Operator],
        rights: Callable[[], Sequence[Rule] | Rights] = tuple,
        tls: bool = False,
        drop: Callable[[Client, str], None] = drop_namespace,
        two_namespaces: bool = False,
    ) -> None:
        """Nothing is made yet. `directory` is for the operator's kubeconfig and is its home.

        `namespace` and `operator` make these two in the caller's own classes; `drop` gets rid of the namespace. With
        `tls` the recorder serves https, which clients in Go and those that know in-cluster credentials insist on. With
        `two_namespaces` the operator serves the whole cluster, but sees only these two and may write only there.
        """
        self.cluster = cluster
        self.admin = admin
        self.directory = directory
        self.title = title
        self._make_namespace = namespace
        self._make_operator = operator
        self._rights = rights
        self._tls = tls
        self._drop = drop
        self._two_namespaces = two_namespaces
        #: Where relative paths of manifests start.
        self.files = Path()

    @cached_property
    def namespace(self) -> N:
        """A fresh namespace, read and written past the recorder."""
        made = self._make_namespace(self.admin, self._names[0])
        made.files = self.files
        return made

    @cached_property
    def other_namespace(self) -> N | None:
        """A second fresh namespace, if the operator is to serve two."""
        return self._make_namespace(self.admin, self._names[1]) if self._two_namespaces else None

    @cached_property
    def _names(self) -> list[str]:
        """Fresh namespaces in the order of a list, so that the operator's own comes first there."""
        return sorted(make_namespace(self.admin) for _ in range(2 if self._two_namespaces else 1))

    @cached_property
    def recorder(self) -> Recorder:
        """The recorder through which the operator reaches the cluster."""
        return self.new_recorder(self.title)

    def new_recorder(self, title: str) -> Recorder:
        """One more recorder, such as that of a second replica. Its caller stops it."""
        from converge.recorder import Recorder

        made = Recorder(self.cluster.server, self.cluster.ca_file, title=title, tls=self._tls).start()
        if self.other_namespace:
            made.show_only(self.namespace.name, self.other_namespace.name)
        return made

    @cached_property
    def kubeconfig(self) -> Path:
        """A kubeconfig with the operator's rights in its namespace or namespaces, through the recorder."""
        recorder, namespace = self.recorder, self.namespace.name
        other = self.other_namespace.name if self.other_namespace else None
        token = make_account(self.admin, namespace, self._rights(), other)
        home = self.directory / "operator"
        home.mkdir(exist_ok=True)
        ca_file = None
        if recorder.served_ca_file:
            files = write_service_account(home / SERVICE_ACCOUNT, token, recorder.served_ca_file, namespace)
            ca_file = files / "ca.crt"
        return write_kubeconfig(home / "kubeconfig", recorder.url, token, namespace, ca_file)

    @cached_property
    def operator(self) -> Operator:
        """The operator, not started. Every wait ends early when it has died."""
        made = self._make_operator(self.namespace, self.kubeconfig, self.recorder, self.other_namespace)
        interruptions.append(made.interrupt)
        return made

    def close(self) -> None:
        """Stop the operator and the recorder, and drop the namespace: of each what was made."""
        if "operator" in self.__dict__:
            interruptions.remove(self.operator.interrupt)
            self.operator.close()
        if "recorder" in self.__dict__:
            self.recorder.stop()
        for each in ("namespace", "other_namespace"):
            if made := self.__dict__.get(each):
                self._drop(self.admin, made.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def command_testbed(
    cluster: Cluster,
    admin: Client,
    directory: Path,
    launch: Launch,
    *,
    title: str,
    rights: Rights | None = None,
    drop: Callable[[Client, str], None] = drop_namespace,
) -> Testbed[Namespace]:
    """A testbed for any command. Without `rights`, it may do all in its namespace and read everywhere."""
    return Testbed(
        cluster,
        admin,
        directory,
        title=title,
        namespace=Namespace,
        operator=lambda namespace, kubeconfig, recorder, other: Operator(
            launch, namespace, kubeconfig, recorder, other
        ),
        rights=lambda: generous() if rights is None else rights,
        tls=True,
        drop=drop,
    )
