"""What lesson 09 shows: a WebApp that says that it is available, while its new Pods cannot start."""

from converge.site.terminal_session import TerminalSession

with TerminalSession("docs/examples/09_status/naive.py", namespace="lesson-09") as session:
    session.run("kubectl create -f docs/examples/06_idempotency/shop.yaml")
    session.run_silently("wait --for=condition=Available webapp/shop --timeout=30s")
    session.run("""kubectl patch webapp shop --type=merge -p '{"spec": {"image": "registry.example/shop:bad-2"}}'""")
    session.run("kubectl wait --for=condition=Available webapp/shop --timeout=30s")
    session.run_silently("wait --for=jsonpath='{.status.updatedReplicas}'=1 deployment/shop --timeout=30s")
    session.run_silently("wait --for=jsonpath='{.status.unavailableReplicas}'=1 deployment/shop --timeout=30s")
    refused = "jsonpath='{.status.containerStatuses[0].state.waiting.reason}'=ErrImagePull"
    session.run_silently(f"wait pods --field-selector status.phase=Pending --for={refused} --timeout=30s")
    session.run("kubectl get webapp shop")
    session.run("kubectl get deployment shop")
    session.run("kubectl get pods --no-headers | grep -c ErrImagePull")
