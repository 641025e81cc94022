"""What lesson 06 shows: an operator that creates without looking, and a WebApp that is touched once."""

from converge.site.terminal_session import TerminalSession

with TerminalSession("docs/examples/06_idempotency/always_creates.py", namespace="lesson-06") as session:
    session.run("kubectl create -f docs/examples/06_idempotency/shop.yaml")
    session.run_silently("wait --for=create service/shop --timeout=30s")
    session.run("kubectl get deployment,service -o name")
    session.run("kubectl annotate webapp shop note=hello")
    # Its tries come after 5, 10, 20 ms and so on: a second is enough for a handful.
    session.run_silently("wait --for=delete webapp/shop --timeout=1s || true")
    session.run("kubectl get deployment -o name | wc -l")
