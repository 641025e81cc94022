"""What lesson 01 shows: an operator that believes its status, and a Deployment that is deleted behind its back."""

from converge.site.terminal_session import TerminalSession

with TerminalSession("docs/examples/01_loop/status_first.py", namespace="lesson-01") as session:
    session.run("kubectl create -f docs/examples/01_loop/shop.yaml")
    session.run_silently("wait --for=jsonpath='{.status.availableReplicas}'=3 webapp/shop --timeout=30s")
    session.run("kubectl get webapp,deployment")
    session.run("kubectl delete deployment shop")
    session.run("kubectl wait --for=create deployment/shop --timeout=10s")
    session.run("kubectl get webapp,deployment")
