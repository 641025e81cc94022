"""What lesson 12 shows: an operator that tidies up after the fact, and a deletion that it sleeps through."""

import os

from converge.grader import eventually
from converge.grader.outside import Outside
from converge.site.scene import PATIENCE, Scene


def until(outside: Outside, there: bool) -> None:
    """Wait until the record is there, or is not."""
    if not eventually(lambda: ("shop.example.com" in outside.records) == there, within=PATIENCE):
        raise RuntimeError(f"the outside service has {outside.records}")


outside = Outside()
os.environ["OUTSIDE_URL"] = outside.url
with Scene("docs/recorded/12_too_late.py", namespace="lesson-12") as scene:
    scene.types("kubectl create -f docs/recorded/12_shop.yaml")
    until(outside, there=True)
    scene.types("curl -s $OUTSIDE_URL/records")
    scene.types("kubectl delete webapp shop")
    until(outside, there=False)
    scene.types("curl -s $OUTSIDE_URL/records")
    scene.comment("So far, so good. Once more; and this time the operator is being upgraded, just for a moment.")
    scene.types("kubectl create -f docs/recorded/12_shop.yaml")
    until(outside, there=True)
    scene.stop()
    scene.types("kubectl delete webapp shop")
    scene.start()
    scene.comment("It runs again. There are no WebApps, and nothing will ever tell it that there was one.")
    scene.types("kubectl get webapps")
    scene.types("curl -s $OUTSIDE_URL/records")
outside.down()
