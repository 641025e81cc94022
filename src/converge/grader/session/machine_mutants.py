"""Mutants by machine: is every small edit of a solution caught by some check, or listed as equivalent with a reason?

An edit's checks begin with the one that has caught most edits of its function so far, and end with the first that
fails. So an edit that is caught costs little, and only one that passes everything costs all checks. All edits of a lab
take turns: nobody waits for the slowest. Each result is written down at once, with a hash of what it depends on: a run
that was stopped goes on where it was, and a caught edit isn't graded again when some other check changes.

The solution itself is graded beside its edits, as they are. A check that fails there, on a machine that is too busy for
half of its deadlines, proves nothing: what it has caught in the same run is forgotten.
"""

from __future__ import annotations

import ast
import hashlib
import json
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from converge.cluster.directories import state_dir
from converge.grader.course import Course, Lab
from converge.grader.course.course import CheckFacts
from converge.grader.course.job import Job
from converge.grader.course.results import LabResult
from converge.grader.session.fail_fast import NOT_RUN
from converge.grader.session.machine_edits import MachineEdit, machine_edits
from converge.grader.session.run import DECISIVE, run
from converge.grader.session.verify import MUTANT_DEADLINE_FACTOR

EDITS_AT_A_TIME = {"library": 3, "operator": 6}  # they mostly wait
SAMPLED_ONE_IN = 6  # this many edits are graded first, if it isn't known yet which checks catch them
HELPERS = [Path(__file__).parents[1] / "checks", Path(__file__).parents[2] / "testing"]  # what all checks share

FORGOTTEN = ""  # the key of a result that isn't believed any more

OnProgress = Callable[["MachineResult", MachineEdit, str], None]
OnGraded = Callable[[MachineEdit, str, float], None]  # the check that caught it, and what the checks took


@dataclass
class MachineResult:
    """What became of the edits of one lab."""

    lab: str
    edits: int
    caught: dict[str, str] = field(default_factory=dict)  # the check, by the edit's name
    equivalent: list[str] = field(default_factory=list)
    survived: list[str] = field(default_factory=list)
    unsure: dict[str, str] = field(default_factory=dict)  # caught by a check that has also failed on the solution
    unknown: list[str] = field(default_factory=list)  # listed as equivalent, but there is no such edit
    not_equivalent: list[str] = field(default_factory=list)  # listed as equivalent, but a check catches it
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        return not (self.survived or self.unsure or self.unknown or self.not_equivalent)

    @property
    def done(self) -> int:
        return len(self.caught) + len(self.equivalent) + len(self.survived)


def equivalents(lab: Lab) -> dict[str, str]:
    """The edits that change nothing a check could see: for each, why."""
    if not lab.mutants_file.exists():
        return {}
    entries = tomllib.loads(lab.mutants_file.read_text()).get("equivalent", [])
    return {entry["edit"]: entry["because"] for entry in entries}


class Journal:
    """What is known about the edits of one lab, kept in the state directory, one line per result."""

    def __init__(self, lab: Lab) -> None:
        self.path = state_dir() / "edits" / f"{lab.slug}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.known: dict[str, tuple[str, str]] = {}  # an edit's key and the check that caught it, by the edit's name
        self.kills: Counter[tuple[str, str]] = Counter()  # how often a check has caught an edit of a function
        for line in self.path.read_text().splitlines() if self.path.exists() else ():
            try:
                row = json.loads(line)
            except ValueError:
                continue  # the last line of a run that was killed
            self._learn(row["edit"], row["key"], row["function"], row["check"])

    def enter(self, key: str, edit: MachineEdit, check: str) -> None:
        """Write down which check has caught an edit; `""` for none."""
        row = {"key": key, "edit": edit.name, "function": edit.function, "check": check}
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        self._learn(edit.name, key, edit.function, check)

    def _learn(self, edit: str, key: str, function: str, check: str) -> None:
        _, caught_before = self.known.get(edit, ("", ""))
        if key == FORGOTTEN and caught_before:
            self.kills[function, caught_before] -= 1
            self.kills["", caught_before] -= 1
        self.known[edit] = key, check
        if check:
            self.kills[function, check] += 1
            self.kills["", check] += 1

    def in_order(self, lab: Lab, function: str) -> list[CheckFacts]:
        """The checks of a lab, those first that have caught most edits of this function, then most of any."""
        return sorted(lab.checks, key=lambda each: (-self.kills[function, each.name], -self.kills["", each.name]))


class Keys:
    """What a result depends on: for a caught edit, the check that caught it; for one that passed, every check."""

    def __init__(self, lab: Lab) -> None:
        text = lab.checks_file.read_text()
        sources = sorted(path for folder in HELPERS for path in folder.rglob("*.py"))
        helpers = "".join(path.read_text() for path in sources)
        self.all = text + helpers
        self.checks: dict[str, str] = {}
        self.shared = text + helpers  # without the checks: helpers, constants, imports
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                source = "\n".join(text.splitlines()[first - 1 : node.end_lineno])
                self.checks[node.name] = source
                self.shared = self.shared.replace(source, "")

    def of(self, edit: MachineEdit, check: str) -> str:
        depends = f"{self.shared}\0{self.checks.get(check)}" if check else self.all
        return hashlib.sha256(f"{edit.name}\0{edit.text}\0{depends}".encode()).hexdigest()


def run_edits(course: Course, lab: Lab, on_progress: OnProgress = lambda result, edit, check: None) -> MachineResult:
    """Grade every edit of a lab's solution that isn't known yet."""
    edits, listed, journal = machine_edits(lab), equivalents(lab), Journal(lab)
    result = MachineResult(lab.slug, len(edits))
    names = {edit.name for edit in edits}
    result.unknown = [name for name in listed if name not in names]
    keys = Keys(lab)

    def enter(edit: MachineEdit, check: str) -> None:
        if check and edit.name in listed:
            result.not_equivalent.append(edit.name)
        if check:
            result.caught[edit.name] = check
        else:
            (result.equivalent if edit.name in listed else result.survived).append(edit.name)
        on_progress(result, edit, check)

    todo = []
    for edit in edits:
        key, check = journal.known.get(edit.name, ("", ""))
        if key == keys.of(edit, check):
            enter(edit, check)
        else:
            todo.append(edit)

    def on_graded(edit: MachineEdit, check: str, seconds: float) -> None:
        result.seconds += seconds
        journal.enter(keys.of(edit, check), edit, check)
        enter(edit, check)

    for some in halves(todo, journal):
        for check in grade(course, lab, some, journal, on_graded):
            for edit in [each for each in some if result.caught.get(each.name) == check]:
                journal.enter(FORGOTTEN, edit, "")
                result.unsure[edit.name] = result.caught.pop(edit.name)
    result.not_equivalent = [name for name in result.not_equivalent if name not in result.unsure]
    return result


def halves(edits: list[MachineEdit], journal: Journal) -> list[list[MachineEdit]]:
    """A sample, to learn which checks catch what, and the rest; or all at once, when enough is known."""
    functions = {edit.function for edit in edits}
    known = {function for function, _ in journal.kills}
    sample = [] if functions <= known else edits[::SAMPLED_ONE_IN]
    return [each for each in (sample, [edit for edit in edits if edit not in sample]) if each]


def grade(course: Course, lab: Lab, edits: Sequence[MachineEdit], journal: Journal, on_graded: OnGraded) -> list[str]:
    """Grade some edits in one run, each until a check fails. `on_graded` hears of each as soon as it's decided.

    Returns the checks that the solution has failed in the same run.
    """
    with tempfile.TemporaryDirectory(prefix="converge-edits-") as scratch:
        jobs = [
            Job(
                lab,
                str(place(lab, edit, Path(scratch) / str(number))),
                journal.in_order(lab, edit.function),
                deadline_factor=MUTANT_DEADLINE_FACTOR,
                until_failure=True,
            )
            for number, edit in enumerate(edits)
        ]
        jobs.append(Job(lab, "solutions", journal.in_order(lab, ""), deadline_factor=MUTANT_DEADLINE_FACTOR))

        def on_result(number: int, outcome: LabResult) -> None:
            if number < len(edits):
                on_graded(edits[number], catcher(outcome), sum(check.seconds for check in outcome.checks))

        *_, control = run(course, jobs, workers=EDITS_AT_A_TIME[lab.kind], on_result=on_result)
        return [check.name for check in control.checks if check.asked and not check.passed]


def catcher(outcome: LabResult) -> str:
    """The check that failed, or `""`. Trouble of the run as a whole says nothing about the edit."""
    if outcome.trouble:
        raise RuntimeError(outcome.trouble)
    failed = [check for check in outcome.checks if check.status in DECISIVE]
    return next((check.name for check in failed if check.cause != NOT_RUN), "")


def place(lab: Lab, edit: MachineEdit, directory: Path) -> Path:
    """Write the edited solution to a directory, with the files that belong to it."""
    directory.mkdir()
    for file in lab.extra_files:
        (directory / file).write_text(lab.solution.with_name(file).read_text())
    (directory / lab.file).write_text(edit.text)
    return directory / lab.file
