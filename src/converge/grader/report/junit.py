"""JUnit XML, as CI servers read it: https://github.com/testmoapp/junitxml."""

from __future__ import annotations

from xml.etree import ElementTree

from converge.grader.checks.verdict import Status
from converge.grader.course.results import CheckResult, LabResult
from converge.grader.report.text import explain_check

NOT_HELD = "Nothing has to be looked at by a person"


def xml(labs: list[LabResult]) -> str:
    """One test suite per lab. What was not started is a failure here: JUnit's `skipped` counts as fine.

    Only checks that this cluster cannot run are `skipped`.
    """
    suites = ElementTree.Element("testsuites", {"name": "converge", **totals(labs)})
    for lab in labs:
        suite = ElementTree.SubElement(suites, "testsuite", {"name": lab.lab, **totals([lab])})
        for check in lab.checks:
            case = ElementTree.SubElement(
                suite, "testcase", classname=lab.lab, name=check.title, time=f"{check.seconds:.3f}"
            )
            if not check.asked:
                ElementTree.SubElement(case, "skipped", message=str(check.status))
            elif not check.passed:
                kind = "error" if check.status is Status.ERROR else "failure"
                problem = ElementTree.SubElement(case, kind, type=str(check.status), message=message(check))
                problem.text = explain_check(check, indent="")
        if lab.held:
            case = ElementTree.SubElement(suite, "testcase", classname=lab.lab, name=NOT_HELD, time="0")
            ElementTree.SubElement(case, "error", type="held", message=lab.no_grade)
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def totals(labs: list[LabResult]) -> dict[str, str]:
    checks = [check for lab in labs for check in lab.checks]
    held = sum(bool(lab.held) for lab in labs)
    errors = sum(check.status is Status.ERROR for check in checks)
    passed = sum(check.passed for check in checks)
    skipped = sum(not check.asked for check in checks)
    return {
        "tests": str(len(checks) + held),
        "failures": str(len(checks) - passed - errors - skipped),
        "errors": str(errors + held),
        "skipped": str(skipped),
        "time": f"{sum(check.seconds for check in checks):.3f}",
    }


def message(check: CheckResult) -> str:
    return str(check.parts.get("message") or check.parts.get("when") or check.status).splitlines()[0]
