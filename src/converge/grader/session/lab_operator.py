"""The operator of a lab: how each kind is started, and how a TODO in its output decides a check."""

from __future__ import annotations

from pathlib import Path

from converge.grader.checks import todo
from converge.grader.checks.verdict import NotStarted
from converge.grader.course import Lab
from converge.grader.course.submissions import is_program
from converge.testing.operator import Launch, Operator
from converge.testing.sandbox.jail import Jail
from converge.testing.sandbox.process import isolated_python
from converge.testing.verdicts.failure import Verdict

RUNTIME = ("converge.runtime", "converge.runtime.logs", "argparse")
FAST_POLLS = {"POLL_SECONDS": "0.1"}  # a check waits for several passes of a loop
PRELOAD = {"kopf": ("kopf", "kopf.cli", *RUNTIME), "runtime": RUNTIME, "python": RUNTIME}


class LabOperator(Operator):
    """The submission of an operator lab."""

    def verdict_in(self, output: str) -> Verdict | None:
        """A TODO that was reached: there is nothing to wait for."""
        met = todo.reached(output)
        return NotStarted(met) if met else None


def launch_of(lab: Lab, file: Path, namespace: str | None, jail: Jail | None = None) -> Launch:
    """How the operator of a lab is started from a learner's file: in one namespace, or in all of them.

    A program in another language gets the lab's name: the one for the Go tabs holds the operators of all of them.
    """
    granted = {resource for rule in lab.rights for resource in rule["resources"]}
    workloads = tuple(kind for kind in ("Deployment", "StatefulSet") if f"{kind.lower()}s" in granted)
    if is_program(file):
        return Launch((str(file), "-lesson", lab.slug, "-n", namespace or ""), workloads=workloads)
    if lab.run == "python":
        arguments = [str(file)]
    elif lab.run == "kopf":
        where = ["-n", namespace] if namespace else ["--all-namespaces"]
        arguments = ["-m", "kopf", "run", str(file), "--standalone", *where]
    else:  # at level debug, the log has a line for each reconcile
        where = ["-n", namespace] if namespace else []
        arguments = ["-m", "converge.runtime", "run", str(file), *where, "--log-level", "debug"]
    return Launch(
        isolated_python(*arguments),
        environment=FAST_POLLS if lab.run == "runtime" else {},
        confined=True,
        preload=PRELOAD[lab.run],
        workloads=workloads,
        jail=jail,
        on_kopf=lab.run == "kopf",
    )
