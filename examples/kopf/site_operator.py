"""An operator on kopf: a Site is a ConfigMap with the page and a Deployment that serves it."""

from typing import Any

import kopf
from kubernetes import client, config


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.scanning.disabled = True  # its rights end at one namespace
    settings.execution.default_backoff = 2  # seconds until an exception's handler is called again; kopf's default is 60
    config.load_config()


# --8<-- [start:reconcile]
@kopf.on.create("sites")
@kopf.on.update("sites", field="spec")  # not for labels and annotations
@kopf.on.resume("sites")
def reconcile(name: str, namespace: str, spec: kopf.Spec, **_: Any) -> None:
    page = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {"index.html": spec["text"]},
    }
    server = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": spec["replicas"],
            "selector": {"matchLabels": {"site": name}},
            "template": {
                "metadata": {"labels": {"site": name}},
                "spec": {
                    "containers": [
                        {
                            "name": "web",
                            "image": "nginx:1.29",
                            "volumeMounts": [{"name": "page", "mountPath": "/usr/share/nginx/html"}],
                        }
                    ],
                    "volumes": [{"name": "page", "configMap": {"name": name}}],
                },
            },
        },
    }
    kopf.append_owner_reference([page, server])
    apply(client.CoreV1Api().patch_namespaced_config_map, namespace, page)
    apply(client.AppsV1Api().patch_namespaced_deployment, namespace, server)


def apply(patch: Any, namespace: str, child: dict[str, Any]) -> None:
    """Server-side apply: it creates what isn't there and changes what differs, so it can be repeated after a crash."""
    kind = "application/apply-patch+yaml"
    patch(child["metadata"]["name"], namespace, child, field_manager="site-operator", force=True, _content_type=kind)


# --8<-- [end:reconcile]
