"""What lesson 07 shows: an operator that replaces whole specs, and an autoscaler beside it."""

from converge.site.scene import Scene

with Scene("docs/recorded/07_replaces.py", namespace="lesson-07") as scene:
    scene.types("kubectl create -f docs/recorded/07_shop.yaml")
    scene.waits("wait --for=create deployment/shop --timeout=30s")
    scene.waits("wait --for=condition=Available deployment/shop --timeout=30s")
    scene.types("kubectl scale deployment shop --replicas=4")
    scene.waits("wait --for=jsonpath='{.status.observedGeneration}'=3 deployment/shop --timeout=30s")
    scene.waits("wait --for=jsonpath='{.status.replicas}'=1 deployment/shop --timeout=30s")
    scene.types("kubectl get deployment shop")
    scene.types("kubectl get events --field-selector reason=ScalingReplicaSet -o custom-columns=WHAT:.message")
