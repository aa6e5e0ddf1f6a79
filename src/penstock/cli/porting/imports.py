"""The modules of PyFlink that a program names, its text with ours in their place, and remarks on lines.

Only the name of the package is replaced, so the rest of the text stays as it is, byte for byte: comments, quotes, line
ends. An import whose module is not here stays too, and is a remark.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate


class Weight(Enum):
    """Weight of a remark for the person who ports the program."""

    BY_HAND = "by hand"
    """The program fails until somebody changes this line."""

    DIFFERS = "differs"
    """It runs, and may answer or behave otherwise than with PyFlink."""

    NO_EFFECT = "no effect"
    """It is accepted, and changes nothing."""


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing to know about a line.

    Attributes:
        line: Its number.
        weight: What it asks for.
        text: What is so, and what to do.
    """

    line: int
    weight: Weight
    text: str


THEIRS, OURS = "pyflink", "penstock"
_FROM = re.compile(rf"from(?:[ \t]|\\\r?\n)+({THEIRS})\b")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$")
"""A line as the parser counts them: a form feed ends none."""

INSTEAD = {
    "pyflink.table": "There is no Table API. Statements of SQL go to env.sql and env.execute_sql, see docs/sql.md; tables are Spark's DataFrames.",
    "pyflink.java_gateway": "There is no Java behind a program.",
    "pyflink.util": "It helps PyFlink to call Java, which is not needed here.",
    "pyflink.testing": "penstock.testing runs programs in the process of a test.",
}
"""Module that has no counterpart, to what to do."""


@dataclass(frozen=True, slots=True)
class ModuleName:
    """Place of a name of a PyFlink module in the text.

    Attributes:
        start: Position of its first character.
        module: The module that is meant, with PyFlink's name. Of an expression the first two parts.
        line: Its line.
    """

    start: int
    module: str
    line: int


def places(tree: ast.Module, text: str) -> list[ModuleName]:
    """Return the places, in order."""
    lines = _LINE.findall(text)
    starts = [0, *accumulate(map(len, lines))]

    def position(node: ast.expr | ast.stmt | ast.alias) -> int:
        before = lines[node.lineno - 1].encode()[: node.col_offset]  # the parser counts bytes
        return starts[node.lineno - 1] + len(before.decode())

    def found() -> Iterator[ModuleName]:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in filter(_is_theirs, node.names):
                    yield ModuleName(position(alias), alias.name, alias.lineno)
            elif isinstance(node, ast.ImportFrom) and _of_theirs(node):
                match = _FROM.match(text, position(node))
                if match is not None:
                    yield ModuleName(match.start(1), str(node.module), node.lineno)
            elif isinstance(node, ast.Attribute) and _is_package(node.value):
                yield ModuleName(position(node), f"{THEIRS}.{node.attr}", node.lineno)

    return sorted(found(), key=lambda place: place.start)


def replaced(text: str, where: list[ModuleName]) -> str:
    """Return the text with our package in the places whose module is here."""
    parts, end = [], 0
    for place in where:
        if is_here(place.module):
            parts += [text[end : place.start], OURS]
            end = place.start + len(THEIRS)
    return "".join([*parts, text[end:]])


def missing_modules(where: list[ModuleName]) -> Iterator[Remark]:
    """Yield the imports of modules that are not here."""
    for place in where:
        if not is_here(place.module):
            package = next((each for each in INSTEAD if _is_within(place.module, each)), "")
            fix = INSTEAD.get(package, "See docs/api-support.md for what exists.")
            yield Remark(place.line, Weight.BY_HAND, f"{place.module} is not here. {fix}")


def is_here(module: str) -> bool:
    """Return whether our package has a module."""
    try:
        return find_spec(ours(module)) is not None
    except ModuleNotFoundError:
        return False


def ours(module: str) -> str:
    """Return the name of a module here.

    Examples:
        >>> ours("pyflink.datastream.window")
        'penstock.datastream.window'
    """
    return OURS + module.removeprefix(THEIRS)


def imported_names(tree: ast.Module) -> Iterator[tuple[ast.ImportFrom, ast.alias]]:
    """Yield what is imported from PyFlink's modules that are here."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and _of_theirs(node) and is_here(str(node.module)):
            for alias in node.names:
                if alias.name != "*" and not is_here(f"{node.module}.{alias.name}"):
                    yield node, alias


def value_of(module: str, name: str) -> object:
    """Return what a name of one of PyFlink's modules is here.

    Raises:
        AttributeError: It is not here.
        PenstockError: It is for Java alone; the error says what to use.
    """
    return getattr(import_module(ours(module)), name)


def _is_package(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == THEIRS


def _is_theirs(alias: ast.alias) -> bool:
    return _is_within(alias.name, THEIRS)


def _of_theirs(node: ast.ImportFrom) -> bool:
    return node.level == 0 and _is_within(node.module or "", THEIRS)


def _is_within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")
