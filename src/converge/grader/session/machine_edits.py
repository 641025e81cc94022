"""Every small edit of what a learner writes, made by machine: one statement, condition, argument or constant at a time.

The edits are of the solution: of functions that the skeleton leaves open, and of helpers that only the solution has.
An edit changes the text at one place and leaves the rest as it is. Docstrings, log lines and the words of an exception
are left alone, since no check should look at them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from converge.grader.checks.todo import is_unwritten
from converge.grader.course import Lab

LOGGERS = ("log", "logger", "logging")
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
EITHER_OR = (ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Is, ast.IsNot)  # the other comparison negates the condition
PATCH_TYPES = {"strategic": "merge", "merge": "strategic", "json": "merge"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class MachineEdit:
    """One edit: where and what in words that stay the same while other lines move, and the whole text with it."""

    name: str
    function: str
    text: str


def machine_edits(lab: Lab) -> list[MachineEdit]:
    """The edits of a lab's solution, in the order of its file."""
    source = lab.solution.read_text()
    made: dict[str, MachineEdit] = {}
    texts = {source}
    for name, function in written(lab):
        editor = Editor(source)
        editor.edit_body(function)
        for what, text in editor.found:
            if text in texts or not parses(text):
                continue
            texts.add(text)
            said = f"{name}: {what}"
            number = sum(each.partition(" #")[0] == said for each in made) + 1
            said = said if number == 1 else f"{said} #{number}"
            made[said] = MachineEdit(said, name, text)
    return list(made.values())


def written(lab: Lab) -> list[tuple[str, Function]]:
    """The functions of the solution that the learner writes or fixes, by their full names."""
    skeleton = dict(functions(ast.parse(lab.skeleton.read_text())))
    return [
        (name, function)
        for name, function in functions(ast.parse(lab.solution.read_text()))
        if name not in skeleton or is_unwritten(skeleton[name]) or ast.dump(skeleton[name]) != ast.dump(function)
    ]


def functions(tree: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[tuple[str, Function]]:
    for node in tree.body:
        if isinstance(node, Function):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f"{prefix}{node.name}.")


def parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


@dataclass
class Editor:
    """Walks through a function and collects edited texts, each with its description."""

    source: str
    found: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lines = [line.encode() for line in self.source.splitlines(keepends=True)]

    # Places in the text. The columns of `ast` count bytes.

    def offset(self, line: int, column: int) -> int:
        return sum(map(len, self.lines[: line - 1])) + column

    def span(self, node: ast.AST) -> tuple[int, int]:
        start = self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        end = self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        return start, end

    def text(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return b"".join(self.lines)[start:end].decode()

    def add(self, node: ast.AST, new: str, what: str) -> None:
        self.replace(*self.span(node), new, node, what)

    def replace(self, start: int, end: int, new: str, at: ast.AST, what: str) -> None:
        whole = b"".join(self.lines)
        line = self.lines[at.lineno - 1].decode().partition("  # ")[0].strip()  # type: ignore[attr-defined]
        self.found.append((f"`{line}`: {what}", (whole[:start] + new.encode() + whole[end:]).decode()))

    # Statements.

    def edit_body(self, node: ast.AST) -> None:
        for part in ("body", "orelse", "finalbody", "handlers"):
            for each in getattr(node, part, []):
                if isinstance(each, ast.ExceptHandler):
                    self.edit_handler(each)
                elif isinstance(each, ast.stmt):
                    self.edit_statement(each)

    def edit_statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Pass) or is_docstring(node) or is_log(node):
            return
        self.add(node, "pass", "deleted" if is_simple(node) else "deleted with all below it")
        if isinstance(node, ast.If | ast.While):
            self.edit_condition(node.test)
        if isinstance(node, ast.With) and not any(item.optional_vars for item in node.items):
            start = self.span(node)[0]
            end = self.offset(node.body[0].lineno, 0)
            before = b"".join(self.lines)[start:end].decode()
            first_line = before.rstrip("\n").rpartition(":")
            self.replace(start, end, f"if True:{first_line[2]}\n", node, "without `with`")
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                self.edit_expression(part)
            elif isinstance(part, ast.withitem):
                self.edit_expression(part.context_expr)
        self.edit_body(node)

    def edit_handler(self, node: ast.ExceptHandler) -> None:
        if node.type is not None:
            if ast.unparse(node.type) != "Exception":
                self.add(node.type, "Exception", "catches every exception")
            self.add(node.type, "()", "catches nothing")
            if isinstance(node.type, ast.Tuple):
                self.drop_items(node.type, node.type.elts)
        self.edit_body(node)

    # Expressions.

    def edit_condition(self, node: ast.expr) -> None:
        flipped = isinstance(node, ast.Compare) and isinstance(node.ops[0], EITHER_OR)
        if not isinstance(node, ast.Constant) and not flipped:
            self.add(node, f"(not ({self.text(node)}))", "condition negated")
        for value in ("True", "False"):
            self.add(node, value, f"condition always {value}")

    def edit_expression(self, node: ast.expr) -> None:
        match node:
            case ast.JoinedStr():
                return
            case ast.IfExp():
                self.edit_condition(node.test)
            case ast.BoolOp():
                self.edit_bool(node)
            case ast.Compare(ops=[operator]):
                self.edit_comparison(node, operator)
            case ast.UnaryOp(op=ast.Not()):
                self.add(node, self.text(node.operand), "without `not`")
            case ast.Call():
                self.edit_call(node)
                return
            case ast.Dict():
                self.edit_dict(node)
                return
            case ast.List() | ast.Set():
                self.drop_items(node, node.elts)
            case ast.Tuple() if self.text(node).startswith("("):
                self.drop_items(node, node.elts)
            case ast.Constant():
                self.edit_constant(node)
            case ast.Subscript(slice=ast.Constant()):
                self.edit_expression(node.value)  # another key is a KeyError, which teaches nothing
                return
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                self.edit_expression(part)
            elif isinstance(part, ast.comprehension):
                self.edit_expression(part.iter)
                for condition in part.ifs:
                    self.edit_condition(condition)
                    self.edit_expression(condition)
            elif isinstance(part, ast.keyword):
                self.edit_expression(part.value)

    def edit_bool(self, node: ast.BoolOp) -> None:
        word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        joined = f" {other} ".join(f"({self.text(each)})" for each in node.values)
        self.add(node, f"({joined})", f"`{word}` became `{other}`")

    def edit_comparison(self, node: ast.Compare, operator: ast.cmpop) -> None:
        other = COMPARISONS[type(operator)]
        left, right = self.text(node.left), self.text(node.comparators[0])
        self.add(node, f"({left} {other} {right})", f"compared by `{other}`")

    def edit_call(self, node: ast.Call) -> None:
        called = ast.unparse(node.func)
        if called.split(".")[0] in LOGGERS or called == "print":
            return
        words = called.rpartition(".")[2][:1].isupper() and called.endswith(("Error", "Failure", "Taken"))
        if called.endswith("notify_all"):
            self.add(node.func, self.text(node.func).removesuffix("_all"), "wakes only one")
        if called.endswith("suppress"):
            self.add(node, f"{called}(Exception)", "suppresses every exception")
            self.add(node, f"{called}()", "suppresses nothing")
        else:
            everything: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
            for keyword in node.keywords:
                self.drop(node, everything, keyword, f"without {keyword.arg or '**'}=")
            if len(node.args) > 1 and not words:
                last = node.args[-1]
                self.drop(node, everything, last, f"without its last argument {ast.unparse(last)}")
        self.edit_expression(node.func)
        for argument in node.args if not words else ():
            self.edit_expression(argument)
        for keyword in node.keywords:
            self.edit_keyword(keyword)

    def edit_keyword(self, keyword: ast.keyword) -> None:
        value = keyword.value
        if keyword.arg == "type" and isinstance(value, ast.Constant) and value.value in PATCH_TYPES:
            self.add(value, f'"{PATCH_TYPES[value.value]}"', f"a {PATCH_TYPES[value.value]} patch")
        else:
            self.edit_expression(value)

    def edit_dict(self, node: ast.Dict) -> None:
        for place, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            said = ast.unparse(key) if key else f"**{ast.unparse(value)}"
            rest = [
                f"**{self.text(v)}" if k is None else f"{self.text(k)}: {self.text(v)}"
                for number, (k, v) in enumerate(zip(node.keys, node.values, strict=True))
                if number != place
            ]
            self.replace(*self.span(node), "{" + ", ".join(rest) + "}", key or value, f"without {said}")
            self.edit_expression(value)

    def drop_items(self, node: ast.expr, items: list[ast.expr]) -> None:
        opening = self.text(node)[0]
        closing = {"(": ")", "[": "]", "{": "}"}[opening]
        for dropped in items:
            rest = [self.text(each) for each in items if each is not dropped]
            trailing = "," if opening == "(" and len(rest) == 1 else ""
            new = f"{opening}{', '.join(rest)}{trailing}{closing}" if rest or opening != "{" else "set()"
            self.replace(*self.span(node), new, dropped, f"without {ast.unparse(dropped)}")

    def drop(self, call: ast.Call, everything: list[ast.expr | ast.keyword], dropped: ast.AST, what: str) -> None:
        rest = [self.text(each) for each in everything if each is not dropped]
        self.replace(*self.span(call), f"{self.text(call.func)}({', '.join(rest)})", dropped, what)

    def edit_constant(self, node: ast.Constant) -> None:
        match node.value:
            case bool():
                self.add(node, str(not node.value), f"{node.value} became {not node.value}")
            case int():
                for other in (node.value + 1, node.value - 1):
                    self.add(node, f"({other})", f"{node.value} became {other}")
            case float():
                self.add(node, repr(node.value * 2), f"{node.value} became {node.value * 2}")
            case str():
                self.add(node, repr(node.value + "x"), f"{node.value!r} became {node.value + 'x'!r}")


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_log(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    called = ast.unparse(node.value.func)
    return called.split(".")[0] in LOGGERS or called == "print"


def is_simple(node: ast.stmt) -> bool:
    return not hasattr(node, "body")
