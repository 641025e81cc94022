"""One run of the operator under audit: a fresh namespace, its identity, a recorder with TLS, and the process itself."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from converge.audit.audited_operator import AuditedOperator
from converge.audit.inputs import Inputs, is_cluster_wide, put_there
from converge.audit.settings import Settings
from converge.testing.access import pod_env, rights
from converge.testing.objects.kinds import typed
from converge.testing.objects.namespace import Namespace
from converge.testing.operator import Launch
from converge.testing.testbed import Testbed
from converge.testing.waits.waiting import eventually

if TYPE_CHECKING:
    from converge.cluster import Cluster
    from converge.recorder import Recorder
    from converge.runtime import Client

WORKLOADS = ("Deployment", "StatefulSet", "Job")  # there is no rest while one of them rolls out or runs
START_SECONDS = 30.0  # seconds until its first list or watch


class AuditTestbed(Testbed[Namespace]):
    """A testbed for the operator that the settings describe."""

    def __init__(self, cluster: Cluster, admin: Client, settings: Settings, inputs: Inputs, title: str) -> None:
        self._temporary = tempfile.mkdtemp(prefix="converge-audit-")
        self.settings = settings
        self.inputs = inputs
        super().__init__(
            cluster,
            admin,
            Path(self._temporary),
            title=title,
            namespace=self._prepared,
            operator=self._operator,
            rights=lambda: rights.read(settings.rights) if settings.rights else rights.ALL,
            tls=True,
        )

    def _prepared(self, client: Client, name: str) -> Namespace:
        """The namespace with what the sample needs besides."""
        made = Namespace(client, name)
        for each in self.inputs.others:
            if not is_cluster_wide(client, each):
                put_there(client, {**each, "metadata": {**each["metadata"], "namespace": name}})
        return made

    def _operator(
        self, namespace: Namespace, kubeconfig: Path, recorder: Recorder, other: Namespace | None
    ) -> AuditedOperator:
        made = AuditedOperator(launch_of(self.settings), namespace, kubeconfig, recorder)
        made.environment = pod_env.environment(namespace.name) | dict(made.launch.environment)
        return made

    @cached_property
    def audited_operator(self) -> AuditedOperator:
        """The same as `operator`, for what only this kind of operator has."""
        operator = self.operator
        assert isinstance(operator, AuditedOperator)
        return operator

    def close(self) -> None:
        """End it all. Objects that the next operator could take for its own are gone when this returns."""
        used = "namespace" in self.__dict__
        super().close()
        try:
            if used:
                self._forget()
        finally:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _forget(self) -> None:
        """Delete the objects now: the server gets to them only some time after it has heard of the namespace's end."""
        from converge.runtime import ApiError

        kind, namespace = typed(self.inputs.kind), self.namespace.name

        def gone() -> bool:
            left = self.admin.list(*kind, namespace)
            for each in left:
                with suppress(ApiError):  # gone by itself meanwhile
                    if each["metadata"].get("finalizers"):
                        self.admin.patch(*kind, each["metadata"]["name"], namespace, {"metadata": {"finalizers": None}})
                    self.admin.delete(*kind, each["metadata"]["name"], namespace)
            return not left

        eventually(gone, within=10)


def launch_of(settings: Settings) -> Launch:
    """How the operator is started."""
    return Launch(
        (settings.program(), *settings.command[1:]),
        environment=dict(settings.environment),
        directory=settings.directory.resolve(),
        in_cluster=settings.in_cluster,
        confined=bool(settings.preload),
        preload=settings.preload,
        start_seconds=START_SECONDS,
        workloads=WORKLOADS,
    )
