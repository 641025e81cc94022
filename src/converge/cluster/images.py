"""The images that the labs run, on clusters whose Pods are real and on those where an image is only a name."""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Images:
    """Image names that work on a cluster. Checks ask for these instead of naming any."""

    web: tuple[str, str]  # two tags of one web server: a change from one to the other is a rollout
    bad: str  # cannot be pulled
    postgres: tuple[str, str]  # two versions, the second of which reads the files of the first


# Where KWOK plays the kubelet an image is only a name.
NAMES_ONLY = Images(
    web=("registry.example/web:1", "registry.example/web:2"),
    bad="registry.example/web:bad",
    postgres=("registry.example/postgres:17.5", "registry.example/postgres:17.6"),
)


def real() -> Images:
    """Images that real nodes can pull; settable, because not every node reaches the same registry."""
    web = os.environ.get(
        "CONVERGE_WEB_IMAGES",  # by default a web server that listens on 8080, as WebApps do
        "docker.io/nginxinc/nginx-unprivileged:1.28-alpine,docker.io/nginxinc/nginx-unprivileged:1.29-alpine",
    )
    postgres = os.environ.get(
        "CONVERGE_POSTGRES_IMAGES", "docker.io/library/postgres:17.5,docker.io/library/postgres:17.6"
    )
    first, second = web.split(",")
    older, newer = postgres.split(",")
    return Images(web=(first, second), bad=f"{first.rsplit(':', 1)[0]}:bad", postgres=(older, newer))
