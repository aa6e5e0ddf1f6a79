"""Every example in a docstring runs and gives what it shows, in this process and without Spark."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path
from typing import Any

import pytest

import penstock
from penstock import datastream

ROOT = Path(penstock.__file__).parent


def modules_with_examples() -> list[str]:
    paths = [path for path in sorted(ROOT.rglob("*.py")) if ">>> " in path.read_text("utf-8")]
    dotted = (".".join(path.relative_to(ROOT.parent).with_suffix("").parts) for path in paths)
    return [name.removesuffix(".__init__") for name in dotted]


def namespace_of(module: Any) -> dict[str, Any]:
    """Return the names of a module, and over them what the docstring of `datastream` defines."""
    names = dict(vars(module))
    for example in doctest.DocTestParser().get_examples(datastream.__doc__):
        exec(example.source, names)  # noqa: S102 - our own documentation
    return names


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_of(name: str) -> None:
    module = importlib.import_module(name)
    wrong: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        test.globs = namespace_of(module)  # a new environment for each docstring
        runner.run(test, out=wrong.append)
    assert not wrong, "".join(wrong)


def test_examples_are_found_where_programs_look() -> None:
    assert {
        "penstock.api.streams.keyed_stream",
        "penstock.datastream",
        "penstock.testing.harness",
    } <= set(modules_with_examples())
