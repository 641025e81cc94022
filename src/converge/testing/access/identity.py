"""Who the operator under test is: a ServiceAccount of its own, with rights in its namespace, or further."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from converge.testing.access.rights import RbacRule, Rights, Rule, in_namespace
from converge.testing.objects.kinds import custom_kinds, typed
from converge.testing.waits.waiting import eventually

if TYPE_CHECKING:
    from converge.runtime import Client

ACCOUNT = "operator"
TOKEN_LIFETIME = 3600  # seconds
# What an operator may write, and the Pods that are made of it, with the finalizers of their template.
HELD_BY_FINALIZERS = (
    *("Deployment", "StatefulSet", "Pod", "Service", "Secret", "ConfigMap", "PersistentVolumeClaim", "Event", "Lease"),
)


def make_namespace(client: Client) -> str:
    """A fresh namespace whose name tells a submission nothing."""
    name = f"team-{secrets.token_hex(5)}"
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name


def limit_pods(client: Client, namespace: str, most: int) -> None:
    """Let no more Pods than this be in the namespace: one Deployment can ask for a million."""
    hard = {"count/pods": str(most)}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "pods", "namespace": namespace}}
    client.create({**quota, "spec": {"hard": hard}})
    # A quota whose use nobody has counted yet refuses everything. A new namespace has no Pods, so that's known now.
    status = {"status": {"hard": hard, "used": {"count/pods": "0"}}}
    client.patch("v1", "ResourceQuota", "pods", namespace, status, subresource="status")


def make_account(client: Client, namespace: str, rights: Sequence[Rule] | Rights, other: str | None = None) -> str:
    """Create the operator's ServiceAccount with these rights and return a token; the rights are in force.

    With `other`, it has those of its namespace there as well, and may list and watch in the whole cluster.
    """
    granted = rights if isinstance(rights, Rights) else in_namespace(rights)
    here = {"name": ACCOUNT, "namespace": namespace}
    client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": here})
    _bind(client, "Role", here, granted.here, namespace)
    everywhere = [*granted.everywhere]
    if other:
        _bind(client, "Role", {"name": ACCOUNT, "namespace": other}, granted.here, namespace)
        everywhere += [_looking(rule) for rule in granted.here if "list" in rule["verbs"]]
    if everywhere:
        # They end with the namespace: the garbage collector sees to it.
        uid = client.get("v1", "Namespace", namespace)["metadata"]["uid"]
        owner = {"apiVersion": "v1", "kind": "Namespace", "name": namespace, "uid": uid}
        wide = {"name": f"converge:{namespace}", "ownerReferences": [owner]}
        _bind(client, "ClusterRole", wide, everywhere, namespace)
    for rules, where in ((granted.here, namespace), (granted.here if other else [], other), (everywhere, "")):
        if probe := next((rule for rule in rules if _can_be_asked_for(rule)), None):
            wait_for_rights(client, namespace, probe, where=where)
    return token_of(client, namespace)


def _looking(rule: RbacRule) -> RbacRule:
    """What an operator that serves all namespaces needs in all of them."""
    return {**rule, "verbs": [verb for verb in rule["verbs"] if verb in ("list", "watch")]}


def _bind(client: Client, kind: str, metadata: Mapping[str, Any], rules: Sequence[RbacRule], namespace: str) -> None:
    """A role with these rules, and its binding to the operator's account."""
    rbac = "rbac.authorization.k8s.io"
    client.create({"apiVersion": f"{rbac}/v1", "kind": kind, "metadata": dict(metadata), "rules": list(rules)})
    client.create(
        {
            "apiVersion": f"{rbac}/v1",
            "kind": f"{kind}Binding",
            "metadata": dict(metadata),
            "roleRef": {"apiGroup": rbac, "kind": kind, "name": metadata["name"]},
            "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace}],
        }
    )


def _can_be_asked_for(rule: RbacRule) -> bool:
    return bool(rule.get("resources") and rule.get("verbs")) and not rule.get("resourceNames")


def token_of(client: Client, namespace: str, account: str = ACCOUNT) -> str:
    """A token of a ServiceAccount, good for an hour."""
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"name": account, "namespace": namespace},
        "spec": {"expirationSeconds": TOKEN_LIFETIME},
    }
    token: str = client.create(request, subresource="token", name=account)["status"]["token"]
    return token


def wait_for_rights(
    client: Client, namespace: str, rule: RbacRule, account: str = ACCOUNT, where: str | None = None
) -> None:
    """The server learns of a new binding by a watch of its own; wait until it has. `where=""`: in all namespaces."""
    resource, _, subresource = rule["resources"][0].partition("/")
    group = rule.get("group", next(iter(rule.get("apiGroups", [""]))))
    asked = {"verb": rule["verbs"][0], "group": group, "resource": resource, "subresource": subresource}
    place = namespace if where is None else where
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "metadata": {},
        "spec": {
            "user": f"system:serviceaccount:{namespace}:{account}",
            "groups": ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"],
            "resourceAttributes": {"namespace": place, **asked},
        },
    }
    allowed = eventually(lambda: client.create(review)["status"]["allowed"], within=10)
    assert allowed, "the API server did not take up the operator's rights within 10 s"


def write_kubeconfig(path: Path, server: str, token: str, namespace: str, ca_file: Path | None = None) -> Path:
    """A kubeconfig (JSON is YAML) for the operator; only its owner can read it."""
    trust = {"certificate-authority": str(ca_file)} if ca_file else {}
    path.touch(mode=0o600)
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "lab",
        "clusters": [{"name": "lab", "cluster": {"server": server, **trust}}],
        "users": [{"name": ACCOUNT, "user": {"token": token}}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": ACCOUNT, "namespace": namespace}}],
    }
    path.write_text(json.dumps(config))
    return path


def drop_namespace(client: Client, namespace: str) -> None:
    """Delete the namespace with all in it, and let go of what finalizers hold: their operator is gone."""
    from converge.runtime import ApiError, NotFound

    client.delete(*typed("Namespace"), namespace, None)
    for kind in (*custom_kinds(), *HELD_BY_FINALIZERS):
        for each in client.list(*typed(kind), namespace):
            if each["metadata"].get("finalizers"):
                name, free = each["metadata"]["name"], {"metadata": {"finalizers": None}}
                try:
                    client.patch(*typed(kind), name, namespace, free)
                except (NotFound, ApiError):
                    continue  # gone by itself meanwhile
