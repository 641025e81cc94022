"""What lesson 08 shows next: an operator whose children have owners, and a WebApp that is deleted in the foreground.

The operator and the garbage collector race. Somebody's finalizer holds the WebApp, so that one can look at what is
there when the collector has done its part.
"""

from converge import cluster
from converge.grader import eventually
from converge.runtime import Client
from converge.site.scene import Scene

NAMESPACE = "lesson-08-blind"
HOLD = """'{"metadata": {"finalizers": ["example.com/backup-first"]}}'"""
LET_GO = """'{"metadata": {"finalizers": null}}'"""


def collected() -> bool:
    """Whether the collector has found no child for a moment, and let go of the WebApp."""
    webapp = Client(cluster.ensure().kubeconfig).get("converge.example/v1", "WebApp", "shop", NAMESPACE)
    return "foregroundDeletion" not in webapp["metadata"]["finalizers"]


with Scene("docs/recorded/08_blind.py", namespace=NAMESPACE) as scene:
    scene.types("kubectl create -f docs/recorded/06_shop.yaml")
    scene.waits("wait --for=create service/shop --timeout=30s")
    scene.waits("wait --for=condition=Available deployment/shop --timeout=30s")
    scene.types(f"kubectl patch webapp shop --type=merge -p {HOLD}")
    scene.types("kubectl delete webapp shop --cascade=foreground --wait=false")
    eventually(collected, within=60, when="the WebApp was deleted in the foreground")
    scene.waits("wait --for=create deployment/shop service/shop --timeout=30s")
    scene.types("kubectl get webapp shop -o custom-columns=NAME:.metadata.name,DELETED:.metadata.deletionTimestamp")
    scene.types("kubectl get deployments,services -o custom-columns=KIND:.kind,MADE:.metadata.creationTimestamp")
    scene.stop()
    scene.waits(f"patch webapp shop --type=merge -p {LET_GO}")
