"""What every cluster of the course allows and refuses: identities by token, rights by RBAC."""

from pathlib import Path

import pytest
from contract import CONFIG_MAP, config_map

from converge.cluster import Cluster, kubeconfig
from converge.cluster.bootstrap import until
from converge.runtime import Client, Forbidden, RuntimeProblem, Unauthorized

RBAC = "rbac.authorization.k8s.io/v1"


def as_bearer(cluster: Cluster, token: str, directory: Path) -> Client:
    path = directory / "kubeconfig"
    kubeconfig.write(path, cluster.server, {"token": token}, cluster.ca_file.read_bytes())
    return Client(kubeconfig=path)


def token_of(client: Client, namespace: str, account: str) -> str:
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"namespace": namespace},
        "spec": {"expirationSeconds": 600},
    }
    return str(client.create(request, subresource="token", name=account)["status"]["token"])


def test_a_role_allows_one_verb_and_refuses_the_next(
    cluster: Cluster, client: Client, namespace: str, tmp_path: Path
) -> None:
    client.create(config_map(namespace, "readable"))
    place = {"name": "reader", "namespace": namespace}
    client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": place})
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
    client.create({"apiVersion": RBAC, "kind": "Role", "metadata": place, "rules": [rule]})
    binding = {
        "apiVersion": RBAC,
        "kind": "RoleBinding",
        "metadata": place,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"kind": "ServiceAccount", **place}],
    }
    client.create(binding)
    reader = as_bearer(cluster, token_of(client, namespace, "reader"), tmp_path)

    def may_read() -> bool:  # the authorizer sees a new binding a moment after it was made
        return reader.get(*CONFIG_MAP, "readable", namespace)["metadata"]["name"] == "readable"

    until("the right to get", may_read, within=10)
    with pytest.raises(Forbidden) as refused:
        reader.delete(*CONFIG_MAP, "readable", namespace)
    assert refused.value.status == 403
    assert f'"system:serviceaccount:{namespace}:reader" cannot delete resource "configmaps"' in str(refused.value)
    with pytest.raises(Forbidden):
        reader.list(*CONFIG_MAP, namespace)
    with pytest.raises(Forbidden):
        reader.get(*CONFIG_MAP, "kube-root-ca.crt", "default")


def test_a_token_that_nobody_signed_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    with pytest.raises(Unauthorized):
        as_bearer(cluster, "not.a.token", tmp_path).get(*CONFIG_MAP, "any", "default")


def test_a_server_with_another_certificate_is_not_talked_to(cluster: Cluster, tmp_path: Path) -> None:
    from converge.cluster.pki import Pki

    strangers = Pki(tmp_path / "strangers")
    strangers.make()
    path = tmp_path / "kubeconfig"
    kubeconfig.write(path, cluster.server, {"token": "secret"}, strangers.cert("ca").read_bytes())
    with pytest.raises(RuntimeProblem, match=r"(?i)certificate"):
        Client(kubeconfig=path).get(*CONFIG_MAP, "any", "default")
