"""What lesson 10 shows: two people add one to the same number, and the number goes up by one."""

from converge.site.scene import Scene

SERVED = "jsonpath='{.metadata.annotations.converge\\.example/served}'"

with Scene("solutions/10_conflicts/conflicts.py", namespace="lesson-10") as scene:
    scene.types("kubectl create -f docs/recorded/10_shop.yaml")
    scene.comment("You read: 4 customers served. You want to make it 5.")
    scene.types('kubectl get webapp shop -o yaml | sed \'s/served: "4"/served: "5"/\' > build/mine.yaml')
    scene.comment("Meanwhile somebody else has served one, too.")
    scene.types("kubectl annotate webapp shop converge.example/served=5 --overwrite")
    scene.types("kubectl replace -f build/mine.yaml")
    scene.comment("That version makes trouble. Away with it!")
    scene.types("sed -i.bak /resourceVersion/d build/mine.yaml && kubectl replace -f build/mine.yaml")
    scene.types(f"kubectl get webapp shop -o {SERVED}")
