"""What lesson 02 shows: one sequence of changes, some of them while the operator is down, on the operator named."""

import sys

from converge.site.terminal_session import TerminalSession

with TerminalSession(sys.argv[1], namespace="lesson-02") as session:
    session.run("kubectl create -f docs/examples/01_loop/shop.yaml")
    session.run_silently("wait --for=create deployment/shop --timeout=30s")
    session.run_silently("wait --for=jsonpath='{.status.availableReplicas}'=3 deployment/shop --timeout=30s")
    session.comment("the operator is stopped")
    session.stop()
    session.run("kubectl scale webapp shop --replicas=5")
    session.start()
    session.comment("the operator runs again")
    session.run("kubectl wait --for=jsonpath='{.spec.replicas}'=5 deployment/shop --timeout=5s")
    session.run("kubectl scale webapp shop --replicas=6")
    session.run("kubectl wait --for=jsonpath='{.spec.replicas}'=6 deployment/shop --timeout=5s")
    session.run_silently("rollout status deployment/shop --timeout=30s")
    session.run("kubectl get webapp,deployment")
