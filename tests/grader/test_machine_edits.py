"""Mutants by machine: which edits are made, and that a run which was stopped goes on where it was."""

import ast
from types import SimpleNamespace

import pytest

from converge.grader import course as courses
from converge.grader.session import machine_mutants
from converge.grader.session.machine_edits import Editor, machine_edits, written
from converge.grader.session.machine_mutants import Journal, Keys, equivalents, run_edits

COURSE = courses.load()
CHECK = COURSE.find("03").checks[0].name


def edits_of(source):
    """The edits of the one function in `source`: the changed line for each description."""
    editor = Editor(source)
    editor.edit_body(ast.parse(source).body[0])
    return {what.partition("`: ")[2]: text for what, text in editor.found if text != source}


@pytest.mark.parametrize(
    ("line", "what", "becomes"),
    [
        ("go(a, namespace=b)", "without namespace=", "go(a)"),
        ("go(a, b)", "without its last argument b", "go(a)"),
        ("go(a)", "deleted", "pass"),
        ("x = a and not b", "`and` became `or`", "x = ((a) or (not b))"),
        ("x = a and not b", "without `not`", "x = a and b"),
        ("x = a <= b", "compared by `<`", "x = (a < b)"),
        ("x = {'é': 1, **a}", "without 'é'", "x = {**a}"),
        ("x = [a, b]", "without a", "x = [b]"),
        ("x = 3", "3 became 4", "x = (4)"),
        ("x = go(type='strategic')", "a merge patch", 'x = go(type="merge")'),
        ("lock.notify_all()", "wakes only one", "lock.notify()"),
        ("with suppress(A): go()", "suppresses every exception", "with suppress(Exception): go()"),
        ("return True", "True became False", "return False"),
    ],
)
def test_an_edit_changes_one_place(line, what, becomes):
    source = f"def f():\n    {line}  # why\n    pass\n"
    assert edits_of(source)[what] == source.replace(line, becomes)


def test_conditions_and_exceptions_are_fixed_and_widened():
    source = "def f():\n    try:\n        go()\n    except (A, B):\n        if a < b:\n            end()\n"
    found = edits_of(source)
    assert "except Exception:" in found["catches every exception"]
    assert "except ():" in found["catches nothing"]
    assert "except (B,):" in found["without A"]
    assert "if True:" in found["condition always True"]
    assert "if (not (a < b)):" in found["condition negated"]


def test_a_lock_is_taken_away_and_what_it_guards_stays():
    found = edits_of("def f():\n    with lock:\n        go()\n")
    assert found["without `with`"] == "def f():\n    if True:\n        go()\n"


def test_words_for_people_are_left_alone():
    assert edits_of('def f():\n    """Words."""\n    log.info("words %s", 1)\n    print("words", end="")\n') == {}
    assert "became" not in str(edits_of('def f():\n    raise ValueError("words")\n').keys())
    assert list(edits_of('def f():\n    raise kopf.TemporaryError("words")\n')) == ["deleted"]


@pytest.mark.parametrize("lab", COURSE.labs, ids=lambda lab: lab.slug)
def test_every_edit_of_every_lab_is_python_and_has_a_name_of_its_own(lab):
    edits = machine_edits(lab)
    assert len(edits) > 10
    assert len({edit.name for edit in edits}) == len({edit.text for edit in edits}) == len(edits)
    for edit in edits:
        ast.parse(edit.text)
    assert set(equivalents(lab)) <= {edit.name for edit in edits}, "listed as equivalent, and there is no such edit"


def test_only_what_the_learner_writes_is_edited():
    names = [name for name, _ in written(COURSE.find("06"))]
    assert "WebAppReconciler.ensure" in names
    assert "selector" not in names, "it is given"


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path, monkeypatch):
    monkeypatch.setenv("CONVERGE_STATE", str(tmp_path))
    lab, graded = COURSE.find("03"), []

    def grade(course, lab, edits, journal, on_graded):
        for edit in edits:
            if len(graded) == 30:
                graded.append("")
                raise KeyboardInterrupt
            graded.append(edit.name)
            on_graded(edit, CHECK, 0.0)
        return []

    monkeypatch.setattr(machine_mutants, "grade", grade)
    with pytest.raises(KeyboardInterrupt):
        run_edits(COURSE, lab)
    with Journal(lab).path.open("a") as file:
        file.write('{"key": "cut off')
    result = run_edits(COURSE, lab)
    assert len(graded) == len(set(graded)) == result.edits + 1, "what was known isn't graded again"
    assert len(result.caught) == result.edits
    assert Journal(lab).in_order(lab, "WorkQueue.add")[0].name == CHECK


def test_a_check_that_fails_on_the_solution_catches_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("CONVERGE_STATE", str(tmp_path))
    lab, other, failed = COURSE.find("03"), COURSE.find("03").checks[1].name, [CHECK]

    def grade(course, lab, edits, journal, on_graded):
        for number, edit in enumerate(edits):
            on_graded(edit, CHECK if number % 2 else other, 0.0)
        return failed

    monkeypatch.setattr(machine_mutants, "grade", grade)
    first = run_edits(COURSE, lab)
    assert (set(first.caught.values()), set(first.unsure.values())) == ({other}, {CHECK})
    assert not first.passed
    assert Journal(lab).kills["", CHECK] == 0
    failed.clear()
    second = run_edits(COURSE, lab)
    assert len(second.caught) == second.edits


def test_a_caught_edit_depends_on_the_check_that_caught_it(tmp_path, monkeypatch):
    lab = COURSE.find("03")
    monkeypatch.setattr(machine_mutants, "HELPERS", [tmp_path / "helpers"])
    edit, other = machine_edits(lab)[0], lab.checks[1].name

    def keys(old, new):
        file = tmp_path / lab.checks_file.name
        file.write_text(lab.checks_file.read_text().replace(old, new))
        made = Keys(SimpleNamespace(checks_file=file))
        return made.of(edit, CHECK), made.of(edit, "")

    caught, passed = keys("", "")
    assert keys(f"def {other}(", f"def {other}(also, ")[0] == caught, "another check has changed"
    assert keys(f"def {other}(", f"def {other}(also, ")[1] != passed, "what no check caught, this one may"
    assert keys(f"def {CHECK}(", f"def {CHECK}(also, ")[0] != caught, "its own check has changed"
    assert keys("\nfrom ", "\nimport this\nfrom ")[0] != caught, "what checks share has changed"
    (tmp_path / "helpers").mkdir()
    (tmp_path / "helpers" / "shared.py").write_text("HELP = 1")
    assert keys("", "")[0] != caught, "what the checks of all labs share has changed"
