"""A new lesson: every file that it needs, as a stub that says what to write there.

Each place that is left to the author has the words TO WRITE, and `converge verify NN` lists them until they're gone.
"""

from __future__ import annotations

import re
from pathlib import Path
from string import Template

from converge.files import write_whole
from converge.grader.course.course import Course, Lab, load
from converge.grader.course.course_toml import CourseError
from converge.grader.course.publication import PARTS, QUIZZES

SLUG = re.compile(r"\d\d_[a-z][a-z0-9]*(_[a-z0-9]+)*")

ENTRY = {
    "operator": """
[[lab]]
slug = "$slug"
title = "$title"
part = "$part"
kind = "operator"
file = "$name.py"
rights = ["webapps", "deployments", "services"]
hints = [
  "TO WRITE: a question",
  "TO WRITE: a direction",
  "TO WRITE: nearly the answer",
]
""",
    "library": """
[[lab]]
slug = "$slug"
title = "$title"
part = "$part"
kind = "library"
file = "$name.py"
hints = [
  "TO WRITE: a question",
  "TO WRITE: a direction",
  "TO WRITE: nearly the answer",
]
""",
}

HEADER = '''"""Lab $number: TO WRITE: what the learner builds.

Lesson:  docs/lessons/$slug.md
Check:   make check LAB=$number
Hint:    make hint LAB=$number
"""
'''

CODE = {
    "operator": '''
from converge.operators.webapp import WEBAPP, desired_children, ensure
from converge.runtime import Client, Manager, NotFound, Request


class WebAppReconciler:
    def __init__(self, client: Client) -> None:
        self.client = client

    # --8<-- [start:reconcile]
    def reconcile(self, request: Request) -> None:
        """One pass for one WebApp."""
$body

    # --8<-- [end:reconcile]


def setup(manager: Manager) -> None:
    """Given: which objects lead to a call of reconcile."""
    manager.controller(WebAppReconciler(manager.client)).for_(*WEBAPP).owns("apps/v1", "Deployment")
''',
    "library": '''

# --8<-- [start:double]
def double(number: int) -> int:
    """Twice the number."""
$body


# --8<-- [end:double]
''',
}

ANSWER = {
    "operator": """        try:
            webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        except NotFound:
            return
        for child in desired_children(webapp):
            ensure(self.client, child)""",
    "library": "    return 2 * number",
}

TODO = {
    "operator": """        # TODO 1: read the WebApp, make its children.
        raise NotImplementedError("TODO 1: reconcile")""",
    "library": '    # TODO 1: say it in one line.\n    raise NotImplementedError("TODO 1: double")',
}

CHECKS = {
    "operator": '''"""Checks of lab $number, easiest first. Each docstring is the line that the learner reads."""

from converge.grader import check, eventually


@check(points=1, section="your-turn")
def test_children_appear(operator, namespace):
    """A new WebApp gets a Deployment. (TO WRITE: this lesson's checks, 6 to 20 of them)"""
    operator.start()
    app = namespace.webapp()
    eventually(
        lambda: [each["metadata"]["name"] for each in namespace.list("Deployment")],
        [app.name],
        when="a WebApp was created",
        hint="TO WRITE: where to look, not what to type.",
    )
''',
    "library": '''"""Checks of lab $number, easiest first. Each docstring is the line that the learner reads."""

from converge.grader import check, expect


@check(points=1, section="your-turn")
def test_three(lab):
    """Three doubled is six. (TO WRITE: this lesson's checks, 6 to 20 of them)"""
    expect(lab.double(3), 6, when="double(3) was called", hint="TO WRITE: where to look, not what to type.")
''',
}

MUTANTS = """# Misconceptions, at least six: each an edit of the solution that a check must catch.
# TO WRITE: entries like this one.
#
# [[mutant]]
# id = "create-only"
# misconception = "A Deployment that exists is a Deployment that is right."
# breaks = "a sentence of the page, the skeleton or a hint, word for word"
# source = "https://github.com/OWNER/REPO/issues/N"
# check = "test_it_follows_the_image"
# says = "image"
# edits = [{ find = "…", replace = "…" }]
"""

PLACEHOLDERS = {
    "Why": "TO WRITE: an incident as it happened, with a link to its report.",
    "See it fail": "TO WRITE: the obvious code, from docs/examples/$slug, and its recorded output.",
    "The idea": "TO WRITE: the idea, with one figure.",
    "Your turn": "TO WRITE: what to build in `labs/$slug/$name.py`.",
    "What you saw": "TO WRITE: what the recorder saw, with a timeline.",
    "The same in Go": """=== "Python"

    ```python
    --8<-- "solutions/$slug/$name.py:$section"
    ```

=== "Go"

    TO WRITE: include a section of go/lessons/$slug.""",
    "In production": "TO WRITE: what a team has to know beyond the lab.",
    "Check yourself": f"TO WRITE: {QUIZZES} quizzes.",
}

PAGE = '---\ntitle: "$number · $title"\nminutes: 60\n---\n\n# $title\n' + "".join(
    f"\n## {part}\n\n{PLACEHOLDERS[part]}\n" for part in PARTS
)

NOTEBOOK = """{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "cell-00",
   "metadata": {},
   "source": [
    "# $title\\n",
    "\\n",
    "TO WRITE: what a terminal can't show."
   ]
  }
 ],
 "metadata": {
  "kernelspec": {
   "display_name": "Converge",
   "language": "python",
   "name": "converge"
  },
  "language_info": {
   "name": "python"
  }
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
"""

NOTEBOOK_PAGE = (
    '---\ntitle: "$number · $title"\n---\n\n# $title\n\nTO WRITE: the notebook; make notebooks LAB=$number.\n'
)

RECIPE = """# The output that lesson $number shows.
# TO WRITE: an entry per command, its operators and objects in this folder; make recorded NAME=$slug records them.
"""

GO = """// Package $package has what lesson $number shows in its Go tab.
package $package

// --8<-- [start:$section]

// TO WRITE: the same step on controller-runtime.

// --8<-- [end:$section]
"""

VARIANT = '"""TO WRITE: a right answer, written differently. This one is still the solution."""\n'


def make(course: Course, slug: str, title: str, kind: str = "operator", part: str = "") -> list[Path]:
    """Write all files of a new lesson at the end of the course, and return them."""
    _refuse(course, slug, title, kind)
    number, name = slug[:2], slug[3:]
    section = {"operator": "reconcile", "library": "double"}[kind]
    said = {
        "slug": slug,
        "number": number,
        "name": name,
        "title": title,
        "part": part or course.labs[-1].part,
        "section": section,
        "package": name.replace("_", ""),
    }

    def fill(text: str, **more: str) -> str:
        return Template(text).substitute(said, **more)

    course_toml = course.root / "course.toml"
    write_whole(course_toml, course_toml.read_text().rstrip("\n") + "\n" + fill(ENTRY[kind]))
    lab = load(course.root).find(slug)
    code = fill(CODE[kind], body=ANSWER[kind])
    texts = {
        lab.skeleton: fill(HEADER) + fill(CODE[kind], body=TODO[kind]),
        lab.solution: fill(HEADER) + code,
        lab.checks_file: fill(CHECKS[kind]),
        lab.mutants_file: fill(MUTANTS),
        **{course.root / "tests/variants" / slug / f"{each}.py": VARIANT + code for each in ("first", "second")},
        lab.lesson: fill(PAGE),
        lab.notebook: fill(NOTEBOOK),
        lab.notebook_page: fill(NOTEBOOK_PAGE),
        lab.examples / "record.toml": fill(RECIPE),
        course.root / "go/lessons" / slug / f"{name}.go": fill(GO),
    }
    for path, text in texts.items():
        write_whole(path, text)
    return [course_toml, *texts, *_add_row(course, lab)]


def _refuse(course: Course, slug: str, title: str, kind: str) -> None:
    """Say what is wrong with the arguments before anything is written."""
    following = f"{len(course.labs) + 1:02}"
    if not SLUG.fullmatch(slug):
        raise CourseError(
            f"{slug!r} isn't a slug: two digits and a name in small letters, such as {following}_webhooks"
        )
    if slug[:2] != following:
        raise CourseError(
            f"The next lesson is {following}, not {slug[:2]}: numbers have no gaps, and a new lesson is last"
        )
    if not title.strip() or '"' in title or "|" in title or "\n" in title:
        raise CourseError(f"{title!r} can't be a title: one line, without quotation marks or bars")
    if kind not in ENTRY:
        raise CourseError(f"{kind!r} isn't a kind of lab: operator or library")


def _add_row(course: Course, lab: Lab) -> list[Path]:
    """Put the lesson into the README's table, after the lesson before it."""
    readme = course.root / "README.md"
    before = re.compile(rf"^\| {course.labs[-1].number} \|.*\n", re.MULTILINE)
    last = before.search(text := readme.read_text()) if readme.exists() else None
    if last is None:
        return []  # `converge verify` says that the row is missing
    new = f"| {lab.number} | {lab.title} | TO WRITE: what you build |\n"
    write_whole(readme, text[: last.end()] + new + text[last.end() :])
    return [readme]
