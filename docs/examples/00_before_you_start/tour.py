"""What the page before lesson 01 shows: a walk through Kubernetes on the course's cluster, in one namespace."""

import time

from converge import cluster
from converge.grader import eventually
from converge.runtime import Client
from converge.site.terminal_session import Shell

FIRST_POD = "$(kubectl get pods -n tour -o name | head -n 1)"


def states() -> list[str]:
    """How the one container of each Pod is doing: running, or why it waits."""
    pods = Client(cluster.ensure().kubeconfig).list("v1", "Pod", "tour")
    now = [pod.get("status", {}).get("containerStatuses", [{"state": {"waiting": {"reason": "new"}}}]) for pod in pods]
    return sorted(each[0]["state"].get("waiting", {}).get("reason", "running") for each in now)


with Shell() as shell:
    shell.run_silently("delete namespace tour --ignore-not-found")

    with shell.section("look"):
        shell.run("kubectl get nodes")
        shell.run("kubectl create namespace tour")
    shell.run_silently("wait -n tour --for=create serviceaccount/default --timeout=30s")

    with shell.section("pod"):
        shell.run("kubectl apply -n tour -f docs/examples/00_before_you_start/pod.yaml")
        shell.run_silently("wait -n tour --for=condition=Ready pod/alone --timeout=30s")
        shell.run("kubectl get pods -n tour")
        shell.run("kubectl delete pod alone -n tour")
        shell.run("kubectl get pods -n tour")

    with shell.section("deployment"):
        shell.run("kubectl apply -n tour -f docs/examples/00_before_you_start/shop.yaml")
        shell.run_silently("wait -n tour --for=condition=Available deployment/shop --timeout=30s")
        shell.run("kubectl get deployments,replicasets,pods -n tour")
    time.sleep(10)  # so that the ages below show which Pod is new

    with shell.section("heals"):
        shell.run(f"kubectl delete -n tour {FIRST_POD}")
        eventually(states, ["running"] * 3, within=30, when="one of three Pods was deleted")
        shell.run("kubectl get pods -n tour")

    with shell.section("labels"):
        shell.run("kubectl get pods -n tour -l app=shop --show-labels")

    with shell.section("service"):
        shell.run("kubectl apply -n tour -f docs/examples/00_before_you_start/service.yaml")
        shell.run_silently("wait -n tour --for=create endpointslice -l kubernetes.io/service-name=shop --timeout=30s")
        shell.run("kubectl get services,endpointslices -n tour")

    with shell.section("states"):
        shell.run("kubectl set image deployment/shop -n tour web=registry.example/shop:bad")
        eventually(states, ["ErrImagePull", *["running"] * 3], within=30, when="the image was set to a bad one")
        shell.run_silently("wait -n tour --for=jsonpath={.status.updatedReplicas}=1 deployment/shop --timeout=30s")
        shell.run("kubectl get deployments,pods -n tour")

    with shell.section("describe"):
        shell.run("kubectl describe deployment shop -n tour")

    with shell.section("delete"):
        shell.run("kubectl delete deployment shop -n tour")
        shell.run_silently("wait -n tour --for=delete pod -l app=shop --timeout=30s")
        shell.run("kubectl get replicasets,pods -n tour")

    with shell.section("crd"):
        shell.run("kubectl api-resources --api-group=converge.example")
        shell.run("kubectl apply -n tour -f docs/examples/01_loop/shop.yaml")
        shell.run("kubectl get webapps -n tour")
        shell.run("kubectl get deployments,pods -n tour")

    with shell.section("end"):
        shell.run("kubectl delete namespace tour")
