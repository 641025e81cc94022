"""What lesson 02 shows: one sequence of changes, some of them while the operator is down, on the operator named."""

import sys

from converge.site.scene import Scene

with Scene(sys.argv[1], namespace="lesson-02") as scene:
    scene.types("kubectl create -f docs/recorded/01_shop.yaml")
    scene.waits("wait --for=jsonpath='{.status.availableReplicas}'=3 deployment/shop --timeout=30s")
    scene.comment("the operator is stopped")
    scene.stop()
    scene.types("kubectl scale webapp shop --replicas=5")
    scene.start()
    scene.comment("the operator runs again")
    scene.types("kubectl wait --for=jsonpath='{.spec.replicas}'=5 deployment/shop --timeout=5s")
    scene.types("kubectl scale webapp shop --replicas=6")
    scene.types("kubectl wait --for=jsonpath='{.spec.replicas}'=6 deployment/shop --timeout=5s")
    scene.types("kubectl get webapp,deployment")
