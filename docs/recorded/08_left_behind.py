"""What lesson 08 shows first: the operator of lesson 07, and a WebApp that is deleted."""

from converge.site.scene import Scene

with Scene("solutions/07_drift/drift.py", namespace="lesson-08") as scene:
    scene.types("kubectl create -f docs/recorded/06_shop.yaml")
    scene.waits("wait --for=create service/shop --timeout=30s")
    scene.waits("wait --for=condition=Available deployment/shop --timeout=30s")
    scene.types("kubectl delete webapp shop")
    scene.types("kubectl get webapps,deployments,services")
