"""Everything that a text names exists: make targets, commands and their options, variables, paths, checks, anchors."""

import ast
import builtins
import difflib
import importlib.util
import pkgutil
import re
import shlex
import subprocess
import tomllib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

import environment
import kopf
import pytest
import typer.main
from mentions import Mention, Text, texts
from places import ROOT

from converge import cli
from converge.audit.attacks import ORDER
from converge.classroom.platforms import PLATFORMS
from converge.classroom.reports import FORMATS
from converge.cluster.providers import REGISTERED
from converge.grader import course as courses
from converge.grader.course.alignment import headings
from converge.grader.course.submissions import mutants
from go import labs as go_labs

AUDIT = ("docs/audit.md", "src/converge/audit/settings.py", "src/converge/cli/audit.py", "converge --help")
THEIRS = (
    "audit.toml",
    "converge audit audit.toml",
    "converge audit --crds config/crd --sample shop.yaml -- ./manager --namespace {namespace}",
    "converge audit --crds config/crd/bases --sample config/samples/shop.yaml -- ./manager --namespace={namespace}",
)

# What a text may name although it isn't here: the file (or a glob), the code, and why.
ALLOWED: list[tuple[str, str, str]] = [
    ("docs/lessons/13_kopf.md", "--liveness", "an option of kopf"),
    *(
        (file, code, "a file of someone else's project, and a command of theirs after --")
        for file in AUDIT
        for code in THEIRS
    ),
    (
        "docs/instructors/grading-a-class.md",
        "converge grade monday friday --lab 06 --policy policy.toml --times times.csv --out graded",
        "files of the instructor",
    ),
    ("docs/instructors/writing.md", 'after = ["…"]', "an entry may have it, and none does today"),
    ("docs/lessons/06_idempotency.md", "apiserver_request_total", "a metric of the API server"),
    ("docs/lessons/09_status.md", "status.lastChecked", "what an operator should not write"),
    ("docs/lessons/15_chaos.md", "mgr.GetAPIReader()", "a method of controller-runtime"),
]

COURSE = courses.load(ROOT)
PLACEHOLDER = re.compile(r"NN_slug|NN_name|NN|SLUG|NAME|FILE|ID|\*|…")
COMMANDS = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]
FILE_NAME = re.compile(r"[\w.-]+\.(py|toml|md|yml|svg|ipynb|mjs|lock|css|go)")
PATH = re.compile(r"[\w.*…-]+(/[\w.*…-]+)*/?")
VARIABLE = re.compile(r"\b(CONVERGE_[A-Z_]+|[A-Z]+(?:_[A-Z]+)+)\b")
CHECK = re.compile(r"(?<![\d.])(\d\d)\.(\d{1,2})(?![\d.]|\w)")
MEMBER = re.compile(r"([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*)+)(?:\(.*\))?")
SNAKE = re.compile(r"(?<![\w./-])[a-z]+(?:_[a-z0-9]+)+(?![\w./-])")
COUNTED = r"(?:(?:, then |, and |, | and | or | to )\d{1,2}\b(?!\.\d))*"  # the rest of "checks 7, 8 and 9"

# The options that take one of a few values.
VALUES: dict[tuple[str, str], Iterable[str]] = {
    ("audit", "--attack"): ORDER,
    ("chaos", "--attack"): ORDER,
    ("grade", "--format"): FORMATS,
    ("up", "--provider"): REGISTERED,
}

Finding = tuple[Mention, str, Iterable[str]]


def near(what: str, names: Iterable[str]) -> str:
    """The nearest name that exists; what is wrong ends with the name that doesn't."""
    close = difflib.get_close_matches(what.split()[-1], list(names), n=1, cutoff=0.3)
    return f"; the nearest is {close[0]}" if close else ""


@cache
def tracked() -> tuple[str, ...]:
    """Every file of the repository, and every directory that holds one."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    folders = {parent.as_posix() for file in listed for parent in Path(file).parents}
    return tuple(sorted({*listed, *folders} - {"."}))


@cache
def code_names() -> frozenset[str]:
    """Every name that the course's Python code defines or uses, and every word of its Go code."""
    names: set[str] = set()
    for file in tracked():
        if file.endswith(".go"):
            names.update(re.findall(r"\w+", (ROOT / file).read_text()))
        elif file.endswith(".py"):
            for node in ast.walk(ast.parse((ROOT / file).read_text())):
                # `name` of a definition, `id` of a name, `attr` of an attribute, `arg` of an argument
                names.update(
                    str(getattr(node, field)) for field in ("name", "id", "attr", "arg") if hasattr(node, field)
                )
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and VARIABLE.fullmatch(node.value):
                    names.add(node.value)  # a variable that is set for another process
    return frozenset(names)


@cache
def toml_keys() -> frozenset[str]:
    """Every key of the course's own TOML files, at any depth."""

    def keys(value: object) -> Iterator[str]:
        for key, below in value.items() if isinstance(value, dict) else ():
            yield key
            yield from keys(below)
        for below in value if isinstance(value, list) else ():
            yield from keys(below)

    files = [name for name in tracked() if name.endswith(".toml") and not name.startswith("pyproject")]
    return frozenset(key for name in files for key in keys(tomllib.loads((ROOT / name).read_text())))


@cache
def make_targets() -> dict[str, str]:
    """The targets of the Makefile by name, each with its recipe."""
    rules = re.findall(
        r"^([a-z-]+): ?(?![a-z]* ?:=).*\n((?:\t.*\n)*)", (ROOT / "Makefile").read_text(), flags=re.MULTILINE
    )
    return {name: recipe for name, recipe in rules if recipe}


@cache
def words() -> frozenset[str]:
    """Every word in the code, in its strings, and in the files that it reads; not those of docstrings or comments."""
    found = set(code_names())
    for file in tracked():
        if file.endswith(".py") and (ROOT / file) != Path(__file__):  # which has wrong names on purpose
            tree = ast.parse((ROOT / file).read_text())
            said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
                    found.update(re.findall(r"\w+", node.value))
        elif file.endswith((".yaml", ".yml", ".mjs", ".html", ".css", ".toml")) and file != "course.toml":
            found.update(re.findall(r"\w+", (ROOT / file).read_text()))
    return frozenset(found)


def words_of(code: str) -> list[list[str]]:
    """The commands of a line, each as its words; none if it isn't a line for a shell."""
    try:
        words = shlex.split(code, comments=True)
    except ValueError:
        return []
    found: list[list[str]] = [[]]
    for word in words:
        if word in ("&&", "||", "|", ";", "&"):
            found.append([])
        else:
            found[-1].append(word.removesuffix(";"))
    return [each for each in found if each]


def check_exists(number: str) -> bool:
    lab, _, check = number.partition(".")
    known = {each.number: each for each in COURSE.labs}
    return lab in known and (not check or 1 <= int(check) <= len(known[lab].checks))


def unknown_lab(mention: Mention, value: str) -> Iterator[Finding]:
    """A lab or check that isn't there. What isn't a number, or stands for one, is let through."""
    if re.fullmatch(r"\d\d(\.\d+)?", value) and not check_exists(value):
        yield mention, f"there is no lab or check {value}", []


def in_make(mention: Mention, words: list[str]) -> Iterator[Finding]:
    targets = [word for word in words if "=" not in word and not word.startswith("-")]
    for target in targets:
        if target not in make_targets() and target != "…":
            yield mention, f"there is no make target {target}", make_targets()
    for name, _, value in (word.partition("=") for word in words if "=" in word):
        used = {each for target in targets for each in re.findall(r"\((\w+)\)", make_targets().get(target, ""))}
        if name not in used | {"PYTHON"}:
            yield mention, f"make {' '.join(targets)} doesn't use {name}=", used
        if name == "LAB":
            yield from unknown_lab(mention, value)
            if "go-labs" in targets and value not in {*go_labs.LABS, "NN"}:
                yield mention, f"there is no operator in Go for lab {value}", go_labs.LABS
        if name == "NAME" and "recorded" in targets and not PLACEHOLDER.search(value) and value not in recordings():
            yield mention, f"nothing is recorded as {value}", recordings()


@cache
def recordings() -> frozenset[str]:
    """What `make recorded NAME=` takes: a lesson's slug, or that and one of its entries."""
    found = set()
    for file in (ROOT / "docs" / "examples").glob("*/record.toml"):
        found |= {file.parent.name, *(f"{file.parent.name}.{entry}" for entry in tomllib.loads(file.read_text()))}
    return frozenset(found)


def in_converge(mention: Mention, words: list[str]) -> Iterator[Finding]:
    name, *arguments = words[: words.index("--")] if "--" in words else words  # the rest is another command's
    if name in ("-h", "--help", "…"):
        return
    if name not in COMMANDS:
        yield mention, f"there is no command converge {name}", COMMANDS
        return
    if name == "kubectl":  # everything after it is kubectl's
        return
    options = {each for parameter in COMMANDS[name].params for each in (*parameter.opts, *parameter.secondary_opts)}
    for position, word in enumerate(arguments):
        given, _, value = word.partition("=")
        if given.startswith("-") and given not in {*options, "-h", "--help"}:
            yield mention, f"converge {name} has no option {given}", options
        chosen = value or next(iter(arguments[position + 1 :]), "")
        known = VALUES.get((name, given))
        if known is not None and chosen and chosen not in known and not PLACEHOLDER.search(chosen):
            yield mention, f"{given} of converge {name} doesn't take {chosen}", known
        if given == "--against":
            yield from unknown_submission(mention, chosen, arguments)
        yield from unknown_lab(mention, word)
    if name == "autograder" and arguments and arguments[0] not in PLATFORMS:
        yield mention, f"converge autograder knows no platform {arguments[0]}", PLATFORMS
    if "existing" in arguments and "--context" not in arguments:
        yield mention, "--provider existing needs --context", []


def unknown_submission(mention: Mention, value: str, arguments: list[str]) -> Iterator[Finding]:
    if PLACEHOLDER.search(value) or value in ("solutions", "labs", "skeletons", "PATH"):
        return
    kind, _, name = value.partition(":")
    if kind in ("mutant", "variant"):
        chosen = [lab for lab in COURSE.labs if any(each.partition(".")[0] == lab.number for each in arguments)]
        for lab in chosen:
            names = [each.id for each in mutants(lab)] if kind == "mutant" else [each.stem for each in lab.variants]
            if name not in names:
                yield mention, f"lab {lab.number} has no {value}", names
            elif kind == "mutant" and mention.file == "docs/errata.md":
                yield from passed_by_mutant(mention, lab, name, arguments)
    elif not (ROOT / value).exists():
        yield mention, f"there is no {value}", tracked()


def passed_by_mutant(mention: Mention, lab: courses.Lab, name: str, arguments: list[str]) -> Iterator[Finding]:
    """A run that is to show a mistake, with a check that isn't about this mistake."""
    mutant = next(each for each in mutants(lab) if each.id == name)
    fails = {f"{lab.number}.{place}" for place, each in enumerate(lab.checks, start=1) if each.name == mutant.check}
    fails |= {f"{lab.number}.{place}" for place, each in enumerate(lab.checks, start=1) if each.name in mutant.also}
    for number in arguments:
        if CHECK.fullmatch(number) and check_exists(number) and number not in fails:
            yield mention, f"mutant:{name} isn't for check {number}", fails


def unknown_command(mention: Mention) -> Iterator[Finding]:
    """What a reader is asked to type, and can't."""
    for words in words_of(mention.code):
        while words and re.match(r"[A-Z_]+=", words[0]):
            words = words[1:]
        if words[:1] == ["make"]:
            yield from in_make(mention, words[1:])
        elif words[:1] == ["converge"] and len(words) > 1:
            yield from in_converge(mention, words[1:])
        elif "-m" in words[:2] and words[0].endswith("python") and not find_module(words[2]):
            yield (
                mention,
                f"there is no module {words[2]}",
                [each for each in tracked() if each.endswith("__main__.py")],
            )
        elif len(words) == 1 and re.fullmatch(r"--[a-z-]+", words[0]):
            options = {each for command in COMMANDS.values() for one in command.params for each in one.opts}
            if words[0] not in options:
                yield mention, f"no command has an option {words[0]}", options


def find_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def unknown_variable(mention: Mention) -> Iterator[Finding]:
    """An environment variable or a constant that no code has."""
    for name in VARIABLE.findall(mention.code):
        read = frozenset(environment.names())
        known = read if name.startswith("CONVERGE_") else read | code_names()
        if name not in known:
            yield mention, f"no variable and no constant is called {name}", [each for each in known if each.isupper()]


@cache
def file_names() -> frozenset[str]:
    return frozenset(Path(name).name for name in tracked())


@cache
def exists(path: str) -> bool:
    """Whether the repository has this path; `NN` and the like stand for anything."""
    if not PLACEHOLDER.search(path):
        return path in tracked()
    pattern = re.compile("[^/]*".join(map(re.escape, PLACEHOLDER.split(path))))
    return any(pattern.fullmatch(name) for name in tracked())


def unknown_path(mention: Mention) -> Iterator[Finding]:
    for word in re.split(r"[\s\"'=]+", mention.code):
        path = word.split("#")[0].strip(",;()").removesuffix("…").partition(":")[0].rstrip("/")
        if "://" in word or not PATH.fullmatch(path):
            continue
        top = path.partition("/")[0]
        if PLACEHOLDER.search(top):
            continue
        if "/" in path and exists(f"src/converge/{top}"):  # `grader/session/run.py`, from inside the package
            top, path = "src", f"src/converge/{path}"
        if "/" in word and exists(top):
            if not exists(path):
                yield mention, f"there is no {path}", tracked()
        elif FILE_NAME.fullmatch(path) and not PLACEHOLDER.search(path) and path not in file_names():
            yield mention, f"no file is called {path}", file_names()


def unknown_name(mention: Mention) -> Iterator[Finding]:
    """A call `name(…)`, a module `converge.…` or an entry `key = …` of a TOML file that isn't there."""
    called = re.fullmatch(r"([A-Za-z_]\w+)\((.*)\)", mention.code)
    if called and called[1] not in code_names() and not hasattr(builtins, called[1]):
        yield mention, f"nothing in the code is called {called[1]}", code_names()
    if re.fullmatch(r"converge(\.\w+)+", mention.code) and mention.code != "converge.example":  # the API group
        try:
            pkgutil.resolve_name(mention.code)
        except (ImportError, AttributeError):
            yield mention, f"there is no module {mention.code}", []
    entry = re.fullmatch(r"([a-z_]+) = .+", mention.code)
    if entry and mention.file.startswith("docs/") and entry[1] not in toml_keys():
        yield mention, f"no TOML file of the course has a key {entry[1]}", toml_keys()


def unknown_member(mention: Mention) -> Iterator[Finding]:
    """`operator.settle()`, `settings.posting.loggers`: a member that nothing has; and `a_name_with_underscores`."""
    for name in SNAKE.findall(mention.code):
        if name not in words() | toml_keys():
            yield mention, f"nothing is called {name}", words()
    found = MEMBER.fullmatch(mention.code)
    if not found or found[1] == "converge" or exists(mention.code) or mention.code in file_names():
        return
    first, members = found[1], found[2].removeprefix(".").split(".")
    if first in ("kopf", "settings"):
        value: object = kopf if first == "kopf" else kopf.OperatorSettings()
        for member in members:
            if not hasattr(value, member):
                yield mention, f"kopf has no {first}.{member}", dir(value)
                return
            value = getattr(value, member)
    else:
        for member in members:
            if member not in words() | toml_keys():
                yield mention, f"nothing has a member {member}", words()


def unknown_link(text: Text) -> Iterator[Finding]:
    """A relative link in a file that isn't a page of the site; of pages, test_navigation.py follows every link."""
    if text.file.endswith(".md") and not text.file.startswith("docs/"):
        for found in re.finditer(r"\]\((?!https?:|#)([^)#]+)(?:#([\w-]+))?", text.prose):
            page = (ROOT / text.file).parent.joinpath(found[1])
            mention = Mention(text.file, text.line_of(found.start()), found[1])
            if not page.exists():
                yield mention, f"there is no {found[1]}", tracked()
            elif found[2] and found[2] not in headings(page.read_text()):
                yield mention, f"{page.name} has no heading #{found[2]}", headings(page.read_text())


def unknown_check(mention: Mention) -> Iterator[Finding]:
    """`07.5` on its own."""
    if CHECK.fullmatch(mention.code):
        yield from unknown_lab(mention, mention.code)


def unknown_in_prose(text: Text) -> Iterator[Finding]:
    """Check numbers without backticks, and links to a lesson's anchors."""
    for found in re.finditer(r"\b[Cc]hecks? \d\d\.\d{1,2}\b(?:(?:, | and | or )\d\d\.\d{1,2}\b)*", text.prose):
        for number in CHECK.finditer(found[0]):
            yield from unknown_lab(Mention(text.file, text.line_of(found.start()), found[0]), number[0])
    for found in re.finditer(r"\b[Ll]essons? (\d\d)\b", text.prose):
        if not list((ROOT / "docs" / "lessons").glob(f"{found[1]}_*.md")):
            yield Mention(text.file, text.line_of(found.start()), found[0]), f"there is no lesson {found[1]}", []
    own = re.match(r"(?:docs/lessons|labs|solutions)/(\d\d)_", text.file)
    if own and own[1] != "00":
        todos = "".join(file.read_text() for file in (ROOT / "labs").glob(f"{own[1]}_*/*"))
        for found in re.finditer(rf"\b([Cc]heck|TODO)s? \d{{1,2}}\b(?!\.\d){COUNTED}", text.prose):
            mention = Mention(text.file, text.line_of(found.start()), found[0])
            for number in re.findall(r"\d+", found[0]):
                if found[1] != "TODO":
                    yield from unknown_lab(mention, f"{own[1]}.{number}")
                elif not re.search(rf"TODO {number}\b", todos):
                    yield mention, f"lab {own[1]} has no TODO {number}", []
    for found in re.finditer(r"(?:docs/)?lessons/(\d\d_\w+)\.md(?:#([\w-]+))?", text.content):
        mention = Mention(text.file, text.line_of(found.start()), found[0])
        page = ROOT / "docs" / "lessons" / f"{found[1]}.md"
        if not page.exists():
            yield mention, f"there is no page {found[1]}.md", [each.stem for each in page.parent.glob("*.md")]
        elif found[2] and found[2] not in headings(page.read_text()):
            yield mention, f"{page.name} has no heading #{found[2]}", headings(page.read_text())


RULES: tuple[Callable[[Mention], Iterator[Finding]], ...] = (
    unknown_command,
    unknown_variable,
    unknown_path,
    unknown_name,
    unknown_member,
    unknown_check,
)


def findings(text: Text) -> Iterator[Finding]:
    for mention in text.mentions():
        for rule in RULES:
            yield from rule(mention)
    yield from unknown_in_prose(text)
    yield from unknown_link(text)


def allowed(mention: Mention) -> bool:
    return any(Path(mention.file).match(file) and code == mention.code for file, code, _ in ALLOWED)


@pytest.mark.timeout(300)
def test_everything_that_a_text_names_exists() -> None:
    found = [finding for text in texts() for finding in findings(text) if not allowed(finding[0])]
    lines = dict.fromkeys(f"{where}: `{where.code}`: {what}{near(what, names)}" for where, what, names in found)
    assert not lines, "\n" + "\n".join(lines)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("`make chekc LAB=03`", "there is no make target chekc"),
        ("`make down LAB=03`", "make down doesn't use LAB="),
        ("`make check LAB=17`", "there is no lab or check 17"),
        ("```console\n$ make cheque\n```", "there is no make target cheque"),
        ("`converge chek 03`", "there is no command converge chek"),
        ("`converge check 03 --aginst solutions`", "converge check has no option --aginst"),
        ("`converge check 06.99`", "there is no lab or check 06.99"),
        ("`converge check 06 --against mutant:nobody`", "lab 06 has no mutant:nobody"),
        ("`converge check 06 --against docs/no.py`", "there is no docs/no.py"),
        ("`converge up --provider existing`", "--provider existing needs --context"),
        ("`--quickly` is faster", "no command has an option --quickly"),
        ("`CONVERGE_STATES=/tmp/x converge up`", "no variable and no constant is called CONVERGE_STATES"),
        ("see `src/converge/grader/run.py`", "there is no src/converge/grader/run.py"),
        ("see `grader/session/runs.py`", "there is no src/converge/grader/session/runs.py"),
        ("`tests/labs/test_NN_slug.txt`", "there is no tests/labs/test_NN_slug.txt"),
        ("see `cours.toml`", "no file is called cours.toml"),
        ("`no_such_helper(...)`", "nothing in the code is called no_such_helper"),
        ("`converge.grader.strikes`", "there is no module converge.grader.strikes"),
        ("`06.77` asks", "there is no lab or check 06.77"),
        ("Check 77 asks", "there is no lab or check 06.77"),
        ("[x](../lessons/06_idempotency.md#nowhere)", "has no heading #nowhere"),
        ("`beeside = [...]`", "no TOML file of the course has a key beeside"),
        ("`operator.setle()` waits", "nothing has a member setle"),
        ("`ensure_ownd` looks first", "nothing is called ensure_ownd"),
        ("`kopf.warm` posts", "kopf has no kopf.warm"),
        ("`settings.watchin` has it", "kopf has no settings.watchin"),
        ("`python -m benchmarkz queue`", "there is no module benchmarkz"),
        ("checks 9 and 77 want it", "there is no lab or check 06.77"),
        ("Checks 07.5 and 07.77", "there is no lab or check 07.77"),
        ("TODO 1 and 77", "lab 06 has no TODO 77"),
        ("lesson 77 does", "there is no lesson 77"),
        ("`converge chaos 15 --attack old-cahce`", "--attack of converge chaos doesn't take old-cahce"),
        ("`converge up --provider kidn`", "--provider of converge up doesn't take kidn"),
        ("`converge grade x --format gradscope`", "--format of converge grade doesn't take gradscope"),
        ("`make recorded NAME=06_idempotency.nope`", "nothing is recorded as 06_idempotency.nope"),
        ("`make go-labs LAB=13`", "there is no operator in Go for lab 13"),
    ],
)
def test_a_wrong_name_is_noticed(wrong: str, says: str) -> None:
    found = list(findings(Text("docs/lessons/06_idempotency.md", f"One line.\n\n{wrong}\n")))
    assert says in "; ".join(what for _, what, _ in found)
    assert all(mention.line in (3, 4) for mention, _, _ in found)


def test_a_run_of_the_errata_that_shows_nothing_is_noticed() -> None:
    text = Text("docs/errata.md", "`converge check 06.8 --against mutant:stale-read-is-an-error`")
    assert [what for _, what, _ in findings(text)] == ["mutant:stale-read-is-an-error isn't for check 06.8"]
