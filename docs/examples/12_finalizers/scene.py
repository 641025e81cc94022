"""What lesson 12 shows: an operator that tidies up after the fact, and a deletion that it sleeps through."""

import os

from converge.grader import eventually
from converge.operators.outside_service import Outside
from converge.site.terminal_session import PATIENCE, TerminalSession


def until(outside: Outside, there: bool) -> None:
    """Wait until the record is there, or is not."""
    if not eventually(lambda: ("shop.example.com" in outside.records) == there, within=PATIENCE):
        raise RuntimeError(f"the outside service has {outside.records}")


outside = Outside()
os.environ["OUTSIDE_URL"] = outside.url
with TerminalSession("docs/examples/12_finalizers/too_late.py", namespace="lesson-12") as session:
    session.run("kubectl create -f docs/examples/12_finalizers/shop.yaml")
    until(outside, there=True)
    session.run("curl -s $OUTSIDE_URL/records")
    session.run("kubectl delete webapp shop")
    until(outside, there=False)
    session.run("curl -s $OUTSIDE_URL/records")
    session.comment("So far, so good. Once more; and this time the operator is being upgraded, just for a moment.")
    session.run("kubectl create -f docs/examples/12_finalizers/shop.yaml")
    until(outside, there=True)
    session.stop()
    session.run("kubectl delete webapp shop")
    session.start()
    session.comment("It runs again. There are no WebApps, and nothing will ever tell it that there was one.")
    session.run("kubectl get webapps")
    session.run("curl -s $OUTSIDE_URL/records")
outside.down()
