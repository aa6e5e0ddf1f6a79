"""Modules can be imported in any order, each of them first, and are then complete.

That no file is imported by one it imports is read from the source. That a public module is
complete when it is the only one imported is tried: each class has the attributes it has when
everything is imported. It would have found a class whose methods need an attribute that another
module sets.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import penstock
from tests.import_graph import assigned_from_below, circles, import_graph
from tools.support.names import NAMES

ROOT = Path(penstock.__file__).parent
REPOSITORY = Path(__file__).parents[1]

HANDLES = {
    "environment.environment",
    "environment.sql_methods",
    "streams.batch_operations",
    "streams.co_grouped_streams",
    "streams.collecting",
    "streams.columns.as_of_join",
    "streams.columns.column_joins",
    "streams.columns.column_operations",
    "streams.columns.keyed_columns",
    "streams.connected_streams",
    "streams.data_stream",
    "streams.dataframes",
    "streams.interval_join",
    "streams.joined_streams",
    "streams.keyed_stream",
    "streams.paired_streams",
    "streams.stream_base",
    "streams.stream_ends",
    "streams.stream_handles",
    "streams.stream_operations",
    "streams.stream_pairs",
    "windows.window_rules",
    "windows.windowed_stream",
    "windows.windows_base",
}
"""Files of `api` whose annotations name one another: `key_by` of a `DataStream` returns a
`KeyedStream`, whose `map` returns a `DataStream`. Only annotations: no import that is executed."""

QUERIES = {"from_clause", "select", "subqueries", "table_functions"}
"""Files of `sql/query_binding` whose annotations name one another: a query has tables, which may be queries."""

FACADES = ("common", "datastream", "testing")
"""Packages whose every module a program may import."""

_IMPORTED = re.compile(r"^\s*(?:>>> )?(?:from|import) (penstock\.[\w.]+)", re.MULTILINE)
_TABLED = re.compile(r"^(penstock\.[\w.]+):", re.MULTILINE)


def public_modules() -> list[str]:
    """Return the modules users import: the façades, what pages and examples import, what is tabled."""
    files = [*(REPOSITORY / "docs").rglob("*.md"), REPOSITORY / "README.md"]
    files += (REPOSITORY / "examples").glob("*.py")
    texts = [path.read_text(encoding="utf-8") for path in files]
    found = {name for text in texts for name in _IMPORTED.findall(text)}
    found |= set(_TABLED.findall(NAMES))
    for package in FACADES:
        paths = (ROOT / package).rglob("*.py")
        dotted = (".".join(path.relative_to(ROOT.parent).with_suffix("").parts) for path in paths)
        found |= {name.removesuffix(".__init__") for name in dotted}
    return sorted(found)


# Runs in a process of its own, which has imported once what others wrote: its children execute only
# our files. A child imports a package and forks one for each module of it: Python too imports a
# module's package first, so nothing else is imported before either. Prints the modules that are
# complete when imported alone, and what is wrong with others.
IMPORT_ALONE = """
import gc, importlib, os, sys
import penstock

def loaded():
    return [name for name in sys.modules if name.partition(".")[0] == "penstock"]

def attributes():
    return {
        f"{name}.{value.__qualname__}": sorted(vars(value))
        for name in loaded()
        for value in vars(sys.modules[name]).values()
        if isinstance(value, type) and value.__module__ == name
    }

def alone(name):
    importlib.import_module(name)
    wrong = [cls for cls, names in attributes().items() if whole[cls] != names]
    if name in public:
        say(name, *wrong)

def say(*words):
    os.write(1, " ".join([*words, "\\n"]).encode())  # whole lines, from any process

def each_alone(package):
    for name in sorted(names):
        if name.rpartition(".")[0] == package:
            child = os.fork()
            if child == 0:
                try:
                    alone(name)
                    each_alone(name)
                except BaseException as error:
                    say(name, type(error).__name__, str(error))
                finally:
                    os._exit(0)
            os.waitpid(child, 0)

public = sys.argv[1:]
names = {".".join(parts[:n]) for parts in (name.split(".") for name in public)
         for n in range(2, len(parts) + 1)}
for name in public:
    importlib.import_module(name)
whole = attributes()
for name in loaded():
    if name != "penstock":
        del sys.modules[name]
gc.freeze()  # a child would copy every page the collector looks at
gc.disable()
each_alone("penstock")
"""


@pytest.fixture(scope="module")
def executed_imports():
    return import_graph(ROOT, for_types=False)


def test_no_module_is_imported_by_one_it_imports(executed_imports):
    assert circles(executed_imports) == []


def test_only_annotations_of_streams_name_one_another():
    every = circles(import_graph(ROOT, for_types=True))
    assert {name for circle in every for name in circle} == {
        *(f"penstock.api.{name}" for name in HANDLES),
        *(f"penstock.sql.query_binding.{name}" for name in QUERIES),
    }


def test_no_module_gives_attributes_to_what_it_imports():
    assert assigned_from_below(ROOT) == []


def test_every_public_module_is_found():
    public = public_modules()
    for name in (
        "penstock.common.typeinfo",  # a façade
        "penstock.datastream.connectors.kafka",  # a façade in a façade
        "penstock.errors",  # named by a page
        "penstock.metrics",  # in the support table
        "penstock.testing.harness",
    ):
        assert name in public


def test_every_public_module_is_complete_alone():
    public = public_modules()
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALONE, *public],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert sorted(map(str.strip, done.stdout.splitlines())) == public


def test_finds_circles_that_are_delayed_and_those_of_types(tmp_path):
    files = {
        "__init__.py": "",
        "a.py": "from pkg.b import x\n",
        "b.py": "def f():\n    from pkg import c\n",
        "c.py": "import pkg.a\n",
        "d.py": "if TYPE_CHECKING:\n    from pkg.e import E\n",
        "e.py": "from pkg.d import D\nD.child = 1\nfrom pkg import a\n",
    }
    root = tmp_path / "pkg"
    root.mkdir()
    for name, text in files.items():
        (root / name).write_text(text)
    circle = ["pkg.a", "pkg.b", "pkg.c"]
    assert circles(import_graph(root, for_types=False)) == [circle]
    assert circles(import_graph(root, for_types=True)) == [circle, ["pkg.d", "pkg.e"]]
    assert assigned_from_below(root) == ["e.py:2 D.child"]


def test_windows_of_a_time_are_computed_in_one_file() -> None:
    """`time - (time - offset) % distance` is there once."""
    found = [path for path in ROOT.rglob("*.py") if _cuts_time(ast.parse(path.read_text()))]
    assert found == [ROOT / "program" / "windows.py"]


def _cuts_time(tree: ast.AST) -> bool:
    def halves(node: ast.AST, kind: type[ast.operator]) -> tuple[ast.AST, ast.AST] | None:
        if isinstance(node, ast.BinOp) and isinstance(node.op, kind):
            return node.left, node.right
        return None

    for node in ast.walk(tree):
        whole = halves(node, ast.Sub)
        rest = whole and halves(whole[1], ast.Mod)
        behind = rest and halves(rest[0], ast.Sub)
        if whole and behind and ast.dump(whole[0]) == ast.dump(behind[0]):
            return True
    return False
