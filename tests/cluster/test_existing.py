"""A cluster that is someone else's: asked for, used with care, and left as it was found.

The cluster is a local one of another state directory, from which the course's kinds were removed.
"""

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from terminal import Terminal

from converge.cluster import ClusterError, providers

pytestmark = pytest.mark.xdist_group("existing cluster")
DEFINITIONS = ("databases.converge.example", "webapps.converge.example")
WEBAPP = """
apiVersion: converge.example/v1
kind: WebApp
metadata: {name: theirs, namespace: default}
spec: {image: web}
"""


class Owner(Terminal):
    """Someone who has a cluster."""

    def definitions(self) -> set[str]:
        return set(self.converge("kubectl", "get", "crd", "-o", "name").replace("/", " ").split()[1::2])


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Owner]:
    made = Owner(tmp_path_factory.mktemp("owner"))
    made.converge("up", "--provider", "local")
    made.converge("kubectl", "delete", "crd", *DEFINITIONS)
    yield made
    made.converge("down")


def write_config(terminal: Terminal, owner: Owner, **cluster: Any) -> Path:
    """A kubeconfig as some installers write it: certificates in files, named relative to the kubeconfig."""
    directory = terminal.home / ".kube"
    (directory / "pki").mkdir(parents=True)
    for name in ("ca.crt", "admin.crt", "admin.key"):
        (directory / "pki" / name).write_bytes((owner.cluster / "pki" / name).read_bytes())
    server = yaml.safe_load((owner.cluster / "kubeconfig").read_text())["clusters"][0]["cluster"]["server"]
    entry = {"server": server, **(cluster or {"certificate-authority": "pki/ca.crt"})}
    admin = {"client-certificate": "pki/admin.crt", "client-key": "pki/admin.key"}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "other",
        "clusters": [{"name": "theirs", "cluster": entry}],
        "users": [{"name": "admin", "user": admin}, {"name": "other", "user": {"token": "secret of another"}}],
        "contexts": [
            {"name": "theirs", "context": {"cluster": "theirs", "user": "admin"}},
            {"name": "other", "context": {"cluster": "theirs", "user": "other"}},
        ],
    }
    (directory / "config").write_text(yaml.safe_dump(config))
    return directory / "config"


@pytest.fixture
def guest(tmp_path: Path, owner: Owner) -> Terminal:
    """Someone whose kubeconfig knows the owner's cluster."""
    terminal = Terminal(tmp_path)
    write_config(terminal, owner)
    return terminal


def use(guest: Terminal) -> str:
    return guest.converge("up", "--provider", "existing", "--context", "theirs", "--yes")


def test_nothing_is_touched_without_a_yes(guest: Terminal, owner: Owner) -> None:
    asked = guest.converge("up", "--provider", "existing", "--context", "theirs", code=1)
    assert "Use this cluster?" in asked
    assert owner.definitions() == set()
    guest.converge("status", code=1)


def test_a_context_must_be_named_and_known(guest: Terminal) -> None:
    assert "--context theirs|other" in guest.converge("up", "--provider", "existing", code=3)
    unknown = guest.converge("up", "--provider", "existing", "--context", "nowhere", "--yes", code=3)
    assert "no context nowhere" in unknown
    assert "theirs|other" in unknown


def test_the_cluster_is_used_and_left_as_it_was(guest: Terminal, owner: Owner) -> None:
    config = guest.home / ".kube" / "config"
    before = config.read_bytes()
    use(guest)
    assert owner.definitions() == set(DEFINITIONS)
    assert "converge" in guest.converge("kubectl", "get", "nodes")
    assert "(existing)" in guest.converge("status")
    use(guest)
    guest.converge("up")
    assert "no longer used" in guest.converge("down")
    assert owner.definitions() == set()
    assert not guest.cluster.exists()
    assert config.read_bytes() == before


def test_our_copy_has_no_credentials_but_those_needed(guest: Terminal) -> None:
    use(guest)
    ours = guest.cluster / "kubeconfig"
    assert stat.S_IMODE(ours.stat().st_mode) == 0o600
    assert "secret of another" not in ours.read_text()
    guest.converge("down")


def test_a_kind_that_was_there_before_stays(guest: Terminal, owner: Owner) -> None:
    owner.converge("kubectl", "apply", "-f", str(Path(__file__).parents[2] / "crds" / "webapp.yaml"))
    use(guest)
    guest.converge("down")
    assert owner.definitions() == {"webapps.converge.example"}
    owner.converge("kubectl", "delete", "crd", "webapps.converge.example")


def test_a_kind_of_which_someone_has_objects_stays(guest: Terminal, owner: Owner) -> None:
    use(guest)
    (owner.home / "theirs.yaml").write_text(WEBAPP)
    owner.converge("kubectl", "apply", "-f", str(owner.home / "theirs.yaml"))
    said = guest.converge("down")
    assert "webapps.converge.example stays" in said
    assert "default/theirs" in said
    assert owner.definitions() == {"webapps.converge.example"}
    owner.converge("kubectl", "delete", "crd", "webapps.converge.example")


def test_a_server_that_is_not_verified_is_refused(tmp_path: Path, owner: Owner) -> None:
    guest = Terminal(tmp_path)
    write_config(guest, owner, **{"insecure-skip-tls-verify": True})
    said = guest.converge("up", "--provider", "existing", "--context", "theirs", "--yes", code=3)
    assert "not to verify" in said
    assert not guest.cluster.exists()


def test_a_server_that_does_not_answer_is_named(tmp_path: Path, owner: Owner) -> None:
    guest = Terminal(tmp_path)
    write_config(guest, owner, server="https://127.0.0.1:9", **{"certificate-authority": "pki/ca.crt"})
    said = guest.converge("up", "--provider", "existing", "--context", "theirs", "--yes", code=3)
    assert "https://127.0.0.1:9 cannot be used" in said
    assert not guest.cluster.exists()


def test_its_parts_are_not_ours_to_restart() -> None:
    theirs = providers.get("existing")
    with pytest.raises(ClusterError, match="not ours"):
        theirs.restart("kube-apiserver")
    with pytest.raises(ClusterError, match="not ours"):
        theirs.compact()
