"""Modules can be imported in any order, each of them first, and are then complete.

That no file is imported by one it imports is read from the source. That a public module is
complete when it is the only one imported is tried: each class has the attributes it has when
everything is imported. It would have found a class whose methods need an attribute that another
module sets.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import penstock
from tests.import_graph import assigned_from_below, circles, import_graph

ROOT = Path(penstock.__file__).parent

HANDLES = {
    "cached_stream",
    "caching",
    "co_grouped_streams",
    "collecting",
    "connected_streams",
    "data_stream",
    "dataframes",
    "environment",
    "interval_join",
    "joined_rows",
    "joined_streams",
    "keyed_stream",
    "paired_streams",
    "regular_join",
    "repartitioning",
    "stream_checks",
    "stream_ends",
    "stream_handles",
    "stream_pairs",
    "window_rules",
    "window_settings",
    "windowed_stream",
}
"""Files of `api` whose annotations name one another: `key_by` of a `DataStream` returns a
`KeyedStream`, whose `map` returns a `DataStream`. Only annotations: no import that is executed."""

PUBLIC = (
    "penstock.common",
    "penstock.datastream",
    "penstock.datastream.connectors",
    "penstock.datastream.formats",
    "penstock.datastream.functions",
    "penstock.datastream.window",
    "penstock.testing",
    "penstock.testing.harness",
)
"""What is tried; the order of all other imports is decided by the tests that read the source."""

# Runs in a process of its own. Prints the modules that are incomplete, or fail, when imported alone.
IMPORT_ALONE = """
import importlib, os, sys
import penstock

def loaded():
    return [name for name in sys.modules if name.partition(".")[0] == "penstock"]

def attributes():
    return {
        value: sorted(vars(value))
        for name in loaded()
        for value in vars(sys.modules[name]).values()
        if isinstance(value, type) and value.__module__ == name
    }

def by_name():
    return {f"{cls.__module__}.{cls.__qualname__}": names for cls, names in attributes().items()}

public = sys.argv[1:]
for name in public:
    importlib.import_module(name)
whole = by_name()
for name in loaded():
    del sys.modules[name]
for name in public:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            importlib.import_module(name)
            wrong = [cls for cls, names in by_name().items() if whole[cls] != names]
            if wrong:
                print(name, wrong, flush=True)
            status = 0
        finally:
            os._exit(status)
    if os.waitpid(child, 0)[1]:
        print(name, "cannot be imported", flush=True)
print(len(public))
"""


@pytest.fixture(scope="module")
def executed_imports():
    return import_graph(ROOT, for_types=False)


def test_no_module_is_imported_by_one_it_imports(executed_imports):
    assert circles(executed_imports) == []


def test_only_annotations_of_streams_name_one_another():
    every = circles(import_graph(ROOT, for_types=True))
    assert {name for circle in every for name in circle} == {
        f"penstock.api.{name}" for name in HANDLES
    }


def test_no_module_gives_attributes_to_what_it_imports():
    assert assigned_from_below(ROOT) == []


def test_every_public_module_is_complete_alone():
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALONE, *PUBLIC],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [str(len(PUBLIC))]


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
