"""What hostile students hand in: the attacks of `cheats`, each with the work that it rides on."""

import re
from pathlib import Path

from converge.grader import course as courses

HERE = Path(__file__).parent
COURSE = courses.load()
CHEATS = {path.stem: path for path in sorted((HERE / "cheats").glob("*.py"))}
# The attacks that `converge check` has to survive as well.
FOLDER = HERE.parent / "grader" / "cheats"
OLDER = {path.parent.name: path for path in sorted(FOLDER.glob("*/workqueue.py"))}
# What an attack is graded by, if it doesn't say.
CHECK = {
    "03": "test_keys_come_out_in_order",
    "01": "test_a_webapp_gets_a_deployment",
    "16": "test_the_manifest_fits_together",
}
SAY_GOT = """

def print(*words, out=print):
    if "GOT" in words:
        raise RuntimeError(repr(words))
    out(*words)
"""
WRONG = """

class WorkQueue:
    def __init__(self, **options):
        pass

    def __len__(self):
        return 99

    def add(self, key):
        pass

    def get(self, timeout=None):
        return "wrong"

    def done(self, key):
        pass
"""
BEFORE_IT = """
setup_of_the_solution = setup


def setup(manager):
    attack(manager.client)
    setup_of_the_solution(manager)
"""


def said(path, word, otherwise=""):
    """What the header of a cheat says."""
    found = re.search(rf"^{word}: (.*)$", path.read_text().partition('"""\n')[0], re.MULTILINE)
    return found[1] if found else otherwise


def lab_of(name):
    return COURSE.find(said(CHEATS[name], "Lab") if name in CHEATS else "03")


def text_of(name):
    """The file of a lab: the cheat, and after it a queue that is wrong in every way, or an operator that is right."""
    text = {**CHEATS, **OLDER}[name].read_text()
    header, quotes, code = text.partition('"""\n')
    if name in CHEATS:
        text = header + quotes + SAY_GOT + code
    if lab_of(name).kind == "operator":
        solution = lab_of(name).solution.read_text().partition('"""\n')[2]
        return text + solution + (BEFORE_IT if "def attack" in code else "")
    return text if "WorkQueue" in code else text + WRONG


def files_of(name):
    """All that is handed in, by path. The manifest of lab 16 is beside its attack; the rest is our solution's."""
    lab = lab_of(name)
    beside = {path: lab.solution.with_name(path) for path in lab.extra_files}
    own = HERE / "cheats" / f"{name}.yaml"
    if own.exists():
        beside["manifest.yaml"] = own
    return {lab.file: text_of(name), **{path: file.read_text() for path, file in beside.items()}}
