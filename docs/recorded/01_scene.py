"""What lesson 01 shows: an operator that believes its status, and a Deployment that is deleted behind its back."""

from converge.site.scene import Scene

with Scene("docs/recorded/01_status_first.py", namespace="lesson-01") as scene:
    scene.types("kubectl create -f docs/recorded/01_shop.yaml")
    scene.waits("wait --for=jsonpath='{.status.availableReplicas}'=3 webapp/shop --timeout=30s")
    scene.types("kubectl get webapp,deployment")
    scene.types("kubectl delete deployment shop")
    scene.types("kubectl wait --for=create deployment/shop --timeout=10s")
    scene.types("kubectl get webapp,deployment")
