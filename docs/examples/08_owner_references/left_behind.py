"""What lesson 08 shows first: the operator of lesson 07, and a WebApp that is deleted."""

from converge.site.terminal_session import TerminalSession

with TerminalSession("solutions/07_drift/drift.py", namespace="lesson-08") as session:
    session.run("kubectl create -f docs/examples/06_idempotency/shop.yaml")
    session.run_silently("wait --for=create service/shop --timeout=30s")
    session.run_silently("wait --for=condition=Available deployment/shop --timeout=30s")
    session.run("kubectl delete webapp shop")
    session.run("kubectl get webapps,deployments,services")
