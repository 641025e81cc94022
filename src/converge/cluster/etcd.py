"""What Kubernetes has no verb for, asked of etcd itself through its JSON gateway: compaction."""

import base64
import json
import ssl
import urllib.request
from collections.abc import Callable
from typing import Any

from converge.cluster.pki import Pki

Ask = Callable[[str, dict[str, Any]], dict[str, Any]]


def compact(ask: Ask) -> int:
    """Forget all history up to now; return that revision."""
    revision = int(ask("kv/range", {"key": base64.b64encode(b"\0").decode(), "limit": 1})["header"]["revision"])
    ask("kv/compaction", {"revision": revision, "physical": True})
    return revision


def on_loopback(port: int, pki: Pki) -> Ask:
    """A way to ask the local cluster's etcd, as the API server does."""
    context = ssl.create_default_context(cafile=str(pki.cert("etcd-ca")))
    context.load_cert_chain(pki.cert("etcd-client"), pki.key("etcd-client"))

    def ask(path: str, body: dict[str, Any]) -> dict[str, Any]:
        url = f"https://127.0.0.1:{port}/v3/{path}"
        request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10, context=context) as answer:
            result: dict[str, Any] = json.load(answer)
        return result

    return ask
