"""An operator's files as its author would have them, and a session that audits them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from converge.audit.session import Session
from converge.audit.settings import Settings

ROOT = Path(__file__).parents[2]
SAMPLE = """\
apiVersion: converge.example/v1
kind: WebApp
metadata: {name: shop}
spec: {image: "registry.example/web:1", replicas: 1, port: 8080, labels: {tier: front}}
"""


def settings_for(tmp_path: Path, file: str | Path, **more) -> Settings:
    sample = tmp_path / "sample.yaml"
    if not sample.exists():
        sample.write_text(SAMPLE)
    command = (sys.executable, "-m", "converge.runtime", "run", str(ROOT / file), "-n", "{namespace}")
    return Settings(command, ROOT / "crds", sample, **more)


@pytest.fixture
def session(tmp_path):
    """`session(file)` audits an operator of the course, for at most that many seconds."""
    from converge import cluster as clusters
    from converge.runtime import Client

    def make(settings: Settings, seconds: float = 300) -> Session:
        cluster = clusters.ensure()
        return Session(cluster, Client(cluster.kubeconfig), settings, seconds=seconds, out=tmp_path / "findings")

    return make
