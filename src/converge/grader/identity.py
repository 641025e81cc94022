"""Who the operator under test is: a ServiceAccount of its own, with the rights of its lab, in one namespace."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from converge.grader.course import Rule
from converge.grader.kinds import typed
from converge.grader.waiting import eventually

if TYPE_CHECKING:
    from converge.runtime import Client

NAME = "operator"
LIFETIME = 3600  # seconds
HELD = ("WebApp", "Database", "Deployment", "StatefulSet", "Service", "Secret", "PersistentVolumeClaim")


def make_namespace(client: Client) -> str:
    """A fresh namespace whose name tells a submission nothing."""
    name = f"team-{secrets.token_hex(5)}"
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name


def make_account(client: Client, namespace: str, rights: tuple[Rule, ...]) -> str:
    """Create the operator's ServiceAccount with these rights and return a token; the rights are in force."""
    here = {"name": NAME, "namespace": namespace}
    rbac = "rbac.authorization.k8s.io"
    subject = {"kind": "ServiceAccount", **here}
    rules = [{"apiGroups": [rule["group"]], "resources": rule["resources"], "verbs": rule["verbs"]} for rule in rights]
    client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": here})
    client.create({"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": here, "rules": rules})
    client.create(
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": here,
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": NAME},
            "subjects": [subject],
        }
    )
    if rules:
        wait_for_rights(client, namespace, rights[0])
    return token_of(client, namespace)


def token_of(client: Client, namespace: str, account: str = NAME) -> str:
    """A token of a ServiceAccount, good for an hour."""
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"name": account, "namespace": namespace},
        "spec": {"expirationSeconds": LIFETIME},
    }
    token: str = client.create(request, subresource="token", name=account)["status"]["token"]
    return token


def wait_for_rights(client: Client, namespace: str, rule: Rule, account: str = NAME) -> None:
    """The server learns of a new RoleBinding by a watch of its own; wait until it has."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "metadata": {},
        "spec": {
            "user": f"system:serviceaccount:{namespace}:{account}",
            "groups": ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"],
            "resourceAttributes": {
                "namespace": namespace,
                "verb": rule["verbs"][0],
                "group": rule["group"],
                "resource": rule["resources"][0],
            },
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
        "users": [{"name": NAME, "user": {"token": token}}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": NAME, "namespace": namespace}}],
    }
    path.write_text(json.dumps(config))
    return path


def drop_namespace(client: Client, namespace: str) -> None:
    """Delete the namespace with all in it, and let go of what finalizers hold: their operator is no more."""
    from converge.runtime import ApiError, NotFound

    client.delete(*typed("Namespace"), namespace, None)
    for kind in HELD:
        for each in client.list(*typed(kind), namespace):
            if each["metadata"].get("finalizers"):
                name, free = each["metadata"]["name"], {"metadata": {"finalizers": None}}
                try:
                    client.patch(*typed(kind), name, namespace, free)
                except (NotFound, ApiError):
                    continue  # gone by itself meanwhile
