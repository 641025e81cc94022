"""The command that says which versions these are."""

import platform
import sys
from importlib import metadata


def version() -> None:
    """Say which Converge, Kubernetes and Python these are. Paste it into a bug report."""
    from converge.cluster.programs import PROGRAMS

    print(f"Converge    {metadata.version('converge')}")
    print(f"Kubernetes  {PROGRAMS['kube-apiserver'].version.removeprefix('v')}")
    print(f"Python      {platform.python_version()} ({sys.executable})")
