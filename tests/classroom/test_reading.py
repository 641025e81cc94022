"""The reading of library labs: what is held for a person, what isn't, and that nobody gets round it."""

import ast
import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

from converge.classroom import allowed
from converge.classroom.reading import look_at, reason
from converge.grader import course as courses
from converge.grader.course import submissions
from converge.grader.library import doubles
from tests.classroom.hostile import CHEATS, lab_of, said

COURSE = courses.load()
LAB = COURSE.find("03")
LIBRARY = [lab for lab in COURSE.labs if lab.kind == "library"]
# A wrong answer that looks into its own __dict__. A person who looks at it will see that.
HELD_ANYWAY = {"says-it-once"}


@pytest.mark.parametrize("lab", LIBRARY, ids=lambda lab: lab.slug)
def test_no_right_answer_is_held(lab):
    for path in (lab.solution, lab.skeleton, *lab.variants.values()):
        assert look_at(lab, path) is None, path


@pytest.mark.parametrize("lab", LIBRARY, ids=lambda lab: lab.slug)
def test_no_ordinary_mistake_is_held(lab):
    for mutant in submissions.mutants(lab):
        for text in submissions.mutate(lab, mutant).values():
            assert bool(reason(text.encode())) == (mutant.id in HELD_ANYWAY), mutant.id


# Each is something that a right answer may well have.
CLEARED = {
    "an entry with an order": """
from __future__ import annotations
import heapq
from dataclasses import dataclass, field

@dataclass(order=True, slots=True)
class Entry:
    due: float
    key: str = field(compare=False)
    removed: bool = False

class WorkQueue:
    entries: list[Entry]

    def add_after(self, key: str, delay: float) -> Entry:
        entry = Entry(due=self.clock() + delay, key=key)
        heapq.heappush(self.entries, entry)
        entry.removed = False
        return entry
""",
    "states, and a match": """
from enum import Enum, auto
class State(Enum):
    WAITING = auto()
    HELD = auto()
class Keys:
    def __init__(self):
        self.states: dict[str, State] = {}
    def held(self, key):
        match self.states.get(key):
            case State.HELD | None:
                return True
            case str(name) if name:
                return False
        return any(state is State.WAITING for state in State)
""",
    "nodes that point at each other": """
class Node:
    def __init__(self, key, following=None):
        self.key, self.following = key, following
class Line:
    def __init__(self):
        self._first = self._last = None
    def append(self, key):
        node = Node(key)
        if self._last is not None:
            self._last.following = node
        self._last = node
        del node.following
""",
    "a thread of its own kind": """
import threading
class Worker(threading.Thread):
    def __init__(self, queue, name):
        super().__init__(daemon=True, name=name)
        self._queue = queue
    def run(self):
        while (key := self._queue.get()) is not None:
            print(threading.current_thread().name, key)
    @property
    def queue(self):
        return self._queue
    @queue.setter
    def queue(self, queue):
        self._queue = queue
def start(queue):
    worker = Worker(queue, "one")
    worker.daemon = True
    worker.start()
""",
    "exceptions and logs": """
import contextlib, logging, sys, traceback
log = logging.getLogger(__name__)
class Failed(Exception):
    def __init__(self, key, *args):
        super().__init__(key, *args)
        self.key = key
@contextlib.contextmanager
def logged(key):
    try:
        yield
    except (Failed, ValueError) as error:
        log.exception("%s: %s %s", key, type(error).__name__, error.__class__.__name__, extra={"key": key})
        print(f"{key!r}", error, file=sys.stderr)
        traceback.print_exc()
    except Exception as error:
        raise Failed(key) from error
if __name__ == "__main__":
    sys.stderr.write("nothing to do\\n")
""",
    "names that are variables here and modules there": """
import copy, queue, threading, time
def wait(queue, time):
    queue.get(time)
    return [copy for copy in (queue, time)], lambda threading: threading
def clock():
    return time.monotonic()
""",
    "types and class methods": """
import typing as t
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar
K = TypeVar("K")
class Item(NamedTuple):
    key: str
    due: float = 0.0
class Queue(Generic[K]):
    MOST = 60.0
    _made = 0
    __slots__ = ("items", "handlers")
    def __init__(self, handlers: list[Callable[[K], None]] | None = None) -> None:
        self.items: dict[K, Item] = {}
    @classmethod
    def empty(cls) -> "Queue[K]":
        cls._made += 1
        return cls()
    @staticmethod
    def limit(delay: float) -> float:
        return min(delay, Queue.MOST)
    def later(self, item: Item) -> Item:
        return item._replace(due=self.limit(item.due))
    def same(self, other: t.Any) -> bool:
        return isinstance(other, Queue) and type(other) is Queue
    def wait(self, answer):
        return getattr(answer, "requeue_after", None)
def made() -> Queue[str]:
    return Queue[str]()
""",
    "texts, logs, copies and mathematics": """
import copy, logging, math
from collections import namedtuple
from functools import lru_cache
Entry = namedtuple("Entry", "due key")
class Point(namedtuple("Point", ["x", "y"])):
    @lru_cache(maxsize=8)
    def text(self):
        return "{:.1f} {1[0]:>{width}}".replace("1[0]", "x").upper()
logging.basicConfig(level=logging.INFO, format="%(message)s")
def shown(key, objects):
    copies = list(map(copy.deepcopy, objects)) + [copy.deepcopy(key), copy.copy(key)]
    return "{}: {:.1f} {name!r:>{width}}".format(key, math.ldexp(0.5, 3), name=copies, width=8)
""",
    "an executor": """
import concurrent.futures
from concurrent import futures
def run(work, workers):
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        return futures.wait([pool.submit(work) for _ in range(workers)])
""",
    "a name of its own that a builtin has": """
class Informer:
    def list(self) -> list[str]:
        return sorted(self.objects)
    def keys(self) -> list[str]:
        return list(self.objects)
    def each(self, dir, vars):
        return [dir, vars]
""",
}


@pytest.mark.parametrize("what", CLEARED)
def test_what_an_answer_may_have_is_not_held(what):
    assert reason(CLEARED[what].encode()) == ""


# Each is a way to the tools, or part of one, and what the instructor reads of it.
OWN = "class Own:\n    def patch(self, name):\n        return self.waits\n    waits = 1\n"
CLASS_IN = "import logging\ndef f():\n    logging = 1\n    class A:\n"
GENERIC = "from typing import Generic\nclass Own:\n    def patch(self): pass\n"
PATCH = "class Own:\n    def patch(self):\n        self.wait = None\n"
HELD = [
    # Modules that lead to the tools
    ("import gc", "import of gc"),
    ("import sys\nsys.settrace(None)", "sys.settrace"),
    ("from sys import settrace as harmless", "sys.settrace"),
    ("import sys as logging\nlogging._getframe()", "sys._getframe"),
    ("import sys\nsys.modules['__main__']", "sys.modules"),
    ("import threading\nthreading.setprofile(None)", "threading.setprofile"),
    ("import threading\nthreading._sys", "threading._sys"),
    ("import threading\nthreading.enumerate()", "threading.enumerate"),
    ("import logging\nlogging.sys", "logging.sys"),
    ("import logging as log\nlog.os", "logging.os"),
    ("from logging import sys", "logging.sys"),
    ("from threading import *", "threading.*"),
    ("from threading import _trace_hook", "threading._trace_hook"),
    ("from . import host", "import of .host"),
    ("import concurrent.futures\nconcurrent.futures.thread", "concurrent.futures.thread"),
    ("import converge.runtime\nconverge.grader", "converge.grader"),
    ("from converge.grader.library import doubles", "converge.grader.library"),
    ("from converge.operators.lessons import lesson", "lessons.lesson"),
    ("import converge.runtime.api.official", "official"),
    ("import typing\ntyping.get_type_hints", "typing.get_type_hints"),
    ("import functools\nfunctools.update_wrapper", "update_wrapper"),
    ("from operator import attrgetter", "attrgetter"),
    ("import dataclasses\ndataclasses.sys", "dataclasses.sys"),
    ("import asyncio", "import of asyncio"),
    ("import contextlib\ncontextlib.ExitStack.push(x, y)", "contextlib.ExitStack"),
    ("from functools import wraps", "functools.wraps"),
    ("import logging\nlogging.Formatter('{x.gi_frame}', style='{')", "logging.Formatter"),
    ("import logging\nlogging.basicConfig(filename='/proc/self/fd/5')", "basicConfig with more"),
    ("import logging\nlogging.basicConfig(format='{x.y}', style='{')", "basicConfig with more"),
    ("import logging\nlogging.basicConfig(**x)", "basicConfig with more"),
    ("import logging\nf = logging.basicConfig", "basicConfig with more"),
    # A module as a value
    (
        "def f():\n    m = 1\n    def g():\n        nonlocal m\n        import logging as m\n    m.sys",
        "for an import and",
    ),
    ("class A:\n    def g(self):\n        import logging as __m", "an import as __m"),
    ("_A__m.sys", "_A__m"),
    ("def f():\n    nonlocal _A__m", "nonlocal _A__m"),
    ("def f(_A__m): pass", "_A__m"),
    ("import logging\nx = logging", "module logging as a value"),
    ("import logging\nf = lambda logging=logging: logging.sys", "module logging as a value"),
    ("import logging\n[x for logging in [logging] for x in [logging.sys]]", "module logging as a value"),
    ("import logging\ndef f():\n    global logging\n    logging = logging\n    return logging", "for an import and"),
    ("def f():\n    import logging\n    logging = logging\n    return logging", "for an import and"),
    ("import logging\ndef f(g=lambda logging: 0):\n    return logging", "module logging as a value"),
    ("import logging\ndef f():\n    [lambda: (logging := 1) for _ in ()]\n    return logging", "for an import and"),
    ("import logging\nlogging = 1", "for an import and"),
    ("import logging\ndef f():\n    (logging): int\n    return logging.sys", "an annotated name in brackets"),
    (CLASS_IN + "        global logging\n        x = logging.sys", "for an import and"),
    ("class A:\n    global x", "global x"),
    (CLASS_IN + "        x = logging.sys\n        logging = 2", "logging.sys"),
    ("class A:\n    if True:\n        import logging", "an import in a class"),
    ("from enum import auto as T\nimport threading\nT = threading.Thread\nclass A(T): pass", "for an import and"),
    ("import threading\nclass T: pass\nT = threading.Thread\nclass A(T): pass", "a class that is a T"),
    ("import logging\nclass A:\n    logging = logging", "module logging as a value"),
    ("class A:\n    import logging", "an import in a class"),
    ("import logging\nmatch logging:\n    case x: pass", "module logging as a value"),
    ("import concurrent.futures\nx = concurrent.futures", "concurrent.futures as a value"),
    ("import concurrent.futures\nx = concurrent", "module concurrent as a value"),
    ("from concurrent import futures\nx = [futures]", "module futures as a value"),
    ("import time\nimport threading as time", "two imports as time"),
    ("import time\nfrom time import time", "two imports as time"),
    ("import logging\ngetattr(logging, 'sys')", "module logging as a value"),
    # Code and names that are made up when it runs
    ("exec('x')", "exec"),
    ("eval('x')", "eval"),
    ("__import__('gc')", "__import__"),
    ("__builtins__", "__builtins__"),
    ("vars()", "vars"),
    ("globals()['x']", "globals"),
    ("open('/proc/self/mem')", "open"),
    ("breakpoint()", "breakpoint"),
    ("setattr(x, 'y', 1)", "setattr"),
    ("delattr(x, 'y')", "delattr"),
    ("getattr(x, 'set' + 'trace')", "getattr with a name"),
    ("getattr(x, '_private')", "_private"),
    ("getattr(x, '__globals__')", "__globals__"),
    ("hasattr(*x)", "hasattr with a name"),
    ("getattr(*x, 'y')", "getattr with a name"),
    ("type(*x).__name__", "type other than"),
    ("f = getattr", "getattr with a name"),
    ("map(getattr, [x], ['y'])", "getattr with a name"),
    ("def f():\n    eval('1')\neval = f", "eval"),
    ("x = type(y)", "type other than"),
    ("type('X', (), {})", "type other than"),
    ("t = type", "type other than"),
    ("'{0.__globals__}'.format(f)", "format of something"),
    ("'{:{0[1].x}}'.format(f)", "format of something"),
    ("map('{.gi_frame}'.format, x)", "format of something"),
    ("x = '{a.b}'\nx.format_map(y)", "format_map of something"),
    ("str.format('{.x}', y)", "format of something"),
    ("getattr(x, 'format')", "format of something"),
    ("class S(str):\n    def f(self, x):\n        return self.format(x)", "format of something"),
    # Names with underscores, and the insides of functions, generators and exceptions
    ("f.__globals__", "__globals__"),
    ("().__class__.__base__", "__base__"),
    ("().__class__", "__class__"),
    ("x.__dict__['y'] = 1", "__dict__"),
    ("object.__setattr__(x, 'y', 1)", "__setattr__"),
    ("def f():\n    yield\nf().gi_frame.f_back", "f_back"),
    ("try:\n    pass\nexcept Exception as e:\n    e.__traceback__", "__traceback__"),
    ("class C:\n    def __exit__(self, kind, error, trace):\n        trace.tb_frame", "tb_frame"),
    ("async def f():\n    pass\nf().cr_frame", "cr_frame"),
    ("f.func", "func"),
    ("thread._target", "_target"),
    ("class Own:\n    _target = 1\n    def patch(this):\n        this._target", "_target"),
    ("class Own:\n    def patch(self, thread):\n        self._target = thread._target", "_target"),
    ("class Own:\n    def __reduce_ex__(self, p): pass", "__reduce_ex__"),
    ("class Own:\n    def __new__(c): pass", "__new__"),
    ("class Own:\n    __match_args__ = ('_target',)", "__match_args__"),
    ("class Own:\n    __func__ = 1", "__func__"),
    ("class Own:\n    def __init__(self):\n        self.__func__ = 1", "__func__"),
    ("def __getattr__(name): pass", "__getattr__"),
    ("match x:\n    case object(_target=t): pass", "_target"),
    ("match x:\n    case object(__globals__=t): pass", "__globals__"),
    ("class C: pass\nmatch x:\n    case C(t): pass", "class pattern"),
    ("import threading\nx = threading.current_thread()", "current_thread"),
    ("import threading\nthreading.current_thread().run()", "current_thread"),
    ("try:\n    x.y\nexcept AttributeError as e:\n    e.obj", "obj of something"),
    # A method that is called with what isn't its own
    (OWN + "def f():\n    Own = 1\nOwn.patch(x)", "patch of a class"),
    ("class Own(ValueError):\n    def patch(self): pass", "an exception with methods"),
    (OWN + "class More(Own, ValueError): pass", "an exception with methods"),
    ("from queue import Empty\nclass E(Empty): pass\nclass Own(E):\n    def patch(self): pass", "an exception with"),
    ("def f():\n    class __Own: pass", "class __Own"),
    ("class Own:\n    def __p(self): pass\n    _Own__p(x)", "_Own__p"),
    ("from functools import lru_cache\nclass Own:\n    @lru_cache(f)\n    def patch(self): pass", "decorated with lru"),
    (
        "from functools import lru_cache\nclass Own:\n    @lru_cache(maxsize=f)\n    def p(self): pass",
        "decorated with lru",
    ),
    ("from functools import cache\nclass Own:\n    @cache(f)\n    def patch(self): pass", "decorated with cache"),
    (
        "from functools import cache\nclass Own:\n    cache = f\n    @cache\n    def p(self): pass",
        "decorated with cache",
    ),
    ("import abc\nclass Own:\n    abc = f\n    @abc.abstractmethod\n    def p(self): pass", "decorated with abc"),
    ("def f(g):\n    from abc import ABC as A\n    A = g\n    class Own(A): pass", "for an import and"),
    ("from typing import final\n@final(f)\nclass Own: pass", "a class decorated with final"),
    ("from dataclasses import dataclass\n@dataclass(threading.Event)\nclass Own: pass", "a class decorated with data"),
    ("from dataclasses import dataclass\n@dataclass(**x)\nclass Own: pass", "a class decorated with data"),
    ("from enum import Enum\nclass E(Enum):\n    A = 1\n    def _missing_(self): pass", "_missing_"),
    ("class Own:\n    def _missing_(self): pass", "_missing_"),
    ("class Own:\n    def __deepcopy__(self, memo): pass", "__deepcopy__"),
    ("import copy\ncopy.deepcopy(own.patch, {id(own): x})", "deepcopy with more"),
    ("import copy\nmap(copy.deepcopy, [own.patch], [{id(own): x}])", "deepcopy with more"),
    ("from copy import deepcopy as copy\nx = copy", "deepcopy with more"),
    # A name that copy looks up for a method that has it
    ("from collections import namedtuple\nnamedtuple('__class__', 'a')", "namedtuple other than"),
    ("from collections import namedtuple\nnamedtuple(*x)", "namedtuple other than"),
    ("from typing import NamedTuple as N\nx = N", "NamedTuple other than"),
    ("from contextlib import contextmanager\nf = contextmanager(TypeVar('__class__'))", "contextmanager other than"),
    ("from contextlib import contextmanager\n@contextmanager(f)\ndef g(): pass", "contextmanager other than"),
    (OWN + "Own.patch(x)", "patch of a class"),
    ("class Own:\n    def _patch(self): pass\nclass A:\n    _patch = 1\nOwn._patch(x)", "_patch of something"),
    ("class Own:\n    def __p(self): pass\nclass A:\n    _Own__p = 1\nOwn._Own__p(x)", "_Own__p"),
    (OWN + "C = Own", "class Own as a value"),
    (OWN + "f(Own)", "class Own as a value"),
    (OWN + "f'{Own}'", "class Own as a value"),
    (OWN + "x = Own[int]\nx.patch(y)", "class Own as a value"),
    (OWN + "x[Own]()", "class Own as a value"),
    (OWN + "Own == x", "class Own as a value"),
    (OWN + "def f(d):\n    class A:\n        x: d[Own]", "class Own as a value"),
    (OWN + "getattr(Own, 'patch')", "patch of a class"),
    (OWN + "Own.mro", "mro"),
    (OWN + "class More(Own): pass\nMore.patch(x)", "patch of a class"),
    ("from typing import Generic\n" + OWN + "class More(Own[int]): pass\nMore.patch(x)", "class Own as a value"),
    (OWN + "@f\nclass More(Own): pass", "a class decorated with f"),
    ("class Own:\n    def patch(self): pass\n    patch(x)", "method patch as a value"),
    ("class Own:\n    def patch(self): pass\n    x = [patch]", "method patch as a value"),
    ("class Own:\n    def patch(self): pass\n    def f(self, g=patch): pass", "method patch as a value"),
    ("class Own:\n    def patch(self): pass\n    x: d[patch]", "method patch as a value"),
    ("class Own:\n    def patch(self): pass\n    class In(Generic[patch(x)]): pass", "a class that is a Generic"),
    (GENERIC + "    class In(Generic[patch(x)]): pass", "method patch as a value"),
    ("class Own:\n    @f\n    def patch(self): pass", "a method decorated with f"),
    ("class Own:\n    x = Thing()\n    @x.setter\n    def x(self): pass", "a method decorated with x.setter"),
    ("class Own:\n    class In:\n        def patch(self): pass", "class In in a class"),
    ("class Own:\n    def patch(self): pass\n    @classmethod\n    def f(cls, x):\n        cls.patch(x)", "patch of a"),
    ("class Own:\n    @classmethod\n    def f(own): pass", "cls"),
    ("class Own:\n    if True:\n        @classmethod\n        def f(own): pass", "only sometimes a method"),
    ("class Own:\n    @classmethod\n    def f(cls, x):\n        super().patch(x)", "super other than"),
    ("super(A, x).y", "super other than"),
    ("class Own:\n    @staticmethod\n    def f(self): pass", "the name self"),
    ("def f(self): pass", "the name self"),
    ("lambda self: self", "the name self"),
    ("for self in x: pass", "the name self"),
    ("class Own:\n    def f(self):\n        self = 1", "the name self"),
    ("class Own:\n    if True:\n        def f(self): pass", "only sometimes a method"),
    ("class Own:\n    def f(self):\n        def g():\n            nonlocal self", "nonlocal self"),
    ("def __repr__(): pass", "__repr__"),
    ("import time as self", "the name self"),
    ("match x:\n    case {**self}: pass", "the name self"),
    ("match x:\n    case [*self]: pass", "the name self"),
    ("try: pass\nexcept E as self: pass", "the name self"),
    ("property(f)", "property other than"),
    # Others' objects, changed
    ("import time\ntime.sleep = print", "a change of time.sleep"),
    ("import time\ndel time.sleep", "a change of time.sleep"),
    ("import time\nfor time.sleep in (1,): pass", "a change of time.sleep"),
    ("import threading\nthreading.Event.wait = print", "a change of wait"),
    (PATCH + "import threading\nthreading.Event.wait = print", "a change of wait"),
    (PATCH + "from threading import Event as E\nE.wait: int = 1", "a change of wait"),
    (PATCH + "def f(c):\n    c.wait = 1", "a change of wait"),
    (PATCH + "import threading\nOwn = threading.Event\nOwn.wait = 1", "a change of wait"),
    ("class A:\n    timed_out = 0\n    def f(self, queue):\n        queue.timed_out = 0", "a change of timed_out"),
    ("class A:\n    adds = 0\n    def f(self, queue):\n        queue.adds = 0", "a change of adds"),
    ("import sys\nsys.stderr.write = print", "a change of write"),
    ("import threading\nthreading.Thread.daemon = f", "a change of daemon"),
    ("from dataclasses import dataclass\nimport threading\ndataclass(threading.Event)", "dataclass other than"),
    ("import builtins", "import of builtins"),
    ("queue.clock.advance(9)", "advance"),
    ("informer.open()", "open of something"),
    ("client.connection", "connection"),
    # Classes of an odd kind
    ("class Own(type): pass", "a class that is a type"),
    ("class Own(metaclass=M): pass", "class Own with metaclass"),
    ("class Own(f()): pass", "a class that is a f()"),
    (
        "import threading\nclass T(threading.Thread):\n    def _bootstrap_inner(self): pass",
        "a Thread with a _bootstrap",
    ),
    ("from enum import Enum\nEnum('R', {'__reduce_ex__': f})", "Enum other than"),
    ("from enum import Enum\nclass E(Enum): pass\nE('R', {'__new__': f})", "an Enum whose members"),
    ("from enum import Enum\nclass E(Enum):\n    _ignore_ = 'A'\n    A = 1", "an Enum whose members"),
    ("from enum import Enum\nclass E(Enum):\n    A = 1\n    if True:\n        _ignore_ = 'A'", "an Enum whose members"),
    ("from abc import ABC\nclass C(ABC): pass\nC.register(x)", "register"),
]


@pytest.mark.parametrize(("text", "why"), HELD, ids=lambda each: re.sub(r"\s+", " ", each)[-50:])
def test_what_leads_to_the_tools_is_held(text, why):
    ast.parse(text)
    assert why in reason(text.encode())


@pytest.mark.parametrize("line", [1, 7])
def test_the_line_is_named(line):
    assert reason(("\n" * (line - 1) + "import gc").encode()) == f"line {line}: import of gc"


def test_a_file_is_read_in_the_encoding_that_python_reads_it_in():
    """In UTF-7, +AAo- is the end of a line, so what looks like a comment is code."""
    text = b"# coding: utf-7\n# harmless +AAo-import gc\n"
    assert "gc" in reason(text)


def test_a_name_in_other_letters_is_the_same_name():
    assert reason("import threading\nthreading.\uff53ettrace(None)".encode()) == "line 2: threading.settrace"


@pytest.mark.parametrize("text", ["-" * 100_000 + "1", "x" + "+x" * 30_000, "x = " + "[" * 160 + "]" * 160])
def test_what_is_nested_too_deeply_is_held_and_ends_nothing(text):
    """Python runs out of its parser's stack: a MemoryError, in the process that grades the class."""
    assert "nested too deeply" in reason(text.encode())


@pytest.mark.parametrize("content", [b"class WorkQueue(:", b"x = 1\0"])
def test_what_is_not_python_here_may_be_where_it_is_graded(content):
    assert "it can't be read: SyntaxError" in reason(content)


def test_only_library_labs_are_read(tmp_path):
    (tmp_path / "file.py").write_text("import gc")
    assert look_at(LAB, tmp_path / "file.py").why == "line 1: import of gc"
    assert look_at(COURSE.find("01"), tmp_path / "file.py") is None


def is_set(node):
    return isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self"


def test_what_the_checks_count_in_their_own_objects_is_nobody_else_s():
    """A double with a new attribute is protected as the others are."""
    tree = ast.parse(Path(doubles.__file__).read_text())
    counted = {node.attr for node in ast.walk(tree) if is_set(node)}
    assert {"timed_out", "given_back", "missed", "waited"} < counted
    for name in counted | {"get", "wait", "list", "watch", "has_synced"}:
        held = reason(f"class A:\n    {name} = 1\ndef f(x):\n    x.{name} = 1".encode())
        assert f"{name} of something other than self" in held


@pytest.mark.parametrize("module", allowed.MODULES)
def test_all_that_is_allowed_exists_and_is_no_module(module):
    for name in allowed.MODULES[module]:
        assert not isinstance(getattr(importlib.import_module(module), name), ModuleType)


TAKES_THE_TOOLS = [
    name for name in CHEATS if said(CHEATS[name], "May not touch").startswith(("what looks", "the check's"))
]


@pytest.mark.parametrize("name", TAKES_THE_TOOLS)
def test_an_attack_on_the_tools_is_held(name):
    held = look_at(lab_of(name), CHEATS[name])
    assert bool(held) == (name != "races"), "races has no trick at all: the checks find it"
