"""Reads a submission of a library lab (03, 04, 05), and holds it for a person if it has more than such an answer needs.

A library lab is graded in the submission's own process, with tools that live there too: they advance a clock, shake
threads and interrupt a call between two lines. Code could take them apart, and nothing outside would see it. This
reading is outside, before the code runs, so the code can't change what it finds.

It's a list of what is allowed, not of what is bad. The lists are short because each of these would open all the rest:

- A module as a value. So a module's name is only ever written before one of the names listed here.
- Private and double-underscore names of other objects. A private name comes after `self` only, and `self` is always the
  file's own object: nothing else is bound to that name, and no method is taken from its class, where it could be called
  with any `self`.
- Attributes that are set on what belongs to others, such as `threading.Event.wait = …`.
- Names that are made up while it runs, and code that is.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import importlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FunctionType

from converge.classroom.allowed import (
    ABOUT_A_NAME,
    BUILTINS,
    CLASS_DECORATORS,
    CLASS_DECORATORS_ONLY,
    CLOSED,
    ENUMS,
    EXCEPTIONS,
    FUNCTION_DECORATORS_ONLY,
    INSIDES,
    LOG_OPTIONS,
    METHOD_DECORATORS,
    MODULES,
    NAME_A_CLASS,
    NAMED_TUPLE,
    OF_THE_THREAD,
    PACKAGES,
    PLAIN_TYPES,
    SPECIAL,
    SPECIAL_NAMES,
    WITH_OPTIONS,
)
from converge.grader.course import Lab
from converge.grader.library import doubles
from converge.runtime.api import client, watch
from converge.runtime.informers import informer
from converge.runtime.queue import keyqueue, workqueue

ATTRIBUTE = re.compile(r"(?:self\.|def |^    (?=\w+(?:: | = )))(\w+)", re.MULTILINE)  # by the text of a module
DEEPEST = 150  # nodes below each other
FIELD_OF_A_FIELD = re.compile(r"\{[^{}:!]*[.\[]")  # in a text to format: it reads attributes, of any name
MANGLED = re.compile(r"_+[^_].*__")  # what a private name of a class is called outside of it
SUNDER = re.compile(r"_[^_](.*[^_])?_$")  # such as `_missing_`: an Enum calls it with what isn't its own

Function = ast.FunctionDef | ast.AsyncFunctionDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@dataclass(frozen=True)
class Held:
    """Why a person has to look at a file before its points count, and which file that is."""

    why: str
    sha256: str


def look_at(lab: Lab, file: Path) -> Held | None:
    """Why someone has to look at a submission; None if its lab has no tools to protect, or there's no reason."""
    if lab.kind != "library":
        return None
    content = file.read_bytes()
    why = reason(content)
    return Held(why, hashlib.sha256(content).hexdigest()) if why else None


def reason(content: bytes) -> str:
    """The first line that has something beyond what is allowed, and what that is; empty if there's none.

    It's parsed from its bytes, as Python does it: a comment at the top may name an encoding in which the rest means
    something else. What isn't Python here may be Python where it's graded, so that isn't cleared either.
    """
    try:
        Reading(ast.parse(content)).all()
    except Beyond as found:
        return str(found)
    except (MemoryError, RecursionError):  # what Python says of code that is nested too deeply for it
        return "it's nested too deeply to be read"
    except Exception as error:  # whatever this is, one file must not end the grading of a class
        return f"it can't be read: {type(error).__name__}"
    return ""


class Beyond(Exception):  # noqa: N818 (no error: what a file has beyond what is allowed)
    """What the reading can't clear, with its line."""

    def __init__(self, node: ast.AST, what: str) -> None:
        super().__init__(f"line {line_of(node) or 1}: {what}")


class Reading:
    """One file: what it binds, then each of its nodes in turn. Raises Beyond at the first that isn't allowed."""

    def __init__(self, tree: ast.Module) -> None:
        self.parents: dict[ast.AST, ast.AST] = {}
        self.nodes: list[ast.AST] = [tree]
        self.in_bodies: set[ast.AST] = set()  # of functions and classes: what runs when they do
        depth: dict[ast.AST, int] = {tree: 0}
        for node in self.nodes:  # grows while it's read
            if isinstance(node, Function | ast.ClassDef):
                self.in_bodies.update(node.body)
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr_context | ast.operator | ast.cmpop | ast.boolop | ast.unaryop):
                    continue  # these are the same object everywhere
                self.parents[child], depth[child] = node, depth[node] + 1
                self.nodes.append(child)
                if depth[child] > DEEPEST:
                    raise Beyond(child, "it's nested too deeply to be read")
        self.scopes: dict[ast.AST, tuple[set[str], set[str]]] = {}
        self.modules: dict[str, str] = {}
        self.members: dict[str, tuple[str, str]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                self.take_in(node)
        for node in self.nodes:
            if again := self.bound_for_all(node) & (self.modules.keys() | self.members.keys()):
                raise Beyond(node, f"the name {min(again)} for an import and for something else")
        self.bound = Counter(name for node in self.nodes for name in binds(node))
        self.classes = [node for node in self.nodes if isinstance(node, ast.ClassDef)]
        self.functions_of = {each: [b for b in each.body if isinstance(b, Function)] for each in self.classes}
        self.class_names = {each.name for each in self.classes}
        self.named_in: dict[ast.AST, dict[str, list[ast.AST]]] = {}  # for each class, what binds a name there
        for each in self.classes:
            named = self.named_in[each] = {}
            for inside in sorted(within(each), key=line_of):
                for name in binds(inside):
                    named.setdefault(name, []).append(inside)
        self.function_names = {each: {b.name for b in self.functions_of[each]} for each in self.classes}
        self.methods = {b.name for each in self.classes for b in self.functions_of[each] if takes_self(b)}
        self.with_methods = self.classes_with_methods()
        self.exceptions = self.with_heirs(
            {each.name for each in self.classes if any(map(self.is_exception, each.bases))}
        )
        self.of_class = {name for each in self.classes for name in self.made_in_class(each)}
        self.own = self.of_class | self.methods
        self.own |= {node.attr for node in self.nodes if isinstance(node, ast.Attribute) and is_set_on_self(node)}

    def all(self) -> None:
        """Look at each node."""
        for node in self.nodes:
            for name in binds(node):
                self.look_at_binding(node, name)
            match node:
                case ast.Attribute():
                    self.look_at_attribute(node)
                case ast.Name(ctx=ast.Load()):
                    self.look_at_name(node)
                case ast.ClassDef():
                    self.look_at_class(node)
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self.look_at_function(node)
                case ast.MatchClass():
                    self.look_at_pattern(node)
                case ast.Global(names=names) | ast.Nonlocal(names=names):
                    if {"self", "cls"} & set(names) or self.in_class_body(node) or any(map(is_mangled, names)):
                        raise Beyond(node, f"{ast.unparse(node)}")
                case ast.AnnAssign(target=ast.Name(), simple=0):
                    raise Beyond(node, "an annotated name in brackets, which may look like a variable and be none")

    # What is imported

    def take_in(self, node: ast.Import | ast.ImportFrom) -> None:
        """The names that an import binds: to a module, or to a member of one."""
        if self.in_class_body(node):
            raise Beyond(node, "an import in a class, which makes a module an attribute")
        for each in node.names:
            if isinstance(node, ast.Import):
                if each.name not in MODULES:
                    raise Beyond(node, f"import of {each.name}")
                name = each.asname or each.name.partition(".")[0]
                module, member = (each.name if each.asname else name), ""
            else:
                module, member = node.module or "", each.name
                name, whole = each.asname or each.name, f"{module}.{member}".lstrip(".")
                if node.level or not (member in MODULES.get(module, ()) or whole in MODULES):
                    raise Beyond(node, f"import of {'.' * node.level}{whole}")
                if whole in MODULES:
                    module, member = whole, ""
            if name.startswith("__"):
                raise Beyond(node, f"an import as {name}, which has another name elsewhere")
            if self.modules.get(name, module) != module or self.members.get(name, (module, member)) != (module, member):
                raise Beyond(node, f"two imports as {name}")
            if member:
                self.members[name] = (module, member)
            else:
                self.modules[name] = module
        if both := self.modules.keys() & self.members.keys():
            raise Beyond(node, f"two imports as {min(both)}")

    def bound_for_all(self, node: ast.AST) -> set[str]:
        """The names that a node binds for the whole file, other than by an import."""
        if isinstance(node, ast.Global | ast.Nonlocal):
            return set(node.names)
        if isinstance(node, ast.NamedExpr):
            return {node.target.id}
        imports = isinstance(node, ast.Import | ast.ImportFrom)
        if imports or isinstance(node, ast.arg) or self.in_class_body(node) or any(self.scopes_of(node)):
            return set()
        return set(binds(node))

    def module_of(self, node: ast.AST) -> str:
        """The module that an expression is, such as `concurrent.futures`; empty if it's something else."""
        if isinstance(node, ast.Name):
            return self.modules.get(node.id, "") if not self.is_local(node) else ""
        if isinstance(node, ast.Attribute) and (package := self.module_of(node.value)):
            whole = f"{package}.{node.attr}"
            return whole if whole in MODULES or whole in PACKAGES else ""
        return ""

    def member_of(self, node: ast.AST) -> tuple[str, str] | None:
        """The module and the name in it that an expression is."""
        if self.starts_in_class(node):
            return None
        if isinstance(node, ast.Name) and not self.is_local(node):
            return self.members.get(node.id)
        if isinstance(node, ast.Attribute) and (module := self.module_of(node.value)):
            return module, node.attr
        return None

    def starts_in_class(self, node: ast.AST) -> bool:
        """Whether an expression starts with a name that the class around it binds, to whatever."""
        while isinstance(node, ast.Attribute):
            node = node.value
        inside = self.in_class_body(node)
        return inside is not None and isinstance(node, ast.Name) and node.id in self.named_in[inside]

    # What a name is bound to

    def is_local(self, node: ast.Name) -> bool:
        """Whether a name is a variable of a function, so that it can't be a module or a builtin."""
        if (inside := self.in_class_body(node)) and node.id in self.named_in[inside]:
            return False  # a variable of the class, and before that whatever the file has
        for scope in self.scopes_of(node):
            own, imported = self.scope(scope)
            if node.id in imported:
                return False
            if node.id in own:
                return True
        return False

    def scopes_of(self, node: ast.AST) -> Iterator[ast.AST]:
        """The functions, lambdas and comprehensions in which an expression is evaluated, from the inside out."""
        below, child = None, node
        while parent := self.parents.get(child):
            if isinstance(parent, Function):
                inside = child in self.in_bodies
            elif isinstance(parent, ast.Lambda):
                inside = child is parent.body
            elif isinstance(parent, Comprehension):  # what the first `for` goes through belongs to what is around
                first = parent.generators[0]
                inside = not (child is first and below is first.iter)
            else:
                inside = False
            if inside:
                yield parent
            below, child = child, parent

    def scope(self, node: ast.AST) -> tuple[set[str], set[str]]:
        """The names that a function or comprehension makes local, and those that it imports or takes from outside."""
        if node not in self.scopes:
            own: set[str] = set()
            imported: set[str] = set()
            outside: set[str] = set()
            elsewhere: set[str] = set()
            for each in within(node):
                if isinstance(each, ast.Import | ast.ImportFrom):
                    imported |= set(binds(each))
                elif isinstance(each, ast.Global):
                    outside |= set(each.names)  # what they name is the module's
                elif isinstance(each, ast.Nonlocal):
                    elsewhere |= set(each.names)
                else:
                    own |= set(binds(each))
            if both := own & imported:
                raise Beyond(node, f"the name {min(both)} for an import and for something else")
            self.scopes[node] = own - elsewhere, imported | outside
        return self.scopes[node]

    def in_class_body(self, node: ast.AST) -> ast.ClassDef | None:
        """The class whose body evaluates an expression."""
        scope = next(self.scopes_of(node), None)
        child = node
        while (parent := self.parents.get(child)) and parent is not scope:
            if isinstance(parent, ast.ClassDef) and child in self.in_bodies:
                return parent
            child = parent
        return None

    def is_builtin(self, node: ast.AST, *names: str) -> bool:
        """Whether an expression is one of these builtins, and the file uses their names for nothing else."""
        return isinstance(node, ast.Name) and node.id in names and not self.bound[node.id]

    def look_at_binding(self, node: ast.AST, name: str) -> None:
        if name in ("self", "cls"):
            function = self.parents.get(self.parents.get(node, node))
            if not (
                isinstance(node, ast.arg)
                and isinstance(function, Function)
                and isinstance(self.parents.get(function), ast.ClassDef)
                and first_of(function) is node
                and name == ("cls" if has_decorator(function, "classmethod") else "self")
                and not has_decorator(function, "staticmethod")
            ):
                raise Beyond(node, f"the name {name} for something other than a method's first parameter")
        if (is_special(name) and name not in SPECIAL | SPECIAL_NAMES) or is_mangled(name) or SUNDER.match(name):
            raise Beyond(node, name)

    # Each kind of node

    def look_at_name(self, node: ast.Name) -> None:
        name, parent = node.id, self.parents[node]
        if name in self.with_methods or name == "cls":
            self.look_at_class_as_value(node)
        if (inside := self.in_class_body(node)) and name in self.function_names[inside]:
            self.look_at_method_as_value(node)
        if is_mangled(name):
            raise Beyond(node, name)
        if self.is_local(node):
            return
        if name in self.modules:
            if not (isinstance(parent, ast.Attribute) and parent.value is node):
                raise Beyond(node, f"the module {name} as a value")
        elif name in self.members:
            self.look_at_member(node, self.members[name])
        elif name in ("getattr", "hasattr"):
            self.look_at_getattr(node)
        elif name == "super":
            self.look_at_super(node)
        elif name == "type":
            self.look_at_type(node)
        elif name in ("property", "classmethod", "staticmethod"):
            if not (isinstance(parent, Function) and node in parent.decorator_list):
                raise Beyond(node, f"{name} other than as a decorator")
        elif (hasattr(builtins, name) or is_special(name)) and name not in BUILTINS:
            raise Beyond(node, name)

    def look_at_attribute(self, node: ast.Attribute) -> None:
        if module := self.module_of(node.value):
            known = node.attr in MODULES.get(module, ()) or f"{module}.{node.attr}" in MODULES.keys() | PACKAGES
            if not known or not isinstance(node.ctx, ast.Load):
                done = "" if isinstance(node.ctx, ast.Load) else "a change of "
                raise Beyond(node, f"{done}{module}.{node.attr}")
            if self.module_of(node):
                if not isinstance(self.parents[node], ast.Attribute):
                    raise Beyond(node, f"the module {module}.{node.attr} as a value")
            else:
                self.look_at_member(node, (module, node.attr))
            return
        self.look_at_attribute_of(node, node.value, node.attr, node.ctx)

    def look_at_attribute_of(self, node: ast.AST, owner: ast.AST | None, name: str, ctx: ast.expr_context) -> None:
        """An attribute by its name. `owner` is the expression before it, None for what a pattern matches."""
        mine = isinstance(owner, ast.Name) and owner.id == "self"
        of_class = isinstance(owner, ast.Name) and owner.id in self.with_methods | {"cls"}
        its_class = isinstance(owner, ast.Name) and of_class and (owner.id == "cls" or self.bound[owner.id] == 1)
        of_super = isinstance(owner, ast.Call) and self.is_builtin(owner.func, "super")
        changed = not isinstance(ctx, ast.Load)
        if is_special(name):
            above = self.parents.get(node)
            of_its_class = (
                name == "__class__" and isinstance(above, ast.Attribute) and above.attr in ("__name__", "__qualname__")
            )
            if changed or not (name in ABOUT_A_NAME or of_its_class or (of_super and name in SPECIAL)):
                raise Beyond(node, name)
        elif name.startswith("_"):
            fixed = its_class and name in self.of_class - self.methods and "__" not in name
            its_own = name in self.own and (mine or of_super or fixed)
            if not its_own and (changed or name not in NAMED_TUPLE):
                raise Beyond(node, f"{name} of something other than self")
        elif not mine and (INSIDES.match(name) or name in CLOSED):
            raise Beyond(node, f"{name} of something other than self")
        elif name in ("format", "format_map") and not is_plain_text(owner):
            raise Beyond(node, f"{name} of something other than a text without attributes")
        elif of_class and not changed and (name in self.methods or name not in self.of_class):
            raise Beyond(node, f"{name} of a class, not of an object")
        elif changed and not (mine or its_class or self.is_mine_alone(name) or self.makes_a_daemon(node, name)):
            raise Beyond(node, f"a change of {name} of something other than self")

    def makes_a_daemon(self, node: ast.AST, name: str) -> bool:
        """Whether this is `thread.daemon = True`, or False."""
        parent = self.parents.get(node)
        return name == "daemon" and isinstance(parent, ast.Assign) and isinstance(parent.value, ast.Constant)

    def is_mine_alone(self, name: str) -> bool:
        """Whether only the file's own objects have an attribute of that name."""
        return name in self.own and name not in names_of_others()

    def look_at_member(self, node: ast.AST, member: tuple[str, str]) -> None:
        """What may be done with only a few names of modules."""
        parent = self.parents[node]
        call = parent if isinstance(parent, ast.Call) and parent.func is node else None
        owner = self.parents[call or node]
        is_base = isinstance(owner, ast.ClassDef) and node in owner.bases
        decorates = isinstance(owner, Function | ast.ClassDef) and (call or node) in owner.decorator_list
        if (member in CLASS_DECORATORS_ONLY and not (decorates and isinstance(owner, ast.ClassDef))) or (
            member in FUNCTION_DECORATORS_ONLY and not (decorates and isinstance(owner, Function) and not call)
        ):
            raise Beyond(node, f"{member[1]} other than as a decorator")
        if member in NAME_A_CLASS and not (names_a_class(call) or is_base):
            raise Beyond(node, f"{member[1]} other than with a plain name")
        if member == ("copy", "deepcopy") and not (call and is_plain(call, 1, 1)) and not self.is_mapped(node):
            raise Beyond(node, "deepcopy with more than what it copies")
        if member == ("logging", "basicConfig") and not (
            call and not call.args and all(each.arg in LOG_OPTIONS for each in call.keywords)
        ):
            raise Beyond(node, "basicConfig with more than level, format, datefmt and force")
        if member in ENUMS and not (isinstance(parent, ast.ClassDef) and node in parent.bases):
            raise Beyond(node, f"{member[1]} other than as the base of a class")
        if member == ("threading", "current_thread"):
            above = self.parents[parent]
            if not (is_called(node, parent) and isinstance(above, ast.Attribute) and above.attr in OF_THE_THREAD):
                raise Beyond(node, "current_thread")

    def is_mapped(self, node: ast.AST) -> bool:
        """Whether this is the first of `map(node, x)`."""
        call = self.parents[node]
        return (
            isinstance(call, ast.Call)
            and self.is_builtin(call.func, "map")
            and is_plain(call, 2, 2)
            and call.args[0] is node
        )

    def look_at_getattr(self, node: ast.Name) -> None:
        call = self.parents[node]
        if isinstance(call, ast.Call) and call.func is node and is_plain(call, 2, 3):
            owner, name = call.args[:2]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                self.look_at_attribute_of(call, owner, name.value, ast.Load())
                return
        raise Beyond(node, f"{node.id} with a name that is made up when it runs")

    def look_at_super(self, node: ast.Name) -> None:
        """`super().name` in a method. With arguments, or in a class method, it reaches functions without their self."""
        call = self.parents[node]
        function = next((each for each in self.scopes_of(node) if isinstance(each, Function)), None)
        if not (
            isinstance(call, ast.Call)
            and is_plain(call, 0, 0)
            and isinstance(self.parents[call], ast.Attribute)
            and function is not None
            and takes_self(function)
        ):
            raise Beyond(node, "super other than as super().name in a method")

    def look_at_type(self, node: ast.Name) -> None:
        """`type(x).__name__` and `type(x) is Y`, or an annotation: as a value, a type can be changed."""
        parent = self.parents[node]
        if isinstance(parent, ast.Call) and parent.func is node and is_plain(parent, 1, 1):
            above = self.parents[parent]
            if isinstance(above, ast.Attribute) and above.attr in ("__name__", "__qualname__"):
                return
            if isinstance(above, ast.Compare) and all(isinstance(each, ast.Is | ast.IsNot) for each in above.ops):
                return
        elif self.in_annotation(node):
            return
        raise Beyond(node, "type other than as type(x).__name__ or type(x) is …")

    def look_at_class(self, node: ast.ClassDef) -> None:
        if node.keywords:
            raise Beyond(node, f"class {node.name} with {node.keywords[0].arg or '**'}")
        if node.name.startswith("__"):
            raise Beyond(node, f"class {node.name}, which has another name elsewhere")
        if node.name in self.with_methods & self.exceptions:  # an __exit__ gets the class as a value
            raise Beyond(node, f"{node.name}, an exception with methods")
        for base in node.bases:
            kind = base.value if isinstance(base, ast.Subscript) else base
            if isinstance(kind, ast.Call) and self.member_of(kind.func) == ("collections", "namedtuple"):
                continue
            known = isinstance(kind, ast.Name) and kind.id in self.class_names and self.bound[kind.id] == 1
            if not (known or self.member_of(kind) or self.is_builtin(kind, *EXCEPTIONS, *PLAIN_TYPES)):
                raise Beyond(base, f"a class that is a {ast.unparse(base)}")
            if self.member_of(kind) in ENUMS and not self.has_members(node):
                raise Beyond(node, "an Enum whose members aren't plain")
            if (member := self.member_of(kind)) and (clash := sorted(self.own & privates_of(*member))):
                raise Beyond(base, f"a {member[1]} with a {clash[0]} of its own")
        for decorator in node.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if self.member_of(called) not in CLASS_DECORATORS or not self.only_decorates(decorator):
                raise Beyond(decorator, f"a class decorated with {ast.unparse(called)}")
        if self.in_class_body(node) and node.name in self.with_methods:
            raise Beyond(node, f"class {node.name} in a class")

    def look_at_function(self, node: Function) -> None:
        if is_special(node.name) and (node.name not in SPECIAL or not isinstance(self.parents[node], ast.ClassDef)):
            raise Beyond(node, node.name)
        if not self.in_class_body(node):
            return
        if not isinstance(self.parents[node], ast.ClassDef):
            raise Beyond(node, f"{node.name}, which is only sometimes a method")
        first = first_of(node)
        if has_decorator(node, "classmethod") and (first is None or first.arg != "cls"):
            raise Beyond(node, "a class method whose first parameter isn't cls")
        for decorator in node.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            plain = self.is_builtin(called, "property", "classmethod", "staticmethod")
            known = plain or self.is_more_of_a_property(called, node) or self.member_of(called) in METHOD_DECORATORS
            if not (known and self.only_decorates(decorator)):
                raise Beyond(decorator, f"a method decorated with {ast.unparse(called)}")

    def only_decorates(self, decorator: ast.expr) -> bool:
        """Whether a decorator gets what it's written above: of `@cache(f)`, f gets that, as a value."""
        if not isinstance(decorator, ast.Call):
            return True
        values = [*decorator.args, *(each.value for each in decorator.keywords)]
        plain = all(isinstance(each, ast.Constant) for each in values) and all(each.arg for each in decorator.keywords)
        return plain and self.member_of(decorator.func) in WITH_OPTIONS

    def has_members(self, node: ast.ClassDef) -> bool:
        """Whether an Enum has a member for sure: one without can be called to make a class of any names."""
        if any(name.startswith("_") for name in self.named_in[node].keys() - self.function_names[node]):
            return False
        values = [each.value for each in node.body if isinstance(each, ast.Assign)]
        calls = [each.func for each in values if isinstance(each, ast.Call)]
        plain = any(isinstance(each, ast.Constant) for each in values)
        return plain or any(self.member_of(each) == ("enum", "auto") for each in calls)

    def is_more_of_a_property(self, decorator: ast.AST, function: Function) -> bool:
        """Whether this is `@name.setter`, after a property of that name and nothing else of that name."""
        same = self.named_in[self.parents[function]].get(function.name, [])
        return (
            isinstance(decorator, ast.Attribute)
            and decorator.attr in ("setter", "getter", "deleter")
            and isinstance(decorator.value, ast.Name)
            and decorator.value.id == function.name
            and isinstance(same[0], Function)
            and has_decorator(same[0], "property")
            and all(isinstance(each, Function) for each in same)
        )

    def look_at_pattern(self, node: ast.MatchClass) -> None:
        if node.patterns and not self.is_builtin(node.cls, *PLAIN_TYPES):
            raise Beyond(node, "a class pattern without the names of its attributes")
        for name in node.kwd_attrs:
            self.look_at_attribute_of(node, None, name, ast.Load())

    # A class or a method as a value: a method can be called with any `self` there

    def look_at_class_as_value(self, node: ast.Name) -> None:
        parent = self.parents[node]
        above = self.parents.get(parent)
        allowed = (
            isinstance(parent, ast.Attribute)
            or is_called(node, parent)
            or (isinstance(parent, ast.Call) and self.is_builtin(parent.func, "isinstance", "issubclass"))
            or (isinstance(parent, ast.Tuple) and isinstance(above, ast.Call | ast.ExceptHandler) and self.tests(above))
            or (isinstance(parent, ast.ClassDef) and node in parent.bases)
            or (isinstance(parent, ast.Subscript) and parent.value is node and is_called(parent, above))
            or (isinstance(parent, ast.Compare) and all(isinstance(op, ast.Is | ast.IsNot) for op in parent.ops))
            or isinstance(parent, ast.ExceptHandler | ast.Raise | ast.MatchClass)
            or self.in_annotation(node)
        )
        if not allowed:
            raise Beyond(node, f"the class {node.id} as a value")

    def tests(self, node: ast.AST) -> bool:
        """Whether a tuple of classes is only tested against here."""
        return isinstance(node, ast.ExceptHandler) or (
            isinstance(node, ast.Call) and self.is_builtin(node.func, "isinstance", "issubclass")
        )

    def look_at_method_as_value(self, node: ast.Name) -> None:
        parent = self.parents[node]
        if isinstance(parent, ast.Attribute) and parent.attr in ("setter", "getter", "deleter"):
            owner = self.parents[parent]
            if isinstance(owner, Function) and parent in owner.decorator_list:
                return
        if isinstance(parent, ast.Subscript) and parent.value is node and self.in_annotation(node):
            return  # `list[str]`, in a class that has a method of that name
        if not self.is_annotation(node):
            raise Beyond(node, f"the method {node.id} as a value")

    def is_annotation(self, node: ast.AST) -> bool:
        parent = self.parents[node]
        if isinstance(parent, Function):
            return parent.returns is node
        return isinstance(parent, ast.arg | ast.AnnAssign) and parent.annotation is node

    def in_annotation(self, node: ast.AST) -> bool:
        """Whether this is part of an annotation that only names types: its brackets belong to known ones."""
        while not self.is_annotation(node):
            parent = self.parents[node]
            if isinstance(parent, ast.Subscript):
                of = parent.value
                known = self.member_of(of) or (isinstance(of, ast.Name) and not self.bound[of.id])
                if not known and of is not node:
                    return False
            elif not isinstance(parent, ast.Tuple | ast.List | ast.BinOp | ast.Attribute):
                return False
            node = parent
        return True

    # What the file defines

    def classes_with_methods(self) -> set[str]:
        """The classes whose functions someone could call with another self, by their own or by inheritance."""
        functions = self.functions_of
        return self.with_heirs(
            {each.name for each in functions if any(takes_self(b) and not is_special(b.name) for b in functions[each])}
        )

    def is_exception(self, base: ast.expr) -> bool:
        kind = base.value if isinstance(base, ast.Subscript) else base
        if member := self.member_of(kind):
            value = getattr(importlib.import_module(member[0]), member[1], None)
            return isinstance(value, type) and issubclass(value, BaseException)
        return self.is_builtin(kind, *EXCEPTIONS)

    def with_heirs(self, names: set[str]) -> set[str]:
        """These classes, and all that are built on them."""
        found: set[str] = set()
        while names:
            found |= names
            names = {each.name for each in self.classes if any(name_of(base) in found for base in each.bases)} - found
        return found

    def made_in_class(self, node: ast.ClassDef) -> Iterator[str]:
        """The names that a class has without an object: what its body assigns, and functions without self."""
        for each in node.body:
            if isinstance(each, Function):
                if has_decorator(each, "staticmethod") or has_decorator(each, "classmethod"):
                    yield each.name
            elif isinstance(each, ast.Assign | ast.AnnAssign | ast.ClassDef):
                targets = each.targets if isinstance(each, ast.Assign) else [each]
                for target in targets:
                    yield from (name for inside in ast.walk(target) for name in binds(inside))


def line_of(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))


def binds(node: ast.AST) -> list[str]:
    """The names that one node itself binds."""
    match node:
        case ast.Name(ctx=ast.Store() | ast.Del(), id=name) | ast.arg(arg=name):
            return [name]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Import() | ast.ImportFrom():
            return [each.asname or each.name.partition(".")[0] for each in node.names]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return [name]
        case ast.MatchMapping(rest=str(name)):
            return [name]
    return []


def within(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes that belong to a function, class, lambda or comprehension, without those of scopes inside of it."""
    todo: list[ast.AST] = []
    if isinstance(scope, Comprehension):
        todo += [each.target for each in scope.generators]
    elif isinstance(scope, ast.ClassDef):
        todo += scope.body
    elif isinstance(scope, Function | ast.Lambda):
        yield from (each for each in ast.iter_child_nodes(scope.args) if isinstance(each, ast.arg))
        todo += scope.body if isinstance(scope.body, list) else [scope.body]
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda | Comprehension):
            todo += list(ast.iter_child_nodes(node))


def is_set_on_self(node: ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id == "self"


def is_plain(call: ast.Call, fewest: int, most: int) -> bool:
    """Whether a call has so many arguments, each of them written out and without a name."""
    written = not call.keywords and not any(isinstance(each, ast.Starred) for each in call.args)
    return written and fewest <= len(call.args) <= most


def is_called(node: ast.AST, parent: ast.AST | None) -> bool:
    return isinstance(parent, ast.Call) and parent.func is node


def is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def is_mangled(name: str) -> bool:
    return bool(MANGLED.match(name)) and not is_special(name)


def is_plain_text(node: ast.AST | None) -> bool:
    """Whether this is a text, written out, that reads no attributes when it's formatted."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and not FIELD_OF_A_FIELD.search(node.value)


def names_a_class(call: ast.Call | None) -> bool:
    """Whether the first argument of a call is a public name."""
    first = call.args[0] if call and call.args else None
    return isinstance(first, ast.Constant) and isinstance(first.value, str) and not first.value.startswith("_")


def name_of(base: ast.expr) -> str:
    """The name of a class to build on, if it's no more than a name."""
    kind = base.value if isinstance(base, ast.Subscript) else base
    return kind.id if isinstance(kind, ast.Name) else ""


def first_of(function: Function) -> ast.arg | None:
    """The first parameter of a function."""
    return next(iter([*function.args.posonlyargs, *function.args.args]), None)


def takes_self(function: Function) -> bool:
    first = first_of(function)
    return first is not None and first.arg == "self"


def has_decorator(function: Function, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in function.decorator_list)


def privates_of(module: str, name: str) -> set[str]:
    """The private names of a class to build on: an own one of that name would take its place."""
    names = dir(getattr(importlib.import_module(module), name))
    return {each for each in names if each.startswith("_") and not is_special(each)}


@cache
def names_of_others() -> frozenset[str]:
    """The public attributes that everybody's objects have which a submission can reach and Python lets it change."""
    names: set[str] = set()
    for module, members in MODULES.items():
        for member in members:
            value = getattr(importlib.import_module(module), member)
            unchangeable = isinstance(value, type) and value.__flags__ & (1 << 8)  # Py_TPFLAGS_IMMUTABLETYPE
            if not unchangeable and not isinstance(value, FunctionType):
                names |= set(dir(value))
    for made in (doubles, client, informer, watch, keyqueue, workqueue):  # what a check hands over, and its parts
        names |= set(ATTRIBUTE.findall(Path(str(made.__file__)).read_text(encoding="utf-8")))
    return frozenset(name for name in names if not name.startswith("_"))
