"""What lesson 07 shows: an operator that replaces whole specs, and an autoscaler beside it."""

from converge.site.terminal_session import TerminalSession

with TerminalSession("docs/examples/07_drift/replaces.py", namespace="lesson-07") as session:
    session.run("kubectl create -f docs/examples/07_drift/shop.yaml")
    session.run_silently("wait --for=create deployment/shop --timeout=30s")
    session.run_silently("wait --for=condition=Available deployment/shop --timeout=30s")
    session.run("kubectl scale deployment shop --replicas=4")
    session.run_silently("wait --for=jsonpath='{.status.observedGeneration}'=3 deployment/shop --timeout=30s")
    session.run_silently("wait --for=jsonpath='{.status.replicas}'=1 deployment/shop --timeout=30s")
    session.run("kubectl get deployment shop")
    session.run("kubectl get events --field-selector reason=ScalingReplicaSet -o custom-columns=WHAT:.message")
