"""What lesson 09 shows: a WebApp that says that it is available, while its new Pods cannot start."""

from converge.site.scene import Scene

with Scene("docs/recorded/09_naive.py", namespace="lesson-09") as scene:
    scene.types("kubectl create -f docs/recorded/06_shop.yaml")
    scene.waits("wait --for=condition=Available webapp/shop --timeout=30s")
    scene.types("""kubectl patch webapp shop --type=merge -p '{"spec": {"image": "registry.example/shop:bad-2"}}'""")
    scene.types("kubectl wait --for=condition=Available webapp/shop --timeout=30s")
    scene.waits("wait --for=jsonpath='{.status.updatedReplicas}'=1 deployment/shop --timeout=30s")
    scene.waits("wait --for=jsonpath='{.status.unavailableReplicas}'=1 deployment/shop --timeout=30s")
    refused = "jsonpath='{.status.containerStatuses[0].state.waiting.reason}'=ErrImagePull"
    scene.waits(f"wait pods --field-selector status.phase=Pending --for={refused} --timeout=30s")
    scene.types("kubectl get webapp shop")
    scene.types("kubectl get deployment shop")
    scene.types("kubectl get pods --no-headers | grep -c ErrImagePull")
