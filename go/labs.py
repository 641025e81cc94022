"""Grade the operators of the Go tabs with the checks of their labs.

``python -m go.labs 06`` builds and grades one, ``python -m go.labs`` all of them. The exit status is 0 if exactly the
checks in ``EXCEPT`` fail, each of which says why no operator on controller-runtime should pass it; those in ``LUCK``
don't count. ``README.md`` has the same as a table; ``python -m go.labs --table`` prints it.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks import golang
from converge.files import course_root
from converge.grader import course

BUILT = course_root() / "build" / "go"
SHIP = golang.COURSE_MODULE / "lessons" / "16_ship"
LABS = ("01", "06", "07", "08", "09", "10", "11", "12", "14", "15", "16")

#: Checks that a Go operator need not pass, with the reason.
EXCEPT = {"01.10": "takes a `404 page not found` for an absent object, because client-go says NotFound of both"}

#: Checks that may end either way, with the reason.
LUCK = {"09.12": "may lose an Event in a crash, because client-go sends Events in the background"}


def table() -> str:
    """What `make go-labs` has to show, lab by lab, as Markdown."""
    lines = ["| lab | passed | not passed, and why |", "|---|---|---|"]
    for number in LABS:
        lab = course.load().find(number)
        missing = {
            f"{number}.{place}": EXCEPT.get(f"{number}.{place}", "needs `converge up --provider kind`")
            for place, check in enumerate(lab.checks, start=1)
            if check.kubelet or f"{number}.{place}" in EXCEPT
        }
        luck = {name: reason for name, reason in LUCK.items() if name.startswith(number)}
        why = ", ".join(f"{name} {reason}" for name, reason in {**missing, **luck}.items())
        lines.append(f"| `{lab.slug}` | {len(lab.checks) - len(missing)} of {len(lab.checks)} | {why} |")
    return "\n".join(lines) + "\n"


def build(lab: str) -> Path:
    """Compile the operator of a lab and return the program."""
    if lab != "16":
        return shutil.copy(golang.build(golang.COURSE_MODULE, "./operators", "operators"), BUILT / "operators")
    home = BUILT / "16_ship"  # its checks read the files beside the program
    home.mkdir(exist_ok=True)
    for file in ("manifest.yaml", "Dockerfile"):
        shutil.copy(SHIP / file, home)
    return shutil.copy(golang.build(golang.COURSE_MODULE, "./lessons/16_ship", "ship"), home / "ship")


def grade(lab: str, program: Path) -> list[str]:
    """Run the checks, print how each went, and return what isn't as expected."""
    command = [Path(sys.executable).with_name("converge"), "check", lab, "--against", program, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        (result,) = json.loads(done.stdout)
    except ValueError:
        raise SystemExit(done.stderr or done.stdout) from None
    problems = []
    for check in result["checks"]:
        number, passed = check["number"], check["status"] == "passed"
        why = EXCEPT.get(number) or LUCK.get(number, "")
        print(
            f"{number:>5}  {check['status']:<10} {check['title']}" + (f"\n       {why}" if why and not passed else "")
        )
        if not passed and not why and check["status"] != "needs kind":
            problems.append(f"{number} {check['status']}: {json.dumps(check['parts'], indent=1, ensure_ascii=False)}")
        if passed and number in EXCEPT:
            problems.append(f"{number} passes by now: take it out of EXCEPT")
    return problems


def main(labs: list[str]) -> int:
    if labs == ["--table"]:
        print(table(), end="")
        return 0
    BUILT.mkdir(parents=True, exist_ok=True)
    problems = [problem for lab in labs or LABS for problem in grade(lab, build(lab))]
    print("\n".join(problems) or "all as expected")
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
