"""What lesson 08 shows next: an operator whose children have owners, and a WebApp that is deleted in the foreground.

The operator and the garbage collector race. Someone's finalizer holds the WebApp, so that one can look at what is
there when the collector has done its part.
"""

from converge import cluster
from converge.grader import eventually
from converge.runtime import Client
from converge.site.terminal_session import TerminalSession

NAMESPACE = "lesson-08-blind"
HOLD = """'{"metadata": {"finalizers": ["example.com/backup-first"]}}'"""
LET_GO = """'{"metadata": {"finalizers": null}}'"""


def collected() -> bool:
    """Whether the collector has found no child for a moment, and let go of the WebApp."""
    webapp = Client(cluster.ensure().kubeconfig).get("converge.example/v1", "WebApp", "shop", NAMESPACE)
    return "foregroundDeletion" not in webapp["metadata"]["finalizers"]


with TerminalSession("docs/examples/08_owner_references/blind.py", namespace=NAMESPACE) as session:
    session.run("kubectl create -f docs/examples/06_idempotency/shop.yaml")
    session.run_silently("wait --for=create service/shop --timeout=30s")
    session.run_silently("wait --for=condition=Available deployment/shop --timeout=30s")
    session.run(f"kubectl patch webapp shop --type=merge -p {HOLD}")
    session.run("kubectl delete webapp shop --cascade=foreground --wait=false")
    eventually(collected, within=60, when="the WebApp was deleted in the foreground")
    session.run_silently("wait --for=create deployment/shop service/shop --timeout=30s")
    session.run("kubectl get webapp shop -o custom-columns=NAME:.metadata.name,DELETED:.metadata.deletionTimestamp")
    session.run("kubectl get deployments,services -o custom-columns=KIND:.kind,MADE:.metadata.creationTimestamp")
    session.stop()
    session.run_silently(f"patch webapp shop --type=merge -p {LET_GO}")
