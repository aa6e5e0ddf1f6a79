"""Digests of functions: a table of changes that are seen and of those that are not, then processes and operators.

The table compares two texts of one module, so it finds what the walk misses and what it takes for a change. Processes with
other hash seeds find an order or an address in a digest.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import pytest

from penstock.common import Time
from penstock.datastream.connectors import CollectionSource
from penstock.datastream.window import TumblingProcessingTimeWindows
from penstock.plan.compat.function_digest import changed_functions, digest, function_digests
from penstock.plan.physical import PhysicalPlan
from tests.runtime.jobs import BATCH, STREAMING, job

ROOT = Path(__file__).resolve().parents[2]

HEAD = """
import logging, re, threading
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from functools import cached_property, partial, wraps
"""


def of(text: str) -> bytes:
    """Return the digest of `f` of a module."""
    module = sys.modules["program"] = ModuleType("program")
    try:
        code = compile(HEAD + dedent(text), "program.py", "exec", dont_inherit=True)
        exec(code, module.__dict__)  # noqa: S102
        return digest(module.f)
    finally:
        del sys.modules["program"]


SEEN = {
    "instruction": ("f = lambda x: x + 1", "f = lambda x: x - 1"),
    "constant": ("f = lambda x: x + 1", "f = lambda x: x + 2"),
    "type of a constant": ("f = lambda x: x + 1", "f = lambda x: x + 1.0"),
    "sign of zero": ("f = lambda x: x + 0.0", "f = lambda x: x + -0.0"),
    "set of constants": ("f = lambda x: x in {1, 2}", "f = lambda x: x in {1, 3}"),
    "attribute name": ("f = lambda x: x.a", "f = lambda x: x.b"),
    "order of calls": ("def f(x): x.a(); x.b()", "def f(x): x.b(); x.a()"),
    "block of a handler": (
        """
        def f(x):
            try: x.a(); x.b()
            except ValueError: pass
        """,
        """
        def f(x):
            try: x.a()
            except ValueError: pass
            x.b()
        """,
    ),
    "target of a jump": ("def f(x):\n if x: a()\n b()", "def f(x):\n if x: a(); b()"),
    "generator": ("def f(x): return iter([x])", "def f(x): yield x"),
    "default": ("def f(x, y=1): return y", "def f(x, y=2): return y"),
    "keyword default": ("def f(x, *, y=1): return y", "def f(x, *, y=2): return y"),
    "global number": ("RATE = 3\nf = lambda x: x * RATE", "RATE = 4\nf = lambda x: x * RATE"),
    "global dict": ("R = {'a': 1}\nf = lambda x: R[x]", "R = {'a': 2}\nf = lambda x: R[x]"),
    "global set": ("R = {'a', 'b'}\nf = lambda x: x in R", "R = {'a'}\nf = lambda x: x in R"),
    "global pattern": (
        "P = re.compile('a')\nf = lambda x: P.match(x)",
        "P = re.compile('b')\nf = lambda x: P.match(x)",
    ),
    "flags of a pattern": (
        "P = re.compile('a')\nf = lambda x: P.match(x)",
        "P = re.compile('a', re.I)\nf = lambda x: P.match(x)",
    ),
    "global decimal": (
        "R = Decimal('1.0')\nf = lambda x: R",
        "R = Decimal('1.00')\nf = lambda x: R",
    ),
    "global of an inner function": (
        "R = 1\ndef f(x): return [y * R for y in x]",
        "R = 2\ndef f(x): return [y * R for y in x]",
    ),
    "called function": (
        "def g(x): return 1\nf = lambda x: g(x)",
        "def g(x): return 2\nf = lambda x: g(x)",
    ),
    "called function of a called one": (
        "def h(x): return 1\ndef g(x): return h(x)\nf = lambda x: g(x)",
        "def h(x): return 2\ndef g(x): return h(x)\nf = lambda x: g(x)",
    ),
    "decorated function": (
        """
        def deco(g):
            @wraps(g)
            def inner(x): return g(x)
            return inner
        @deco
        def f(x): return 1
        """,
        """
        def deco(g):
            @wraps(g)
            def inner(x): return g(x)
            return inner
        @deco
        def f(x): return 2
        """,
    ),
    "closure": (
        "def make(n): return lambda x: n\nf = make(1)",
        "def make(n): return lambda x: n\nf = make(2)",
    ),
    "partial": (
        "def g(a, x): return a\nf = partial(g, 1)",
        "def g(a, x): return a\nf = partial(g, 2)",
    ),
    "method": (
        "class F:\n def g(self): return 1\nf = F()",
        "class F:\n def g(self): return 2\nf = F()",
    ),
    "bound method": (
        "class F:\n def g(self): return 1\nf = F().g",
        "class F:\n def g(self): return 2\nf = F().g",
    ),
    "other method of the class": (
        "class F:\n def g(self): return self.h()\n def h(self): return 1\nf = F()",
        "class F:\n def g(self): return self.h()\n def h(self): return 2\nf = F()",
    ),
    "class attribute": ("class F:\n RATE = 3\nf = F()", "class F:\n RATE = 4\nf = F()"),
    "attribute of a base": (
        "class B:\n RATE = 3\nclass F(B): pass\nf = F()",
        "class B:\n RATE = 4\nclass F(B): pass\nf = F()",
    ),
    "abstract base": (
        "class B(ABC):\n def g(self): return 1\nclass F(B): pass\nf = F()",
        "class B(ABC):\n def g(self): return 2\nclass F(B): pass\nf = F()",
    ),
    "attribute of the object": (
        "class F:\n def __init__(self, n): self.n = n\nf = F(1)",
        "class F:\n def __init__(self, n): self.n = n\nf = F(2)",
    ),
    "slot of the object": (
        "class F:\n __slots__ = ('n',)\n def __init__(self, n): self.n = n\nf = F(1)",
        "class F:\n __slots__ = ('n',)\n def __init__(self, n): self.n = n\nf = F(2)",
    ),
    "dataclass": (
        "@dataclass\nclass F:\n n: int\nf = F(1)",
        "@dataclass\nclass F:\n n: int\nf = F(2)",
    ),
    "static method": (
        "class F:\n @staticmethod\n def g(): return 1\nf = F()",
        "class F:\n @staticmethod\n def g(): return 2\nf = F()",
    ),
    "property": (
        "class F:\n @property\n def g(self): return 1\nf = F()",
        "class F:\n @property\n def g(self): return 2\nf = F()",
    ),
    "cached property": (
        "class F:\n @cached_property\n def g(self): return 1\nf = F()",
        "class F:\n @cached_property\n def g(self): return 2\nf = F()",
    ),
    "enum": (
        "class E(Enum):\n A = 1\nf = lambda x: E.A",
        "class E(Enum):\n A = 2\nf = lambda x: E.A",
    ),
    "made class": (
        "class G:\n N = 1\nf = lambda x: G()",
        "class G:\n N = 2\nf = lambda x: G()",
    ),
    "subclass of set": ("class S(set):\n N = 1\nf = S([1])", "class S(set):\n N = 2\nf = S([1])"),
    "name of a library function": ("f = re.match", "f = re.search"),
    "library function by its module": ("f = lambda x: re.match(x)", "f = lambda x: re.search(x)"),
}

NOT_SEEN = {
    "blank lines and comments": (
        "def f(x):\n return x",
        "# a\n\n\ndef f(x):\n\n  # b\n  return (\n    x\n  )",
    ),
    "docstring": ("def f(x):\n return None", "def f(x):\n 'Doc.'\n return None"),
    "docstring of a class": ("class F:\n N = 1\nf = F()", "class F:\n 'Doc.'\n N = 1\nf = F()"),
    "annotation": ("def f(x): return x", "def f(x: int) -> int: return x"),
    "pass": ("def f(x):\n return x", "def f(x):\n pass\n return x"),
    "order of a set": (
        "R = {'a', 'b', 'c'}\nf = lambda x: R",
        "R = {'c', 'b', 'a'}\nf = lambda x: R",
    ),
    "order of methods": (
        "class F:\n def g(self): pass\n def h(self): pass\nf = F()",
        "class F:\n def h(self): pass\n def g(self): pass\nf = F()",
    ),
    "unused global": ("R = 1\nf = lambda x: x", "R = 2\nf = lambda x: x"),
    "shared or equal objects": ("A = (1, 2)\nf = [A, A]", "f = [(1, 2), tuple([1, 2])]"),
    "logger and lock": (
        "L, M = logging.getLogger('a'), threading.Lock()\ndef f(x): L.info(x, M)",
        "L, M = logging.getLogger('a'), threading.Lock()\n\ndef f(x): L.info(x, M)",
    ),
    "recursion": ("def f(x): return f(x)", "\ndef f(x): return f(x)"),
    "recursion of two": (
        "def f(x): return g(x)\ndef g(x): return f(x)",
        "\ndef g(x): return f(x)\ndef f(x): return g(x)",
    ),
    "object that holds itself": (
        "class F: pass\nf = F()\nf.me = f",
        "class F: pass\n\nf = F()\nf.me = f",
    ),
    "super": (
        "class F:\n def g(self): super().__init__()\nf = F()",
        "class F:\n\n def g(self): super().__init__()\nf = F()",
    ),
}


@pytest.mark.parametrize("name", SEEN)
def test_a_change_is_seen(name: str) -> None:
    before, after = SEEN[name]
    assert of(before) == of(before)
    assert of(before) != of(after)


@pytest.mark.parametrize("name", NOT_SEEN)
def test_what_changes_no_behaviour_is_not_seen(name: str) -> None:
    before, after = NOT_SEEN[name]
    assert of(before) == of(after)


def test_members_of_modules_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ModuleType("program_settings")
    monkeypatch.setitem(sys.modules, "program_settings", settings)
    found = []
    for rate, other in [(1, 1), (2, 1), (1, 2)]:
        settings.__dict__.update(RATE=rate, OTHER=other)
        found.append(of("import program_settings as s\nf = lambda x: x * s.RATE"))
    assert found[0] != found[1]
    assert found[0] == found[2]


def test_what_cannot_be_pickled_counts_by_its_class() -> None:
    class Refuses:
        def __reduce_ex__(self, protocol: Any) -> Any:
            raise TypeError(protocol)

    assert digest(Refuses()) == digest(Refuses())
    assert digest(sys.stdout) == digest(sys.stderr)


# --- operators --------------------------------------------------------------------------------


def plan_of(build: Callable[[Any], Any], settings: dict[str, str] = STREAMING) -> PhysicalPlan:
    return job(settings, CollectionSource.of([("a", 1)]), build).plan()


def counted(n: int, key: int = 0, size: int = 1) -> Callable[[Any], Any]:
    def build(stream: Any) -> Any:
        pairs = stream.map(lambda r: (r[0], n)).uid("pairs")
        sums = pairs.key_by(lambda r: r[key]).sum(1).uid("sums")
        windows = sums.key_by(lambda r: r[0]).window(
            TumblingProcessingTimeWindows.of(Time.seconds(size))
        )
        return windows.reduce(lambda a, _: a).uid("windows")

    return build


@pytest.mark.parametrize("settings", [BATCH, STREAMING])
def test_the_operators_that_changed_are_named(settings: dict[str, str]) -> None:
    known = function_digests(plan_of(counted(1)))
    assert {"pairs", "sums", "windows"} <= known.keys()

    def changed(build: Any) -> list[str]:
        return [op.uid for op in changed_functions(plan_of(build, settings), known)]

    assert changed(counted(1)) == []
    assert changed(counted(2)) == ["pairs"]
    assert changed(counted(1, key=1)) == ["sums"]
    assert changed(counted(1, size=2)) == ["windows"]


def test_digests_of_other_versions_and_of_no_version_are_not_compared() -> None:
    plan = plan_of(counted(1))
    known = {uid: f"3.1 0.0.1 {text[-16:]}" for uid, text in function_digests(plan).items()}
    assert changed_functions(plan, known) == ()
    assert changed_functions(plan, dict.fromkeys(known, "")) == ()
    assert changed_functions(plan, {}) == ()


def test_an_object_that_is_nested_too_deep_is_never_reported() -> None:
    deep: Any = None
    for _ in range(sys.getrecursionlimit() + 4_000):  # a chain of operators may have raised it
        deep = [deep]

    def build(n: int) -> Callable[[Any], Any]:
        return lambda s: s.map(functools.partial(_second, (deep, n))).uid("m")

    before, after = plan_of(build(1)), plan_of(build(2))
    assert changed_functions(after, function_digests(before)) == ()


def _second(_: Any, record: Any) -> Any:
    return record


PROGRAMS = """
import json
from penstock.common import Row, Types
from penstock.datastream import KeyedProcessFunction, ValueStateDescriptor, col
from penstock.plan.compat.function_digest import function_digests, job_digest
from tests.plan.test_function_digest import SEEN, NOT_SEEN, counted, of, plan_of

NAMES = frozenset(f"name {n}" for n in range(50))

class Keeps(KeyedProcessFunction):
    KNOWN = {str(n) for n in range(50)}
    def open(self, runtime_context):
        self.s = runtime_context.get_state(ValueStateDescriptor("s", Types.LONG()))
    def process_element(self, value, ctx):
        if value[0] in NAMES or value[0] in self.KNOWN or value[0] in {"a", "b", "c"}:
            yield value

ROW = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.LONG()])

def columns(stream):
    rows = stream.map(lambda r: Row(k=r[0], n=r[1]), ROW).uid("rows")
    return rows.key_by(col.k).aggregate(n=col.n.sum(), m=col.n.max()).uid("c")

plans = {
    "counted": plan_of(counted(1)),
    "keeps": plan_of(lambda s: s.key_by(lambda r: r[0]).process(Keeps()).uid("k")),
    "columns": plan_of(columns),
}
found = {name: [function_digests(plan), job_digest(plan)] for name, plan in plans.items()}
found["texts"] = [of(text).hex() for pair in [*SEEN.values(), *NOT_SEEN.values()] for text in pair]
print(json.dumps(found, sort_keys=True))
"""


def test_digests_are_equal_in_every_process(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAMS)
    found = {
        subprocess.run(
            [sys.executable, str(program)],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "77")
    }
    (text,) = found
    assert '"k": "3.' in text
