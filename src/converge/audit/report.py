"""The report of an audit as a file: JSON, JUnit XML, SARIF, and one page of HTML."""

from __future__ import annotations

import html as escaping
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from converge.audit.attacks import ATTACKS, tells
from converge.audit.findings import Finding
from converge.audit.session import Report

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
FORMAT = "converge/audit/v1"


def as_json(report: Report) -> dict[str, Any]:
    """Everything, for programs."""
    learned = report.learned
    return {
        "format": FORMAT,
        "kind": report.kind,
        "command": list(report.settings.command),
        "seed": report.seed,
        "seconds": round(report.seconds, 1),
        "first_finding": report.first_finding and round(report.first_finding, 1),
        "failed": report.failed,
        "children": learned.children if learned else [],
        "masked": sorted(learned.mask.paths) if learned else [],
        "random_names": sorted(learned.random_names) if learned else [],
        "attacks": [
            {
                "attack": row.attack.name,
                "cases": row.cases,
                "late": row.late,
                "seconds": round(row.seconds, 1),
                "answers": dict(row.answers),
                "left_out": row.left_out,
                "findings": [each.as_json() for each in row.findings],
            }
            for row in report.rows
        ],
        "role": report.role,
        "unused_rights": report.unused,
    }


def json_text(report: Report) -> str:
    """The same as text."""
    return json.dumps(as_json(report), indent=2) + "\n"


def junit(report: Report) -> str:
    """One test case per attack that held, and one per finding.

    What is allowed or flaky is skipped, and so is an attack of which cases were left out: it hasn't held.
    """
    findings = report.findings
    good = [row for row in report.rows if not row.findings]
    counts = {
        "tests": str(len(findings) + len(good)),
        "failures": str(sum(each.counts for each in findings)),
        "skipped": str(sum(not each.counts for each in findings) + sum(bool(row.left_out) for row in good)),
        "time": f"{report.seconds:.3f}",
    }
    suites = ElementTree.Element("testsuites", {"name": "converge audit", **counts})
    suite = ElementTree.SubElement(suites, "testsuite", {"name": report.kind, **counts})
    for row in report.rows:
        if not row.findings:
            held = {"classname": report.kind, "name": row.attack.name, "time": f"{row.seconds:.3f}"}
            case = ElementTree.SubElement(suite, "testcase", held)
            if row.left_out:
                ElementTree.SubElement(case, "skipped", message=row.left_out[0])
        for each in row.findings:
            case = ElementTree.SubElement(suite, "testcase", classname=report.kind, name=each.id, time="0")
            if each.counts:
                problem = ElementTree.SubElement(case, "failure", type=each.severity, message=each.title)
                problem.text = as_text(each)
            else:
                why = each.allowed or each.unsure or ("flaky" if each.flaky else each.severity)
                ElementTree.SubElement(case, "skipped", message=f"{why}: {each.title}")
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def sarif(report: Report) -> str:
    """SARIF 2.1.0, as code scanning reads it: https://docs.oasis-open.org/sarif/sarif/v2.1.0/."""
    place = {"physicalLocation": {"artifactLocation": {"uri": _relative(report.settings.sample)}}}
    rules = [
        {
            "id": each.name,
            "shortDescription": {"text": each.says},
            "defaultConfiguration": {"level": each.severity},
        }
        for each in dict.fromkeys([*ATTACKS, *(row.attack for row in report.rows)])
    ]
    results = [
        {
            "ruleId": each.attack,
            "level": "note" if each.flaky or each.unsure else each.severity,
            "message": {"text": as_text(each)},
            "locations": [place],
            "partialFingerprints": {"finding": each.id},
            **({"suppressions": [{"kind": "external", "justification": each.allowed}]} if each.allowed else {}),
        }
        for each in report.findings
    ]
    driver = {"name": "converge audit", "rules": rules}
    return json.dumps(
        {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}, indent=2
    )


def as_text(finding: Finding) -> str:
    """A finding as text."""
    parts = {
        "when": finding.when,
        "expected": finding.expected,
        "got": finding.got,
        "try": finding.hint,
        "tried": _tried(finding),
        "replay": finding.again,
    }
    return "\n".join(f"{name}: {text}" for name, text in parts.items() if text)


def _tried(finding: Finding) -> str:
    return finding.unsure or f"{finding.tried} times, and it happened {finding.failed} times"


def _relative(path: Path) -> str:
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.name


STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; padding: .3rem .6rem; vertical-align: top; }
tr + tr td { border-top: 1px solid #ccc; } pre { white-space: pre-wrap; background: #f5f5f5; padding: .6rem; }
.error { color: #b00020; } .warning { color: #8a5a00; } .note { color: #00539f; }
dt { font-weight: 600; } dd { margin: 0 0 .5rem; }
@media (prefers-color-scheme: dark) { body { background: #16181d; color: #e6e6e6; } pre { background: #22252c; }
 .error { color: #ff8a80; } .warning { color: #ffcc66; } .note { color: #80c8ff; } }
"""


def html(report: Report) -> str:
    """One self-contained page. Timelines are files beside the findings, and linked."""
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f"<title>Audit of {escaping.escape(report.kind)}</title><style>{STYLE}</style></head><body>",
            f"<h1>Audit of {escaping.escape(report.kind)}</h1>",
            f"<p>{len(report.findings)} findings in {report.seconds:.0f} s, seed {report.seed}.</p>",
            "<table><tr><th>attack</th><th>what was done</th><th>cases</th><th>findings</th></tr>",
            *(
                f"<tr><td>{row.attack.name}</td><td>{escaping.escape(row.attack.says)}</td><td>{row.cases}</td>"
                f"<td>{len(row.findings) or '–'}</td></tr>"
                for row in report.rows
            ),
            "</table>",
            *(line for each in report.findings for line in _section(each)),
            *_list("What is an answer, and no finding", _answers(report)),
            *_list("What was left out", [f"{row.attack.name}: {each}" for row in report.rows for each in row.left_out]),
            *_list("What differs between two clean runs, and wasn't compared", _masked(report)),
            "<h2>The rights that it used</h2><pre>",
            escaping.escape(json.dumps(report.role, indent=2)),
            "</pre>",
            *_list("The rights that it has and never used", report.unused),
            "</body></html>",
        ]
    )


def _answers(report: Report) -> list[str]:
    return [f"{name}: {answer}" for row in report.rows for name, answer in row.answers if tells(answer)]


def _masked(report: Report) -> list[str]:
    learned = report.learned
    if learned is None:
        return []
    return [*(f"the names of its {kind}s" for kind in sorted(learned.random_names)), *sorted(learned.mask.paths)]


def _list(title: str, entries: Sequence[str]) -> Iterator[str]:
    if entries:
        yield f"<h2>{title}</h2><ul>"
        yield from (f"<li>{escaping.escape(each)}</li>" for each in entries)
        yield "</ul>"


def _section(finding: Finding) -> Iterator[str]:
    title = f'<span class="{finding.severity}">{finding.severity}</span> {escaping.escape(finding.id)}'
    yield f"<h2>{title}</h2><dl>"
    rows = {
        "what was done": finding.when,
        "expected": finding.expected,
        "seen": finding.got,
        "try": finding.hint,
        "evidence": "\n".join(finding.seen),
        "the same at": ", ".join(finding.also),
        "allowed": finding.allowed,
        "tried": _tried(finding),
        "again": finding.again,
    }
    for name, text in rows.items():
        if text:
            yield f"<dt>{name}</dt><dd><pre>{escaping.escape(text)}</pre></dd>"
    if finding.timeline:
        yield f'<dt>timeline</dt><dd><a href="{escaping.escape(Path(finding.timeline).name)}">open it</a></dd>'
    yield "</dl>"
