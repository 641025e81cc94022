"""What grading a class costs, by cores and by how many submissions are graded at once.

``python -m benchmarks.class_throughput [--lab 03] [--submissions 8] [--at-once 1 2 4] [--cores 1 2]`` prints a table
and what 10,000 submissions need by it. Each submission is our solution, graded by what a Pod runs, with a control plane
of its own if the lab needs a cluster. All of them keep to the first so many cores. Anything but full points is an
error. ``make bench`` leaves this out: other work on the machine spoils it.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.rows import say
from converge.classroom.kubernetes import manifests, parcel
from converge.classroom.kubernetes.parcel import Parcel
from converge.grader import course
from converge.grader.course import Lab

MANY = 10_000
# As in a Pod: process numbers and a /proc of its own, and all that it started ends with it.
LIKE_A_POD = ("unshare", "--user", "--map-current-user", "--pid", "--fork", "--kill-child", "--mount-proc")
TITLES = ("cores", "at once", "time", "submissions per minute", "processor time of one", "cores in use")


@dataclass(frozen=True)
class Measured:
    """So many submissions, graded on so many cores."""

    cores: int
    at_once: int
    submissions: int
    seconds: float
    processor: float  # seconds of processor time, of all submissions

    @property
    def per_minute(self) -> float:
        return 60 * self.submissions / self.seconds

    @property
    def each(self) -> float:
        return self.processor / self.submissions

    def line(self) -> str:
        in_use = self.processor / self.seconds
        found = (f"{self.seconds:.0f} s", f"{self.per_minute:.1f}", f"{self.each:.1f} s", f"{in_use:.1f}")
        return f"| {self.cores} | {self.at_once} | {' | '.join(found)} |"


def grade_one(lab: Lab, packed: Path, scratch: Path) -> None:
    """Grade the solution once, as a Pod does."""
    with tempfile.TemporaryDirectory(dir=scratch) as own:
        pod = [sys.executable, "-m", "converge.classroom.kubernetes.pod", str(packed)]
        environment = {**os.environ, "CONVERGE_STATE": own, "TMPDIR": own}
        ended = subprocess.run([*LIKE_A_POD, *pod], capture_output=True, text=True, env=environment)
    result = parcel.from_log(ended.stdout)
    if result is None or result.points != result.max_points:
        got = f"{result.points} of {result.max_points} points" if result else ended.stdout + ended.stderr
        raise SystemExit(f"{lab.slug}: our solution got {got}")


def measure(lab: Lab, submissions: int, cores: int, at_once: int) -> Measured:
    everything = os.sched_getaffinity(0)
    before, began = used(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="cv-") as scratch:
        packed = Path(scratch) / "parcel"
        names = tuple(check.name for check in lab.checks)
        packed.write_bytes(Parcel(lab.slug, names, {lab.file: lab.solution.read_bytes()}).pack())
        os.sched_setaffinity(0, sorted(everything)[:cores])
        try:
            with ThreadPoolExecutor(at_once) as pool:
                list(pool.map(lambda _: grade_one(lab, packed, Path(scratch)), range(submissions)))
        finally:
            os.sched_setaffinity(0, everything)
    return Measured(cores, at_once, submissions, time.monotonic() - began, used() - before)


def used() -> float:
    """Seconds of processor time of all that has ended below this process."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def for_many(measured: list[Measured], lab: Lab) -> str:
    """What a large class needs."""
    best = max(measured, key=lambda each: each.per_minute)
    hours = MANY * best.each / 3600
    at_once = hours * best.at_once / best.cores
    memory = int(manifests.REQUESTS["memory"].removesuffix("Mi")) / 1024
    return (
        f"{MANY:,} submissions of lab {lab.number} need {hours:.0f} hours of one core, and"
        f" {MANY / best.per_minute / 60:.0f} hours at the best rate above. To be done in an hour: {hours:.0f} cores"
        f" that do nothing else, with {at_once:.0f} Pods at once, which ask for {at_once * memory:.0f} GB."
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.class_throughput", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--lab", default="03", help="the lab; without a cluster unless you name another one")
    parser.add_argument("--submissions", type=int, default=8, help="how many are graded for each line")
    parser.add_argument("--at-once", type=int, nargs="+", default=[1, 2, 4], help="how many of them at once")
    parser.add_argument("--cores", type=int, nargs="+", default=[1, 2], help="on how many cores")
    asked = parser.parse_args()
    lab = course.load().find(asked.lab)
    if max(asked.cores) > len(os.sched_getaffinity(0)):
        raise SystemExit(f"--cores {max(asked.cores)}: only {len(os.sched_getaffinity(0))} are here")
    load, measured = os.getloadavg()[0], list[Measured]()
    for cores in asked.cores:
        for at_once in asked.at_once:
            measured.append(measure(lab, asked.submissions, cores, at_once))
            say(measured[-1].line())
    print(f"Lab {lab.number}, {asked.submissions} submissions a line, load before: {load:.1f}\n")
    print(f"| {' | '.join(TITLES)} |\n|{'---:|' * len(TITLES)}")
    print("\n".join(each.line() for each in measured))
    print(f"\n{for_many(measured, lab)}")


if __name__ == "__main__":
    main()
