"""What an operator may do: read from its author's own Role and ClusterRole, or all that it can need in a test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from converge.testing.objects import manifests

#: A rule as RBAC writes it.
RbacRule = Mapping[str, Any]

EVERYTHING: RbacRule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
READ_EVERYTHING: RbacRule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}
EVERY_PAGE: RbacRule = {"nonResourceURLs": ["*"], "verbs": ["*"]}


class Rule(TypedDict):
    """One line of RBAC in short: what the operator may do in its namespace."""

    group: str
    resources: list[str]
    verbs: list[str]


@dataclass(frozen=True)
class Rights:
    """Rules for the operator's own namespace, and rules for the whole cluster."""

    here: tuple[RbacRule, ...] = ()
    everywhere: tuple[RbacRule, ...] = ()


ALL = Rights((EVERYTHING,), (EVERYTHING, EVERY_PAGE))


def in_namespace(rules: Sequence[Rule]) -> Rights:
    """Just these rules, in the operator's namespace."""
    return Rights(
        tuple({"apiGroups": [each["group"]], "resources": each["resources"], "verbs": each["verbs"]} for each in rules)
    )


def generous(definitions: Iterable[Mapping[str, Any]] = ()) -> Rights:
    """For an operator that came without a Role: all in its namespace, reading in the whole cluster.

    What it does to objects of cluster-scoped kinds that it has defined itself is its own business.
    """
    wide = [each["spec"] for each in definitions if each["spec"].get("scope") == "Cluster"]
    own: list[RbacRule] = [
        {"apiGroups": [each["group"]], "resources": [f"{each['names']['plural']}{part}"], "verbs": ["*"]}
        for each in wide
        for part in ("", "/status", "/finalizers", "/scale")
    ]
    return Rights((EVERYTHING,), (READ_EVERYTHING, EVERY_PAGE, *own))


def read(*paths: Path | str) -> Rights:
    """The rights that manifests give: a Role in the operator's namespace, a ClusterRole in the whole cluster.

    A binding in these files decides where a ClusterRole counts, and roles that none of them binds (for people who
    edit the custom resource) are left out. Without any binding, all roles count.
    """
    documents = manifests.read(*paths)
    roles = manifests.of_kind(documents, "Role", "ClusterRole")
    if not roles:
        raise manifests.ManifestError(f"{_listed(paths)}: there is no Role and no ClusterRole in it")
    bindings = manifests.of_kind(documents, "RoleBinding", "ClusterRoleBinding")
    here: list[RbacRule] = []
    everywhere: list[RbacRule] = []
    for role in roles:
        bound = {each["kind"] for each in bindings if _binds(each, role)}
        if bindings and not bound:
            continue
        rules = role.get("rules") or []
        if "ClusterRoleBinding" in bound or (not bound and role["kind"] == "ClusterRole"):
            everywhere += rules
        else:
            here += rules
    return Rights(tuple(here), tuple(everywhere))


def _binds(binding: Mapping[str, Any], role: Mapping[str, Any]) -> bool:
    reference = binding.get("roleRef", {})
    return (reference.get("kind"), reference.get("name")) == (role["kind"], role["metadata"]["name"])


def _listed(paths: Sequence[Path | str]) -> str:
    return ", ".join(map(str, paths))
