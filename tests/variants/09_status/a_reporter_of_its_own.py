"""Two controllers: one acts, the other reports by a PUT of the status, and goes by the Pods for what has gone wrong.

The reporter speaks of a generation only when the Deployment that it sees is the one which that generation asks for.
"""

import copy
from datetime import UTC, datetime

from converge.operators.webapp import FIELD_MANAGER, WEBAPP, NameTaken, desired_children, ensure_owned, is_controlled_by
from converge.runtime import EventRecorder, Manager, NotFound, Request, Result, applied_fields

STUCK = ("ErrImagePull", "ImagePullBackOff", "CrashLoopBackOff")


class Actor:
    def __init__(self, client) -> None:
        self.client = client

    def reconcile(self, request: Request) -> Result | None:
        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        except NotFound:
            return None
        if "deletionTimestamp" not in webapp["metadata"]:
            try:
                for child in desired_children(webapp):
                    ensure_owned(self.client, webapp, child)
            except NameTaken:
                return Result(requeue_after=20)  # said by the other one
        return None


class Reporter:
    def __init__(self, client) -> None:
        self.client = client
        self.events = EventRecorder(client, "webapp-reporter")

    def reconcile(self, request: Request) -> Result | None:
        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        except NotFound:
            return None
        wanted = desired_children(webapp)[0]
        deployment, service = (self.child(request, *kind) for kind in (("apps/v1", "Deployment"), ("v1", "Service")))
        new = copy.deepcopy(webapp)
        status = new.setdefault("status", {})
        taken = [each["kind"] for each in (deployment, service) if each and not is_controlled_by(each, webapp)]
        if taken:
            answers = {"Available": "False", "Progressing": "False", "Degraded": "True"}
            message = f"someone else has the name {request.name} for: {', '.join(taken)}"
            status.pop("availableReplicas", None)
        elif deployment is None or service is None:
            return None  # it will be made, and that is an event
        else:
            ours = applied_fields(deployment, FIELD_MANAGER).get("spec", {})
            if ours.get("template") != wanted["spec"]["template"]:
                return None  # the other one has not got to it yet
            replicas = wanted["spec"].get("replicas", deployment["spec"]["replicas"])
            if deployment["spec"]["replicas"] != replicas:
                return None
            answers, message = self.judge(deployment, replicas)
            status["availableReplicas"] = deployment["status"].get("availableReplicas", 0)
        status["url"] = f"http://{request.name}.{request.namespace}.svc:{webapp['spec']['port']}"
        status["observedGeneration"] = webapp["metadata"]["generation"]
        for type, answer in answers.items():
            self.answer(new, type, answer, message)
        if new != webapp:
            self.client.replace(new, subresource="status")
        return Result(requeue_after=1) if answers["Progressing"] == "True" else None  # Pods are not watched here

    def child(self, request: Request, *kind: str) -> dict | None:
        try:
            return self.client.get(*kind, request.name, request.namespace)
        except NotFound:
            return None

    def judge(self, deployment: dict, replicas: int) -> tuple[dict, str]:
        status = deployment.setdefault("status", {})
        if status.get("observedGeneration") != deployment["metadata"]["generation"]:
            return {"Available": "False", "Progressing": "True", "Degraded": "False"}, "not begun"
        if [status.get(key, 0) for key in ("replicas", "updatedReplicas", "availableReplicas")] == [replicas] * 3:
            return {"Available": "True", "Progressing": "False", "Degraded": "False"}, "done"
        selector = ",".join(f"{key}={value}" for key, value in deployment["spec"]["selector"]["matchLabels"].items())
        pods = self.client.list("v1", "Pod", deployment["metadata"]["namespace"], label_selector=selector)
        image = deployment["spec"]["template"]["spec"]["containers"][0]["image"]  # Pods of an older one don't count
        pods = [pod for pod in pods if image in [each["image"] for each in pod["spec"]["containers"]]]
        states = [each["state"] for pod in pods for each in pod.get("status", {}).get("containerStatuses", [])]
        stuck = sorted({state.get("waiting", {}).get("reason") for state in states} & set(STUCK))
        answers = {"Available": "False", "Progressing": "True", "Degraded": str(bool(stuck))}
        return answers, ", ".join(stuck) or "under way"

    def answer(self, webapp: dict, type: str, answer: str, message: str) -> None:
        conditions = webapp["status"].setdefault("conditions", [])
        found = next((each for each in conditions if each["type"] == type), None)
        if found is None:
            conditions.append(found := {"type": type, "status": "Unknown"})
        before = f"from {found.get('lastTransitionTime')} on"
        if found["status"] != answer:
            found["lastTransitionTime"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            if type == "Available":
                self.events.event(webapp, "AvailabilityChanged", f"{answer}, and not {found['status']} as {before}")
        generation = webapp["metadata"]["generation"]
        found |= {"status": answer, "reason": "Judged", "message": message, "observedGeneration": generation}


def setup(manager: Manager) -> None:
    for one in (Actor(manager.client), Reporter(manager.client)):
        controller = manager.controller(one, name=type(one).__name__.lower()).for_(*WEBAPP)
        controller.owns("apps/v1", "Deployment").owns("v1", "Service")
