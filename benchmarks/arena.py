"""Where operators are measured: a control plane of their own, and the API server's own count of their requests.

Each operator has its own ServiceAccount, and the API server's flow control has to keep a flow for each of them by
kind of request. Its metric of dispatched requests is then an exact count by identity, taken where the requests arrive:
no proxy stands in the way of what is timed.
"""

import os
import re
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from benchmarks.waiting import until
from converge import cluster
from converge.cluster import kubeconfig
from converge.cluster.directories import STATE_VARIABLE
from converge.runtime import Client

ACCOUNTS = "benchmarks"  # the namespace of the operators' ServiceAccounts
_FLOWS = {
    "read": ["get", "list"],
    "watch": ["watch"],
    "write": ["create", "update", "patch", "delete", "deletecollection"],
}
_DISPATCHED = re.compile(
    r'^apiserver_flowcontrol_dispatched_requests_total\{flow_schema="bench-(.+)-(read|watch|write|other)".*\} (\S+)$',
    flags=re.MULTILINE,
)


class Arena:
    """A cluster that is up, seen by an administrator."""

    def __init__(self, up: cluster.Cluster, home: Path) -> None:
        self._cluster = up
        self._home = home
        self.client = Client(kubeconfig=up.kubeconfig)
        self._process = {part.name: psutil.Process(part.pid) for part in up.parts}
        self.client.create(_object("v1", "Namespace", ACCOUNTS))
        self.client.create(
            {
                **_object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", ACCOUNTS),
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
                "subjects": [
                    {
                        "apiGroup": "rbac.authorization.k8s.io",
                        "kind": "Group",
                        "name": f"system:serviceaccounts:{ACCOUNTS}",
                    }
                ],
            }
        )

    def account(self, name: str) -> Path:
        """Make an identity whose requests are counted; return its kubeconfig."""
        self.client.create(_object("v1", "ServiceAccount", name, ACCOUNTS))
        for flow in (*_FLOWS, "other"):
            self.client.create(_flow_schema(name, flow))
        token = self.client.create(
            {**_object("authentication.k8s.io/v1", "TokenRequest", name, ACCOUNTS), "spec": {}},
            subresource="token",
            name=name,
        )
        path = self._home / f"{name}.kubeconfig"
        user = {"token": token["status"]["token"]}
        kubeconfig.write(path, self._cluster.server, user, self._cluster.ca_file.read_bytes())
        own = Client(kubeconfig=path)
        until("counting", lambda: own.get("v1", "Namespace", ACCOUNTS) and self.requests(name)["read"] > 0)
        own.close()
        return path

    def namespace(self, name: str) -> str:
        """Make a namespace."""
        self.client.create(_object("v1", "Namespace", name))
        return name

    def requests(self, account: str) -> Counter[str]:
        """How many requests the account has sent so far: read, watch, write and other."""
        answer = self.client.connection.stream("/metrics", {}, asked="read metrics", read_timeout=30)
        metrics = b"".join(answer.stream()).decode()
        answer.close()
        return Counter({flow: int(float(count)) for who, flow, count in _DISPATCHED.findall(metrics) if who == account})

    def settle(self, account: str, quiet: float = 2.0) -> None:
        """Wait until the account has sent nothing for a while."""
        seen, since = self.requests(account), time.monotonic()
        while time.monotonic() - since < quiet:
            time.sleep(quiet / 8)
            now = self.requests(account)
            if now != seen:
                seen, since = now, time.monotonic()

    @contextmanager
    def without_controller_manager(self) -> Iterator[None]:
        """Hold the controller manager still: its work for each Deployment takes processor time from the operator."""
        process = self._process["kube-controller-manager"]
        process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            process.send_signal(signal.SIGCONT)


@contextmanager
def arena() -> Iterator[Arena]:
    """A fresh local control plane, removed at the end."""
    before = os.environ.get(STATE_VARIABLE)
    with tempfile.TemporaryDirectory(prefix="converge-benchmark-") as home:
        os.environ[STATE_VARIABLE] = str(Path(home) / "state")
        try:
            yield Arena(cluster.up("local"), Path(home))
        finally:
            cluster.down()
            if before is None:
                del os.environ[STATE_VARIABLE]
            else:
                os.environ[STATE_VARIABLE] = before


def _object(api_version: str, kind: str, name: str, namespace: str | None = None) -> dict:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _flow_schema(account: str, flow: str) -> dict:
    rule: dict = {
        "subjects": [{"kind": "ServiceAccount", "serviceAccount": {"name": account, "namespace": ACCOUNTS}}],
    }
    if flow == "other":
        rule["nonResourceRules"] = [{"verbs": ["*"], "nonResourceURLs": ["*"]}]
    else:
        everything = {"apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True}
        rule["resourceRules"] = [{"verbs": _FLOWS[flow], **everything}]
    return {
        **_object("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", f"bench-{account}-{flow}"),
        "spec": {
            "matchingPrecedence": 10,
            "priorityLevelConfiguration": {"name": "exempt"},  # counted, never queued
            "rules": [rule],
        },
    }
