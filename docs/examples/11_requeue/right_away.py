"""The operator that lesson 11 shows failing: whatever goes wrong, it tries again, right away."""

from converge.operators.lessons import lesson
from converge.operators.records import Records
from converge.operators.webapp import WEBAPP
from converge.runtime import Manager, Request, Result

requeue = lesson("11_requeue")


class WebAppReconciler(requeue.WebAppReconciler):  # type: ignore[misc]
    # --8<-- [start:reconcile]
    def reconcile(self, request: Request) -> Result | None:
        try:
            return super().reconcile(request)
        except Exception as error:
            print(f"{request}: {error}, trying again")
            return Result(requeue_after=0)

    # --8<-- [end:reconcile]


def setup(manager: Manager) -> None:
    reconciler = WebAppReconciler(manager.client, Records(timeout=requeue.TIMEOUT))
    controller = manager.controller(reconciler).for_(*WEBAPP)
    controller.owns("apps/v1", "Deployment").owns("v1", "Service")
