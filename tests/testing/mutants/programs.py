"""The programs of examples and cookbook as texts, and the graphs of their mutants."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from examples.results import written
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DiscardingSink
from penstock.graph.logical import LogicalGraph
from tests.testing.causes.programs import graph_of_text, recipes
from tests.testing.mutants.transformations import TRANSFORMATIONS, Transformation, mutant
from tools.site.example_tables import EXAMPLES

ROOT = Path(__file__).parents[3]
ELSEWHERE = "systems: "
"""Recipes between systems, whose inputs are not in this process."""


class Mutant(NamedTuple):
    """A program with one place changed."""

    program: str
    transformation: Transformation
    text: str


def programs() -> dict[str, str]:
    """Return title to text of the programs whose inputs are in this process."""
    found = {title: text for title, text in recipes() if not title.startswith(ELSEWHERE)}
    for name in EXAMPLES:
        path = ROOT / "examples" / f"{name.replace('.', '/')}.py"
        found[f"examples: {name}"] = path.read_text(encoding="utf-8")
    return found


def mutants() -> list[Mutant]:
    """Return all mutants: each transformation of each program in which it has a place."""
    made = (
        (title, transformation, mutant(text, transformation))
        for title, text in programs().items()
        for transformation in TRANSFORMATIONS
    )
    return [Mutant(title, change, text) for title, change, text in made if text is not None]


def graph_of(title: str, text: str, monkeypatch: pytest.MonkeyPatch) -> LogicalGraph:
    """Return the graph of a program or of a mutant."""
    name = f"/mutants/{title}.py"
    if not title.startswith("examples: "):
        return graph_of_text(text, name)
    module = ModuleType("mutant")
    module.__file__ = str(
        ROOT / "examples" / f"{title.removeprefix('examples: ').replace('.', '/')}.py"
    )
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    monkeypatch.setitem(sys.modules, "mutant", module)
    exec(compile(text, name, "exec"), vars(module))  # noqa: S102 - our own documentation
    env = StreamExecutionEnvironment.get_execution_environment()
    for result_name, result in module.build(env).items():
        written(result_name, result, DiscardingSink())
    return env.plan().graph
