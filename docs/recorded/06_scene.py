"""What lesson 06 shows: an operator that creates without looking, and a WebApp that is touched once."""

from converge.site.scene import Scene

with Scene("docs/recorded/06_always_creates.py", namespace="lesson-06") as scene:
    scene.types("kubectl create -f docs/recorded/06_shop.yaml")
    scene.waits("wait --for=create service/shop --timeout=30s")
    scene.types("kubectl get deployment,service -o name")
    scene.types("kubectl annotate webapp shop note=hello")
    # Its tries come after 5, 10, 20 ms and so on: a second is enough for a handful.
    scene.waits("wait --for=delete webapp/shop --timeout=1s || true")
    scene.types("kubectl get deployment -o name | wc -l")
