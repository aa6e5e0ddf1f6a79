"""The programs of the cookbook print on Spark what their pages show, but for the order of lines."""

from __future__ import annotations

import re

import pytest
from pyspark.sql import SparkSession

from tests.docs.test_cookbook import RECIPES, Recipe

SUBTASK = re.compile(r"^(?:(\w+):)?\d+> ")
"""What `print` puts before a line: the number of the subtask, or the identifier and the number."""


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.title)
def test_a_program_prints_the_same_on_spark(
    recipe: Recipe, session: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    # As a script: what it defines is sent to workers by value.
    exec(compile(recipe.program, recipe.page, "exec"), {"__name__": "__main__"})  # noqa: S102
    printed = [
        SUBTASK.sub(lambda found: f"{found[1]}> " if found[1] else "", line)
        for line in capsys.readouterr().out.splitlines()
    ]
    assert sorted(printed) == sorted(recipe.shown.splitlines())
