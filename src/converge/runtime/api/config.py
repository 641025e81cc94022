"""Which cluster, and as whom: the order in which configuration is looked for.

As controller-runtime does: the kubeconfig that was named, else ``$KUBECONFIG``, else the ServiceAccount of
the Pod this runs in, else ``~/.kube/config``. The reading itself is the official client's.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from converge.runtime.api.errors import ConfigError
from converge.runtime.api.official import official

_POD_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """A cluster to talk to and the credentials to do it with."""

    configuration: Any  # kubernetes.client.Configuration
    namespace: str
    source: str


def load_config(kubeconfig: str | os.PathLike[str] | None = None, context: str | None = None) -> ClusterConfig:
    """Find and read the configuration; raise `ConfigError` saying where it was looked for."""
    if kubeconfig is not None:
        return _from_kubeconfig(os.fspath(kubeconfig), context)
    if named := os.environ.get("KUBECONFIG"):
        return _from_kubeconfig(named, context)
    if os.environ.get("KUBERNETES_SERVICE_HOST") and context is None:
        return _from_pod()
    default = Path("~/.kube/config").expanduser()
    if not default.exists():
        raise ConfigError(
            f"no cluster to talk to: $KUBECONFIG is not set, there is no {default}, and this is not a Pod. "
            "Set KUBECONFIG, or name a kubeconfig file."
        )
    return _from_kubeconfig(str(default), context)


def _from_kubeconfig(path: str, context: str | None) -> ClusterConfig:
    # $KUBECONFIG may name several files, which are merged; it is enough that one of them exists.
    files = [Path(part).expanduser() for part in path.split(os.pathsep) if part]
    if not any(file.exists() for file in files):
        raise ConfigError(f"there is no kubeconfig at {path}")
    parts = official()
    configuration = parts.configuration()
    try:
        parts.load_kube_config(config_file=path, context=context, client_configuration=configuration)
        contexts, active = parts.list_kube_config_contexts(config_file=path)
    except Exception as error:  # yaml, files and missing keys alike: what matters is that it cannot be used
        raise ConfigError(f"the kubeconfig {path} cannot be used: {error}") from error
    chosen = next((one for one in contexts if one["name"] == context), active)
    namespace = chosen.get("context", {}).get("namespace") or "default"
    return ClusterConfig(configuration, namespace, f"kubeconfig {path}")


def _from_pod() -> ClusterConfig:
    parts = official()
    configuration = parts.configuration()
    try:
        parts.load_incluster_config(client_configuration=configuration)
        namespace = _POD_NAMESPACE.read_text().strip()
    except (parts.config_exception, OSError) as error:
        raise ConfigError(f"the ServiceAccount of this Pod cannot be used: {error}") from error
    return ClusterConfig(configuration, namespace, "the Pod's ServiceAccount")
