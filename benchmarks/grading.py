"""How long a learner waits: every solution graded once, and the first line after a save in ``converge watch``.

On a cluster that is up, each lab by itself, as ``converge check LAB`` does it; the time is the one that it tells. Then
several labs with one command, ``converge check LAB…``, from its start to its end. A save is a real one, in a copy of
the course, on a terminal; the clock runs until the first check is shown as passed or failed.
"""

import json
import os
import pty
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.rows import Row, at_most, figure, main, say
from converge import cluster
from converge.grader import course
from converge.runtime import Client

COMMAND = "python -m benchmarks.grading"
CONVERGE = Path(sys.executable).parent / "converge"
LIMITS = {"library": 8.0, "operator": 15.0}  # seconds for a lab
TOGETHER = {"I: the loop, by hand": 45.0, "II: the WebApp operator": 75.0}  # seconds for a part
ALL = 120.0
SAVED = {"03_workqueue": 3.0, "06_idempotency": 6.0}  # seconds until the first line after a save
SAVES = 3
LEFT_OUT = (".git", ".venv", "site", "build", "node_modules", "control-plane", "benchmarks")


def run() -> list[Row]:
    cluster.ensure()
    labs = course.load().labs
    rows: list[Row] = []
    checks: list[float] = []
    for lab in labs:
        settled()
        (result,) = graded(lab.slug)
        checks += [each["seconds"] for each in result["checks"] if each["status"] == "passed"]
        rows.append(at_most(LIMITS[lab.kind], f"check {lab.slug}", result["seconds"], "s", COMMAND))
        say(f"   {lab.slug}: {result['seconds']:.1f} s")
    together = {f"all of part {part}": [lab.slug for lab in labs if lab.part == part] for part in TOGETHER}
    for (what, slugs), limit in zip({**together, "all": ["all"]}.items(), [*TOGETHER.values(), ALL], strict=True):
        settled()
        began = time.monotonic()
        graded(*slugs)
        rows.append(at_most(limit, f"check {what}", time.monotonic() - began, "s", COMMAND))
        say(f"   {what}: {rows[-1].value:.1f} s")
    rows.append(at_most(1.5, "one check, median", statistics.median(checks), "s", COMMAND))
    rows.append(figure("one check, longest", max(checks), "s", COMMAND))
    settled()
    with tempfile.TemporaryDirectory(prefix="converge-benchmark-") as folder:
        copy = Path(folder) / "course"
        shutil.copytree(course.load().root, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
        rows += [
            at_most(limit, f"first line after a save, {slug}", first_line(copy, slug), "s", COMMAND)
            for slug, limit in SAVED.items()
        ]
    return rows


def graded(*labs: str) -> list[dict[str, Any]]:
    """The results of ``converge check``; all must have passed."""
    asked = [str(CONVERGE), "check", *labs, "--against", "solutions", "--json"]
    ran = subprocess.run(asked, capture_output=True, text=True)
    results: list[dict[str, Any]] = json.loads(ran.stdout) if ran.stdout else []
    failed = [each for lab in results for each in lab["checks"] if each["status"] not in ("passed", "needs kind")]
    if ran.returncode:
        raise SystemExit(f"a solution was refused:\n{json.dumps(failed, indent=1) if failed else ran.stderr}")
    return results


def settled() -> None:
    """Wait until the namespaces of the run before are gone: who grades one lab has not just graded another."""
    client = Client(cluster.ensure().kubeconfig)
    while any(each["metadata"].get("deletionTimestamp") for each in client.list("v1", "Namespace")):
        time.sleep(0.5)
    client.close()


def first_line(copy: Path, slug: str) -> float:
    """The median time from a save until ``converge watch`` shows the first check, in a copy of the course."""
    lab = course.load(copy).find(slug)
    lab.skeleton.write_text(lab.solution.read_text())
    ours, theirs = pty.openpty()
    watching = subprocess.Popen(
        [str(CONVERGE), "watch", slug],
        cwd=copy,
        env={**os.environ, "CONVERGE_COURSE": str(copy), "TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    try:
        waits = []
        for number in range(SAVES):
            until(ours, "Watching")
            lab.skeleton.write_text(f"{lab.solution.read_text()}\n# saved {number}\n")
            saved = time.monotonic()
            until(ours, "✓", "✗")
            waits.append(time.monotonic() - saved)
            say(f"   {slug}, saved: {waits[-1]:.2f} s")
        until(ours, "Watching")
        return statistics.median(waits)
    finally:
        watching.terminate()
        watching.wait(30)
        os.close(theirs)
        os.close(ours)


def until(terminal: int, *words: str, within: float = 120.0) -> None:
    """Read what the terminal shows until one of the words comes."""
    shown, deadline = "", time.monotonic() + within
    while not any(word in shown for word in words):
        if not select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise TimeoutError(f"none of {words} in {within:g} s; shown: {shown[-500:]}")
        shown += os.read(terminal, 65536).decode(errors="replace")


if __name__ == "__main__":
    main(run)
