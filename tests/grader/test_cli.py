"""The commands as a learner types them: exit codes, messages, files."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from converge import cli, cluster
from converge.cli import app
from converge.grader import course as courses
from converge.grader.course.last_run import LastRun
from converge.grader.course.results import LabResult, expected
from converge.recorder import archive
from converge.recorder.recording import Recording

ROOT = courses.load().root


def converge(*arguments, course=ROOT, text=None):
    return subprocess.run(
        [str(Path(sys.executable).with_name("converge")), *arguments],
        env={**os.environ, "CONVERGE_COURSE": str(course), "COLUMNS": "100", "NO_COLOR": "1"},
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def course(tmp_path):
    """A course of one lab, with a git history of one commit."""
    for path in ("labs/03_workqueue", "solutions/03_workqueue", "tests/labs"):
        (tmp_path / path).mkdir(parents=True)
    for path in ("labs/03_workqueue/workqueue.py", "solutions/03_workqueue/workqueue.py", "course.toml"):
        (tmp_path / path).write_text((ROOT / path).read_text())
    (tmp_path / "tests/labs/test_03_workqueue.py").write_text(
        '''from converge.grader import check, expect


@check(points=2)
def test_duplicate_adds_collapse(lab):
    """Adding a waiting key again changes nothing."""
    queue = lab.WorkQueue()
    queue.add("a")
    queue.add("a")
    expect(len(queue), 1, when="a was added twice", hint="ask whether it is dirty")
'''
    )
    git = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "course"]):
        subprocess.run([*git, *command], check=True)
    return tmp_path


def lab_file(course):
    return course / "labs/03_workqueue/workqueue.py"


def test_a_skeleton_exits_1_and_says_not_started(course):
    done = converge("check", "03", course=course)
    assert done.returncode == 1
    assert "not started: TODO 1: WorkQueue.add" in done.stdout
    assert "\x1b" not in done.stdout


def test_a_right_answer_exits_0_and_is_remembered(course):
    lab_file(course).write_text((course / "solutions/03_workqueue/workqueue.py").read_text())
    done = converge("check", "workqueue", course=course)
    assert (done.returncode, "2/2 points" in done.stdout) == (0, True)
    progress = json.loads(converge("progress", "--json", course=course).stdout)
    assert next(row for row in progress if row["lab"] == "03_workqueue")["passed"] is True


def test_a_typo_exits_2_and_suggests(course):
    done = converge("check", "worqueue", course=course)
    assert done.returncode == 2
    assert "Did you mean workqueue?" in done.stderr


def test_a_file_that_does_not_parse_shows_the_line(course):
    lab_file(course).write_text("class WorkQueue:\n    def add(self, key:\n")
    done = converge("check", "03", course=course)
    assert done.returncode == 1
    assert "workqueue.py, line 2" in done.stdout
    assert "Traceback" not in done.stdout


def test_a_file_that_is_not_text_and_a_mutant_that_is_not_there_are_one_line_each(course):
    lab_file(course).write_text("\0")
    done = converge("check", "03", course=course)
    assert "is not Python text: source code string cannot contain null bytes" in done.stdout
    assert "None" not in done.stdout
    done = converge("check", "03", "--against", "mutant:no-such", course=course)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "has no mutant 'no-such'" in done.stderr


def test_a_missing_class_is_explained_once(course):
    checks = course / "tests/labs/test_03_workqueue.py"
    again = checks.read_text().partition("\n\n\n")[2].replace("collapse", "collapse_again")
    checks.write_text(f"{checks.read_text()}\n\n{again}")
    lab_file(course).write_text("")
    done = converge("check", "03", course=course)
    assert done.stdout.count("Keep the name WorkQueue") == 1
    assert "same reason as 03.1" in done.stdout


def test_an_error_of_the_grader_exits_4(course):
    (course / "tests/labs/test_03_workqueue.py").write_text(
        'from converge.grader import check\n\n\n@check(points=1)\ndef test_it(lab):\n    """It works."""\n    1 / 0\n'
    )
    done = converge("check", "03", course=course)
    assert done.returncode == 4
    assert "not in your code" in done.stdout


def test_a_check_that_skips_is_no_pass(course):
    (course / "tests/labs/test_03_workqueue.py").write_text(
        "import pytest\n\nfrom converge.grader import check\n\n\n@check(points=1)\ndef test_it(lab):\n"
        '    """It works."""\n    pytest.skip("not today")\n'
    )
    assert converge("check", "03", course=course).returncode == 4


def test_a_check_of_containers_asks_for_a_cluster_where_they_run(course):
    (course / "tests/labs/test_03_workqueue.py").write_text(
        "from converge.grader import check\n\n\n@check(points=1, kubelet=True)\ndef test_it():\n"
        '    """Containers run."""\n\n\n@check(points=2)\ndef test_all_else():\n    """All else is well."""\n'
    )
    done = converge("check", "03", course=course)
    real = cluster.ensure().pods_are_real
    assert done.returncode == 0
    assert ("3/3 points · 2 passed" if real else "2/2 points · 1 passed, 1 needs kind") in done.stdout
    assert converge("check", "03.1", course=course).returncode == (0 if real else 1)


def test_json_is_all_that_is_printed(course):
    done = converge("check", "03", "--json", course=course)
    (result,) = json.loads(done.stdout)
    assert (result["points"], result["max_points"], result["passed"]) == (0, 2, False)


def test_files_are_written(course, tmp_path):
    files = {name: tmp_path / "out" / name for name in ("html", "gradescope", "classroom50", "junit")}
    converge("check", "03", *(word for name, path in files.items() for word in (f"--{name}", str(path))), course=course)
    assert all(path.stat().st_size > 100 for path in files.values())


def test_hints_come_one_after_the_other(course):
    shown = [converge("hint", "03", course=course).stdout for _ in range(4)]
    assert ["hint 1 of 3" in shown[0], "hint 2 of 3" in shown[1], "hint 3 of 3" in shown[2]] == [True] * 3
    assert shown[3] == shown[2]


def test_the_solution_opens_after_a_pass(course):
    assert converge("diff", "03", course=course).returncode == 2
    assert "deque" not in converge("diff", "03", course=course).stdout


def test_reset_shows_asks_and_keeps_a_copy(course):
    skeleton = lab_file(course).read_text()
    lab_file(course).write_text(skeleton + "\nmine = 1\n")
    assert converge("reset", "03", course=course, text="n\n").returncode == 1
    assert "mine = 1" in lab_file(course).read_text()
    done = converge("reset", "03", "--yes", course=course)
    assert "-mine = 1" in done.stdout
    assert lab_file(course).read_text() == skeleton
    (backup,) = (course / ".converge/backups").iterdir()
    assert "mine = 1" in backup.read_text()


def test_nearly_done_is_not_sent_back_to_the_lesson(course):
    checks = course / "tests/labs/test_03_workqueue.py"
    checks.write_text(
        checks.read_text()
        + '''

@check(points=1)
def test_it_counts(lab):
    """It counts to three."""
    expect(len(lab.WorkQueue()), 3, when="nothing was added", hint="")
'''
    )
    lab_file(course).write_text((course / "solutions/03_workqueue/workqueue.py").read_text())
    done = converge("check", "03", course=course)
    assert "First to fix: 03.2." in done.stdout
    assert "read docs" not in done.stdout


def show(course, state, *arguments):
    """Which recording `converge show` chooses, by its title."""
    done = subprocess.run(
        [str(Path(sys.executable).with_name("converge")), "show", "--json", *arguments],
        env={**os.environ, "CONVERGE_COURSE": str(course), "CONVERGE_STATE": str(state)},
        capture_output=True,
        text=True,
        check=True,
    )
    return re.findall(r'"title": ?"([^"]*)"', done.stdout)[0]


def test_show_opens_the_first_failed_check_or_the_one_that_is_named(tmp_path, monkeypatch):
    course = courses.load()
    lab = course.find("12")
    monkeypatch.setenv("CONVERGE_STATE", str(tmp_path / "state"))
    titles = [f"{lab.slug} {check.name.removeprefix('test_')}" for check in lab.checks[:4]]
    kept = [archive.keep(Recording(title=title)) for title in titles]
    (tmp_path / "course.toml").symlink_to(ROOT / "course.toml")
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    here, state = courses.load(tmp_path), tmp_path / "state"
    assert show(tmp_path, state, "12") == titles[3], "nothing was graded yet: the newest"
    checks = [expected(lab, each) for each in lab.checks[:4]]
    checks[1].timeline, checks[2].timeline = str(kept[1].file), str(kept[2].file)
    LastRun(here).remember(LabResult(lab.slug, lab.title, "labs", checks, 1.0))
    assert show(tmp_path, state, "12") == titles[1]
    assert show(tmp_path, state) == titles[1]
    assert show(tmp_path, state, "12.1") == titles[0]
    assert show(tmp_path, state, titles[2].partition(" ")[2]) == titles[2]


def test_show_names_a_check_that_is_not_there_and_a_file_that_is_no_recording(tmp_path):
    (tmp_path / "broken.json").write_text("[]")
    missing, broken = converge("show", "12.99"), converge("show", str(tmp_path / "broken.json"))
    assert missing.returncode == 2
    assert "has no check '99'" in missing.stderr
    assert broken.returncode == 1
    assert "isn't a recording" in broken.stdout
    assert broken.stdout.count("\n") == 1


def everything(terminal):
    """All that was written to a terminal whose other end is closed; one read may return a part of it."""
    seen = b""
    with contextlib.suppress(OSError):  # so Linux says that this was all
        while part := os.read(terminal, 65536):
            seen += part
    os.close(terminal)
    return seen.decode()


@pytest.mark.parametrize("ignored", [False, True], ids=["", "below a program that ignores SIGPIPE"])
@pytest.mark.parametrize("target", ["check", "watch", "hint"])
def test_make_adds_nothing_for_a_person_and_keeps_its_status(tmp_path, target, ignored):
    program = tmp_path / "bin" / "converge"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 0/2 points\nexit 1\n")
    program.chmod(0o755)
    make = ["make", "-C", str(ROOT), "-o", f"{tmp_path}/.learn", target, f"VENV={tmp_path}"]
    (tmp_path / ".learn").touch()
    script = subprocess.run(make, capture_output=True, text=True, check=False)
    assert script.returncode != 0
    person, terminal = os.openpty()
    before = signal.signal(signal.SIGPIPE, signal.SIG_IGN if ignored else signal.SIG_DFL)
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), terminal)
    learner = subprocess.run(make, **streams, check=False, restore_signals=False)
    signal.signal(signal.SIGPIPE, before)
    os.close(terminal)
    seen = everything(person)
    assert learner.returncode != 0
    assert "0/2 points" in seen
    assert "***" not in seen


def test_the_first_make_says_in_one_sentence_what_it_sets_up(tmp_path):
    """The programs are stand-ins: the one for Python makes an environment of stand-ins."""
    program, venv = tmp_path / "python", tmp_path / "venv"
    program.write_text(
        '#!/bin/sh\ntest "$2" = venv || exit 0\nmkdir -p "$3/bin"\n'
        'for name in uv pip converge; do printf "#!/bin/sh\\n" >"$3/bin/$name"; chmod +x "$3/bin/$name"; done\n'
    )
    program.chmod(0o755)
    make = ["make", "--no-print-directory", "-C", str(ROOT), "check", f"VENV={venv}", f"PYTHON={program}"]
    first, second = (subprocess.run(make, capture_output=True, text=True, check=False) for _ in range(2))
    assert (first.returncode, first.stdout, first.stderr) == (0, "", f"Setting up {venv}, once.\n")
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")


def test_make_docs_says_that_its_port_is_taken_before_it_builds(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / ".docs").touch()
    (tmp_path / "bin/python").symlink_to(sys.executable)
    program = tmp_path / "bin/mkdocs"
    program.write_text('#!/bin/sh\necho mkdocs "$@"\n')
    program.chmod(0o755)

    def make_docs(port):
        make = ["make", "-C", str(ROOT), "-o", f"{tmp_path}/.docs", "docs", f"VENV={tmp_path}", f"PORT={port}"]
        return subprocess.run(make, capture_output=True, text=True, check=False)

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = make_docs(port)
    assert refused.returncode != 0
    assert f"port {port} is taken: make docs PORT={port + 1}\n" in refused.stderr
    assert "mkdocs serve" not in refused.stdout
    assert f"127.0.0.1:{port}" in make_docs(port).stdout


def test_every_command_has_an_example():
    runner = CliRunner()
    for command in ("check", "watch", "hint", "show", "diff", "reset", "progress", "list", "verify", "outside"):
        assert "Example" in runner.invoke(app, [command, "--help"]).output, command


def test_the_list_is_the_manifest():
    rows = json.loads(converge("list", "--json").stdout)
    assert [row["lab"] for row in rows] == [lab.slug for lab in courses.load().labs]


def test_version_says_what_a_report_needs():
    said = dict(line.split(maxsplit=1) for line in converge("version").stdout.splitlines())
    assert list(said) == ["Converge", "Kubernetes", "Python"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", said["Kubernetes"])
    assert sys.executable in said["Python"]


def test_ctrl_c_while_a_dataclass_is_made_is_no_crash(monkeypatch, capsys):
    """Python 3.11 wraps what is raised there in a RuntimeError, and imports make dataclasses."""

    def interrupted():
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()

    monkeypatch.setattr(cli, "app", interrupted)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 130
    assert "interrupted" in capsys.readouterr().err
