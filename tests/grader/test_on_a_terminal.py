"""What a learner sees on a terminal is what stands in a pipe: an emulator of a terminal shows it after every redraw."""

import os
import re
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pyte
import pytest
from rich.console import Console

from converge.grader import course as courses
from converge.grader.checks.verdict import Status
from converge.grader.course.job import Job
from converge.grader.course.results import LabResult, expected
from converge.grader.report import console as report

ROOT = courses.load().root
SIZES = [(80, 25), (100, 40)]


CHECKS = "from converge.grader import check, expect\n" + "".join(
    f"""
@check(points=1)
def test_{number}(lab):
    \"\"\"A key that is added {number} times comes out once, in whatever order the others came before, {number}.\"\"\"
    queue = lab.WorkQueue()
    queue.add("a")
    expect(len(queue), 1, when="a was added again and again, and others before it and after it, {number} times")
"""
    for number in range(1, 30)
)
WRONG = """
class WorkQueue:
    def add(self, key):
        pass

    def __len__(self):
        return 2
"""


@pytest.fixture(scope="module", params=["wrong", "solved"])
def course(tmp_path_factory, request):
    """A course of one lab with more checks than a terminal has lines."""
    root = tmp_path_factory.mktemp("course")
    files = {
        "course.toml": (ROOT / "course.toml").read_text(),
        "tests/labs/test_03_workqueue.py": CHECKS,
        "labs/03_workqueue/workqueue.py": {
            "wrong": WRONG,
            "solved": (solution := (ROOT / "solutions/03_workqueue/workqueue.py").read_text()),
        }[request.param],
        "solutions/03_workqueue/workqueue.py": solution,
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def converge(course, *arguments, **streams):
    left_out = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    return subprocess.Popen(
        [str(Path(sys.executable).with_name("converge")), *arguments],
        cwd=course,
        env={**environment, "CONVERGE_COURSE": str(course), "TERM": "xterm-256color"},
        **streams,
    )


def seen_on_a_terminal(course, columns, lines, *arguments, until=None):
    """All lines of a terminal, those that have scrolled away as well; at `until`, Ctrl-C ends the command."""
    person, terminal = os.openpty()
    termios.tcsetwinsize(terminal, (lines, columns))
    screen = pyte.HistoryScreen(columns, lines, history=1000)
    stream = pyte.ByteStream(screen)
    process = converge(course, *arguments, stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    received = b""
    while True:
        try:
            part = os.read(person, 65536)
        except OSError:  # so Linux says that this was all
            break
        if not part:
            break
        received += part
        stream.feed(part)
        if until and until in received:
            process.send_signal(signal.SIGINT)
            until = None
    os.close(person)
    process.wait()
    away = ["".join(line[column].data for column in range(columns)) for line in screen.history.top]
    return [line.rstrip() for line in [*away, *screen.display]]


def words(text):
    return re.sub(r"\d+\.\d s", "N s", " ".join(text.split()))


@pytest.fixture(scope="module")
def piped(course):
    return words(converge(course, "check", "03", stdout=subprocess.PIPE, text=True).communicate()[0])


@pytest.mark.parametrize(("columns", "lines"), SIZES)
def test_the_report_on_a_terminal_is_the_one_in_a_pipe(course, piped, columns, lines):
    assert "points" in piped
    assert words("\n".join(seen_on_a_terminal(course, columns, lines, "check", "03"))) == piped


def test_watch_shows_the_whole_report(course, piped):
    seen = seen_on_a_terminal(course, 80, 25, "watch", "03", until=b"Ctrl-C ends it.")
    assert words("\n".join(seen)) == f"{piped} Watching labs/03_workqueue/workqueue.py; Ctrl-C ends it."


def test_the_list_is_lower_than_the_terminal_and_keeps_what_runs():
    lab = courses.load().find("03")
    console = Console(width=40, height=10, force_terminal=True)
    live = report.LiveList(console, [Job(lab)])
    live.on_event({"job": 0, "phase": "start", "name": lab.checks[-1].name})
    rows = console.render_lines(live.draw(), pad=False)
    assert len(rows) == 9
    text = ["".join(segment.text for segment in row) for row in rows]
    assert text[-1] == f"… and {len(lab.checks) - 8} more"
    assert lab.checks[-1].title[:20] in text[-2]


def test_long_lines_of_an_explanation_break_at_words_on_a_terminal_only():
    check = expected(courses.load().find("03"), courses.load().find("03").checks[0])
    check.status, check.lesson = Status.FAILED, "docs/" + 80 * "x"
    check.parts = {"message": "one two three four five six seven eight nine ten", "seen": 12 * "later "}
    plain, terminal = Console(width=40), Console(width=40, force_terminal=True, color_system=None)
    with plain.capture() as printed:
        report.show_check(plain, check)
    assert f"    {check.parts['message']}\n" in printed.get()
    with terminal.capture() as printed:
        report.show_check(terminal, check)
    lines = printed.get().splitlines()
    assert "    one two three four five six seven" in lines
    assert "    eight nine ten" in lines
    assert [line for line in lines if "later" in line][1].startswith("              later")
    assert check.lesson in printed.get()


def test_what_to_type_next_works_in_an_ordinary_shell():
    course = courses.load()
    lab = course.find("02")
    check = expected(lab, lab.checks[0])
    check.status, check.timeline = Status.FAILED, "timeline.json"
    console = Console(width=1000)
    with console.capture() as printed:
        report.next_step(console, lab, LabResult(lab.slug, lab.title, "labs", [check], 1.0))
    assert "In `make shell`, `converge show 02` draws" in printed.get()
    with pytest.raises(courses.CourseError, match="`make list` shows them all"):
        course.find("99")
