"""A class of 100 to try a grader with, and whether two ways to grade it agree.

``python -m benchmarks.class_of_100 make handed-in`` writes what the class hands in: 70 work queues (lab 03) and 30
operators (lab 01), right, wrong, hostile, broken and slow ones mixed. It's the same class each time. Grade it with
``converge grade handed-in --lab 03 --lab 01 --out graded``, on one machine or a cluster.

``python -m benchmarks.class_of_100 compare graded [graded-elsewhere …]`` says which student got what they should not
have got, and where a student's points in one check differ from those in the first directory. It exits with 1 if there
are any.
"""

import argparse
import json
import random
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from converge.grader import course
from converge.grader.course import Lab, submissions
from tests.classroom.hostile import CHEATS, CHECK, OLDER, WRONG, lab_of, said, text_of

T = TypeVar("T")
SOLVED = {"03": 8, "01": 4}  # students who hand in our solution
MUTANTS = {"03": 19, "01": 9}
HOSTILE = {"03": 24, "01": 6}
OLD_HOSTILE = 6  # attacks that `converge check` has to survive as well; all on lab 03
SLOW = {
    "03": {
        "sleeps-at-import": "import time\n\ntime.sleep(4000)\n" + WRONG,
        "spins-at-import": "while True:\n    pass\n" + WRONG,
        "sleeps-in-each-call": WRONG.replace("        pass\n", "        import time\n\n        time.sleep(4000)\n"),
        "waits-for-itself": WRONG.replace(
            "        pass\n", "        import threading\n\n        threading.Event().wait()\n"
        ),
    },
    "01": {
        "sleeps-at-import": "import time\n\ntime.sleep(4000)\n",
        "spins-at-import": "while True:\n    pass\n",
        "sleeps-in-each-pass": "{solution}\n\n\ndef reconcile(*_):\n    import time\n\n    time.sleep(4000)\n",
    },
}


@dataclass(frozen=True)
class Work:
    """What one student hands in: the bytes of a file by its path; a path that ends in .zip is one archive."""

    kind: str
    what: str
    lab: Lab
    files: dict[str, bytes]
    zipped: bool = False


def works() -> list[Work]:
    """The class, in an order that mixes kinds and labs, always the same."""
    made = [work for number in ("03", "01") for work in of_lab(course.load().find(number))]
    random.Random(100).shuffle(made)
    return made


def of_lab(lab: Lab) -> Iterator[Work]:
    inside, top = f"{lab.slug}/{lab.file}", lab.file
    solution = lab.solution.read_bytes()
    for number in range(SOLVED[lab.number]):
        yield Work("right", f"solution-{number}", lab, {(inside, top)[number % 2]: solution}, zipped=number % 3 == 2)
    for name, path in lab.variants.items():
        # A jail doesn't have the solution of the lab that is graded, on which this helper of later labs rests.
        leans = lab.number == "01" and "ensure_deployment" in path.read_text()
        yield Work("wrong" if leans else "right", name, lab, {top: path.read_bytes()})
    all_mutants = [each for each in submissions.mutants(lab) if not each.without]
    for mutant in spread(all_mutants, MUTANTS[lab.number]):
        yield Work("wrong", mutant.id, lab, {inside: submissions.mutate(lab, mutant)[lab.file].encode()})
    yield Work("wrong", "skeleton", lab, {inside: lab.skeleton.read_bytes()})
    for name in spread([name for name in CHEATS if lab_of(name) == lab], HOSTILE[lab.number]):
        yield Work("hostile", name.replace("_", "-"), lab, {top: text_of(name).encode()})
    if lab.number == "03":
        for name in spread(list(OLDER), OLD_HOSTILE):
            yield Work("hostile", f"old-{name.replace('_', '-')}", lab, {top: text_of(name).encode()})
    broken = {
        "does-not-parse": {inside: b"class WorkQueue(:\n"},
        "nothing": {},
        "another-name": {f"{lab.slug}/final_version (2).py": solution},
        "is-no-text": {inside: bytes(range(256)) * 40},
    }
    for name, files in broken.items():
        yield Work("broken", name, lab, files)
    if lab.number == "03":
        yield Work("broken", "not-a-zip", lab, {".zip": b"not a zip"})
        yield Work("broken", "too-large", lab, {inside: b"#" * (2 << 20) + b"\n" + solution})
    for name, text in SLOW[lab.number].items():
        yield Work("slow", name, lab, {inside: text.replace("{solution}", solution.decode()).encode()})


def spread(many: Sequence[T], number: int) -> list[T]:
    """So many of them, at even distances."""
    return [many[index * len(many) // number] for index in range(number)]


def students() -> dict[str, Work]:
    return {f"{number:03}-{each.kind}-{each.what}": each for number, each in enumerate(works(), 1)}


def make(folder: Path, wanted: int) -> None:
    """Write what the first so many students hand in."""
    folder.mkdir(parents=True)
    for student, work in list(students().items())[:wanted]:
        if ".zip" in work.files:
            (folder / f"{student}.zip").write_bytes(work.files[".zip"])
        elif work.zipped:
            with zipfile.ZipFile(folder / f"{student}.zip", "w") as archive:
                for path, content in work.files.items():
                    archive.writestr(path, content)
        else:
            (folder / student).mkdir()
            for path, content in work.files.items():
                target = folder / student / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
    print(f"{folder}: {len(list(folder.iterdir()))} students")


Points = dict[tuple[str, str, str], float]  # by student, lab and check


def points_of(graded: Path) -> Points:
    """All points in a directory of results; -1 if the grader failed."""
    found: Points = {}
    for path in sorted((graded / "results").glob("*/*.json")):
        result = json.loads(path.read_text())
        for check in result["checks"]:
            failed = result["trouble"] or check["status"] == "error"
            found[path.stem, path.parent.name, check["name"]] = -1 if failed else check["points"]
    return found


def surprises(graded: Path, points: Points) -> Iterator[str]:
    """Students who got what their work isn't worth."""
    for student, work in students().items():
        own = {name: each for (who, lab, name), each in points.items() if (who, lab) == (student, work.lab.slug)}
        if not own:
            continue
        total, most = sum(own.values()), work.lab.points
        held = json.loads((graded / "results" / work.lab.slug / f"{student}.json").read_text())["held"]
        worth = {"right": total == most, "wrong": total < most, "slow": total < most, "broken": total == 0}
        if -1 in own.values():
            yield f"{student}: the grader failed"
        elif not worth.get(work.kind, bool(held) or not cheated(work, own)):
            yield f"{student}: {total:g} of {most:g} points"


def cheated(work: Work, own: dict[str, float]) -> float:
    """The points that an attack should not have: those of the check that it's about, or else of any.

    One on lab 01 that says so rides on our solution, and should have them.
    """
    name = work.what.replace("-", "_")
    if name not in CHEATS:
        return sum(own.values())
    rides = work.lab.number == "01"
    about = said(CHEATS[name], "Check", CHECK["01"] if rides else "")
    if said(CHEATS[name], "Earns") != "nothing":
        return rides and not own[about]
    return own[about] if about else sum(own.values())


def compare(first: Path, *others: Path) -> int:
    """Print what is wrong in one, and what differs between them. Returns how many lines that were."""
    wrong, known = 0, points_of(first)
    for folder in (first, *others):
        found = points_of(folder)
        lines = [*surprises(folder, found)]
        both = sorted(known.keys() & found.keys())
        lines += [
            f"{' '.join(key)}: {known[key]:g} in {first}, {found[key]:g} here"
            for key in both
            if known[key] != found[key]
        ]
        compared = f", {len(both)} compared with {first}" if folder != first else ""
        print(
            f"{folder}: {len({key[:2] for key in found})} results of {len(found)} checks{compared}, {len(lines)} wrong"
        )
        print("".join(f"  {line}\n" for line in lines), end="")
        wrong += len(lines)
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.class_of_100", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make", help="write what the class hands in")
    making.add_argument("folder", type=Path)
    making.add_argument("--students", type=int, default=100, help="only the first so many")
    comparing = commands.add_parser("compare", help="compare directories of results")
    comparing.add_argument("folders", type=Path, nargs="+", metavar="DIR")
    asked = parser.parse_args()
    if asked.command == "make":
        make(asked.folder, asked.students)
    else:
        sys.exit(1 if compare(*asked.folders) else 0)


if __name__ == "__main__":
    main()
