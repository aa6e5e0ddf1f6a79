"""The architecture holds, and the checker notices when it does not."""

from __future__ import annotations

import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import penstock
from tests.layers_check import (
    crowded_folders,
    delayed_imports,
    forbidden_imports,
    forbidden_within,
    long_files,
    members_of,
    names_of_several,
)
from tools.layers import (
    BENCHMARKS,
    CROWDED,
    MAY_IMPORT,
    MOST_LINES,
    MOST_MODULES,
    STREAMS,
    THIRD_PARTY,
    WITHIN,
    WORKSHOP,
)

ROOT = Path(penstock.__file__).parent
TOP = Path(__file__).parents[1]
SOURCES = (ROOT, TOP / "benchmarks", TOP / "examples")
"""Code that runs for users and for readers of figures."""

MAY_DELAY = {"spark", "__main__"}
"""Members that may import inside a function."""

TABLES = {"observe/events/job_events.py"}  # the table of events
"""Files that may be long because they are one table, by path below the package."""

ONE_NAME = {"Watermark", "Builder"}
"""Names of two classes: one is Flink's, the other is in the pickles of control frames; or both are PyFlink's, inside others."""

# Runs in a process of its own: imports all modules of the packages named on the command line, in a
# Python that has no PySpark. Prints how many there were.
IMPORT_WITHOUT_PYSPARK = """
import importlib, pkgutil, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j"):
            raise ModuleNotFoundError(f"blocked: {name}")

sys.meta_path.insert(0, Refuse())
names = list(sys.argv[1:])
for name in names:
    module = importlib.import_module(name)
    names += [f"{name}.{found.name}" for found in pkgutil.iter_modules(getattr(module, "__path__", []))]
print(len(names))
"""


def import_without_pyspark(*names):
    return subprocess.run(
        [sys.executable, "-c", IMPORT_WITHOUT_PYSPARK, *names],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT.parent)},
    )


@pytest.fixture
def package(tmp_path):
    """Return a function that writes files into a package `pkg` and returns its directory."""
    root = tmp_path / "pkg"

    def write(files):
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return root

    return write


def strings(findings):
    return [str(finding) for finding in findings]


def test_every_import_is_allowed():
    assert strings(forbidden_imports(ROOT, MAY_IMPORT, THIRD_PARTY)) == []


def test_the_package_imports_nothing_beside_it():
    assert strings(forbidden_imports(ROOT, MAY_IMPORT, dict.fromkeys(WORKSHOP, ()))) == []
    assert {name for name in WORKSHOP if not (TOP / name).is_dir()} == set()


def test_every_import_within_the_benchmarks_is_allowed():
    assert strings(forbidden_imports(TOP / "benchmarks", BENCHMARKS, {})) == []


@pytest.mark.parametrize("root", SOURCES, ids=lambda root: root.name)
def test_no_import_is_delayed(root):
    assert strings(delayed_imports(root, MAY_DELAY if root == ROOT else ())) == []


@pytest.mark.parametrize("root", SOURCES, ids=lambda root: root.name)
def test_no_file_is_too_long(root):
    assert strings(long_files(root, MOST_LINES, TABLES)) == []


def test_no_two_classes_have_one_name():
    assert names_of_several(ROOT, ONE_NAME) == []
    assert len(names_of_several(ROOT, ())) == len(ONE_NAME)


@pytest.mark.parametrize("root", SOURCES, ids=lambda root: root.name)
def test_no_folder_is_crowded(root):
    assert crowded_folders(root, MOST_MODULES, CROWDED) == []


def test_no_exception_is_left_that_is_none():
    crowded = {line.partition(" ")[0] for line in crowded_folders(ROOT, MOST_MODULES, ())}
    assert crowded == CROWDED


def test_every_member_has_its_row():
    assert members_of(ROOT) | {"__init__"} == MAY_IMPORT.keys()


def test_every_folder_of_the_benchmarks_has_its_row():
    assert members_of(TOP / "benchmarks") | {"__init__"} == BENCHMARKS.keys()


@pytest.mark.parametrize("package", WITHIN)
def test_every_folder_has_its_row(package):
    assert members_of(ROOT / package) == WITHIN[package].keys()


def test_every_import_within_a_package_is_allowed():
    assert strings(forbidden_within(ROOT, WITHIN)) == []


@pytest.mark.parametrize("table", [MAY_IMPORT, BENCHMARKS], ids=["penstock", "benchmarks"])
def test_allowed_edges_have_no_cycle_and_lead_to_members(table):
    edges = {member: {name.partition(".")[0] for name in read} for member, read in table.items()}
    order = list(TopologicalSorter(edges).static_order())
    assert set(order) == set(table)


@pytest.mark.parametrize("package", WITHIN)
def test_allowed_edges_within_have_no_cycle_but_that_of_streams(package):
    free = STREAMS if package == "api" else frozenset()
    edges = {member: read - free for member, read in WITHIN[package].items()}
    order = list(TopologicalSorter(edges).static_order())
    assert set(order) | free == WITHIN[package].keys()


@pytest.mark.parametrize("member", ["cli/doctor", "plan", "runtime"])
def test_works_without_pyspark(member):
    modules = list((ROOT / member).rglob("*.py"))
    name = f"penstock.{member.replace('/', '.')}"
    done = import_without_pyspark(*([name] if modules else []))
    assert done.stderr == ""
    assert int(done.stdout) == len(modules)


def test_pyspark_is_really_blocked():
    assert "blocked: pyspark" in import_without_pyspark("pyspark").stderr


def test_reports_an_upward_import(package):
    root = package(
        {
            "graph/node.py": "from pkg import spark, types\nimport pkg.spark.session\n",
            "spark/session/factory.py": "from pkg.graph import node\n",
        }
    )
    found = forbidden_imports(root, {"graph": {"types"}, "spark": {"graph"}}, {})
    assert strings(found) == [
        "graph/node.py:1 imports pkg.spark",
        "graph/node.py:2 imports pkg.spark.session",
    ]


def test_a_folder_of_a_member_may_be_allowed_alone(package):
    root = package(
        {"graph/node.py": "from pkg.observe.notebook import card\nimport pkg.observe.ui\n"}
    )
    found = forbidden_imports(root, {"graph": {"observe.notebook"}}, {})
    assert strings(found) == ["graph/node.py:2 imports pkg.observe.ui"]


def test_reports_an_import_within_a_package(package):
    root = package(
        {
            "plan/phases/time.py": "from pkg.plan import planner\nfrom pkg.plan.physical import Plan\n",
            "plan/planner.py": "import pkg.plan.phases.time\n",
            "plan/physical.py": "from .phases import time\n",
        }
    )
    within = {
        "plan": {"planner": {"phases"}, "phases": {"physical"}, "physical": set()},
    }
    assert strings(forbidden_within(root, within)) == [
        "plan/phases/time.py:1 imports pkg.plan.planner",
        "plan/physical.py:1 imports pkg.plan.phases.time",
    ]


def test_reports_a_crowded_folder(package):
    root = package({f"plan/phases/{number}.py": "" for number in range(3)} | {"plan/a.py": ""})
    assert crowded_folders(root, 3, ()) == []
    assert crowded_folders(root, 2, ()) == ["plan/phases has 3 modules"]
    assert crowded_folders(root, 2, {"plan/phases"}) == []


def test_reports_an_upward_import_that_is_relative(package):
    root = package({"graph/node.py": "from ..spark import session\nfrom . import edge\n"})
    found = forbidden_imports(root, {"graph": set()}, {})
    assert strings(found) == ["graph/node.py:1 imports pkg.spark.session"]


def test_reports_an_upward_import_in_a_function_or_for_types_only(package):
    root = package(
        {
            "plan/phase.py": "def f():\n    from pkg.spark import run\n",
            "plan/types.py": "if TYPE_CHECKING:\n    from pkg.spark import run\n",
        }
    )
    found = forbidden_imports(root, {"plan": set()}, {})
    assert strings(found) == [
        "plan/phase.py:2 imports pkg.spark.run",
        "plan/types.py:2 imports pkg.spark.run",
    ]


def test_reports_a_guarded_distribution(package):
    root = package(
        {
            "graph/node.py": "import pyspark.sql\nimport json\n",
            "spark/session/factory.py": "from pyspark.sql import SparkSession\n",
        }
    )
    found = forbidden_imports(root, {}, {"pyspark": {"spark"}})
    assert strings(found) == ["graph/node.py:1 imports pyspark.sql"]


def test_reports_an_import_of_what_is_beside_the_package(package):
    root = package({"cli/bench.py": "from benchmarks.catalog import PROGRAMS\n"})
    found = forbidden_imports(root, {}, dict.fromkeys(WORKSHOP, ()))
    assert strings(found) == ["cli/bench.py:1 imports benchmarks.catalog.PROGRAMS"]


def test_modules_of_an_environment_are_not_read(package):
    root = package({"a/b.py": "", "a/e/pyvenv.cfg": "", "a/e/lib/c.py": "import pkg.d\n"})
    assert strings(forbidden_imports(root, {}, {})) == []


def test_a_member_without_a_row_may_import_only_itself(package):
    root = package({"fresh.py": "import pkg.fresh\nimport pkg.errors\n"})
    assert strings(forbidden_imports(root, {}, {})) == ["fresh.py:2 imports pkg.errors"]


def test_reports_imports_in_functions_methods_and_nested_ones_once(package):
    root = package(
        {
            "a.py": "import json\nclass C:\n    def m(self):\n        def n():\n            import csv\n",
            "b.py": "async def f():\n    from x import y\n",
            "spark/c.py": "def f():\n    import json\n",
        }
    )
    assert strings(delayed_imports(root, {"spark"})) == [
        "a.py:5 imports inside a function",
        "b.py:2 imports inside a function",
    ]


def test_reports_classes_of_one_name(package):
    root = package(
        {"a.py": "class C: ...\nclass D:\n    class _E: ...\n", "b.py": "class _E: ...\n"}
    )
    assert names_of_several(root, ()) == ["_E is a.py:3 and b.py:1"]
    assert names_of_several(root, {"_E"}) == []


def test_reports_long_files_but_not_exempt_ones(package):
    root = package({"a.py": "x = 1\n" * 4, "b.py": "x = 1\n" * 3, "t/table.py": "x = 1\n" * 9})
    assert strings(long_files(root, 3, {"t/table.py"})) == ["a.py:4 has more than 3 lines"]
