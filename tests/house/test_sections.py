"""Docstrings of the public API have sections; those of the house are sentences."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

from tests.docs.public_api import classes_of, public_objects
from tools.public_api import public_modules

ROOT = Path(__file__).parents[2] / "src"
PUBLIC = ("penstock.api.", "penstock.common.", "penstock.datastream.")
"""Packages for programs."""
FOR_PROGRAMS = frozenset({"penstock.observe.reporters.otel", "penstock.sql.udf"})
"""Modules from which pages import names."""
SECTION = re.compile(r"^\s*(Args|Raises|Returns|Yields):\s*$", re.MULTILINE)


def sections(module: str, source: str, public: frozenset[str]) -> Iterator[str]:
    """Yield the functions and classes whose docstrings have sections, but for public ones and their members."""
    todo: list[tuple[str, ast.AST, bool]] = [(module, ast.parse(source), False)]
    while todo:
        name, node, is_public = todo.pop()
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                todo.append((name, child, is_public))
                continue
            inner = f"{name}.{child.name}"
            is_inner_public = inner in public or (
                is_public and (not child.name.startswith("_") or child.name.endswith("__"))
            )
            if not is_inner_public and SECTION.search(ast.get_docstring(child) or ""):
                yield inner
            todo.append((inner, child, is_inner_public))


def public_names_of_the_house() -> frozenset[str]:
    """Return the dotted names of the classes and functions that pages and releases list, where they are defined."""
    modules = [importlib.import_module(name) for name in public_modules()]
    listed = [getattr(module, name) for module in modules for name in module.__all__]
    objects = public_objects()
    return frozenset(objects) | {
        f"{value.__module__}.{value.__qualname__}"
        for value in (*classes_of(objects), *listed)
        if hasattr(value, "__qualname__")
    }


def test_only_public_docstrings_have_sections() -> None:
    names = public_names_of_the_house()
    found: list[str] = []
    for path in sorted(ROOT.rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if not module.startswith(PUBLIC) and module not in FOR_PROGRAMS:
            found += sections(module, path.read_text(), names)
    assert found == []


def test_sections_of_the_house_are_found() -> None:
    source = '''
class Open:
    def read(self):
        """Read.

        Returns:
            Rows.
        """

    def _read(self):
        """Read.

        Raises:
            OSError: It failed.
        """


def write():
    """Write.

    Args:
        rows: Rows.
    """
'''
    assert set(sections("rows", source, frozenset({"rows.Open"}))) == {
        "rows.Open._read",
        "rows.write",
    }
