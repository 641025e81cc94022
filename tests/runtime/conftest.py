"""A namespace for each test, and the recorder in front of the API server for faults.

The cluster and its administrator come from the course's pytest plugin.
"""

import pytest
from runtime_world import write_kubeconfig

from converge.recorder import Recorder
from converge.runtime import Client


@pytest.fixture
def namespace(admin):
    """A fresh namespace; nobody waits for its end."""
    name = admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "runtime-"}})
    yield name["metadata"]["name"]
    admin.delete("v1", "Namespace", name["metadata"]["name"])


@pytest.fixture(scope="session")
def token(admin):
    """The token of a ServiceAccount that may do everything."""
    account = {"name": "runtime-tests", "namespace": "default"}
    admin.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account}, field_manager="tests")
    admin.apply(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "runtime-tests"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", **account}],
        },
        field_manager="tests",
    )
    wanted = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"namespace": "default"},
        "spec": {},
    }
    return admin.create(wanted, subresource="token", name=account["name"])["status"]["token"]


@pytest.fixture
def recorder(cluster):
    """The recorder, through which `client` talks to the server."""
    with Recorder(server=cluster.server, ca_file=cluster.ca_file) as recorder:
        yield recorder


@pytest.fixture
def kubeconfig(recorder, token, tmp_path):
    """A kubeconfig whose server is the recorder and whose token is in a file."""
    (tmp_path / "token").write_text(token)
    return write_kubeconfig(tmp_path / "kubeconfig", recorder.url, {"tokenFile": str(tmp_path / "token")})


@pytest.fixture
def client(kubeconfig):
    """A client that talks to the server through the recorder."""
    client = Client(kubeconfig=kubeconfig)
    yield client
    client.close()
