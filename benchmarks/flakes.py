"""Does a right answer ever fail? Every solution graded twenty times, eight checks at a time on two cores.

``python -m benchmarks.flakes [--runs 20] [LAB …]``. The load is the runs themselves: with four times as many checks as
cores, each waits for the processor. A line per result, the reason of every check that wasn't passed, then a table. It
exits with 1 if there was one. ``make bench`` leaves it out: it takes most of an hour.
"""

import argparse
import os
import sys
import time
from collections import Counter

from benchmarks.rows import say
from converge import cluster
from converge.grader import course as courses
from converge.grader.course.job import Job
from converge.grader.course.results import LabResult
from converge.grader.report.text import explain
from converge.grader.session import run as session

CHECKS_PER_CORE = 4


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flakes", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("labs", nargs="*", metavar="LAB", help="labs; all when none is named")
    parser.add_argument("--runs", type=int, default=20, help="how often each solution is graded")
    chosen = parser.parse_args()
    course = courses.load()
    labs = [course.find(name) for name in chosen.labs] or course.labs
    jobs = [Job(lab, "solutions") for _ in range(chosen.runs) for lab in labs]
    cluster.ensure()
    runs, flaky, loads = Counter[str](), Counter[str](), list[float]()
    began = time.monotonic()

    def on_result(number: int, result: LabResult) -> None:
        loads.append(os.getloadavg()[0])
        runs[result.lab] += 1
        failed = [each for each in result.checks if each.asked and not each.passed]
        flaky[result.lab] += bool(failed or result.trouble)
        say(f"{len(loads)}/{len(jobs)}  {result.lab}  {result.seconds:.0f} s  load {loads[-1]:.1f} {result.trouble}")
        for each in failed:
            say(f"{result.lab} {each.name}: {each.status}\n{explain(each.status, each.parts)}")

    session.run(course, jobs, workers=CHECKS_PER_CORE * (os.cpu_count() or 1), on_result=on_result)
    print("| lab | runs | not full marks |\n|---|---:|---:|")
    for slug in sorted(runs):
        print(f"| {slug} | {runs[slug]} | {flaky[slug]} |")
    print(f"\n{time.monotonic() - began:.0f} s, load {min(loads):.1f} to {max(loads):.1f}")
    sys.exit(1 if flaky.total() else 0)


if __name__ == "__main__":
    main()
