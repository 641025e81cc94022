"""Where a cluster can come from. A provider is one file, and one line here."""

from importlib import import_module

from converge.cluster.errors import ClusterError
from converge.cluster.providers.base import Provider

# In the order in which they are tried when the user names none. Imported when used: most commands need one or none.
REGISTERED = {
    "kind": "converge.cluster.providers.kind:KindProvider",
    "local": "converge.cluster.providers.local:LocalProvider",
    "existing": "converge.cluster.providers.existing:ExistingProvider",
}


def get(name: str) -> Provider:
    """The provider of that name."""
    if name not in REGISTERED:
        raise ClusterError(f"there is no provider {name!r}", f"--provider {'|'.join(REGISTERED)}")
    module, _, cls = REGISTERED[name].partition(":")
    provider: Provider = getattr(import_module(module), cls)()
    return provider


def all_providers() -> list[Provider]:
    """All of them, in the order in which they are tried."""
    return [get(name) for name in REGISTERED]


def current() -> Provider | None:
    """The provider that has a cluster in this state directory."""
    from converge.cluster.directories import cluster_dir

    directory = cluster_dir()
    if not directory.exists():
        return None  # nothing is up, so no provider has to be imported
    # The provider with the usual state file comes first, to spare the import of the others.
    names = sorted(REGISTERED, key=lambda name: not (directory / f"{name}.json").exists())
    return next((provider for provider in map(get, names) if provider.state_file.exists()), None)
