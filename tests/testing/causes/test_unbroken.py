"""No program of examples or cookbook is accused; late records are all that may change an answer of theirs."""

from __future__ import annotations

import pytest

from penstock.datastream import StreamExecutionEnvironment
from penstock.testing.causes import find_causes
from tests.testing.causes.programs import (
    accused,
    graph_of_example,
    graph_of_text,
    possible,
    recipes,
)
from tools.site.example_tables import EXAMPLES

RECIPES = dict(recipes())


@pytest.mark.parametrize("title", RECIPES)
def test_no_recipe_is_accused(title):
    causes = find_causes(graph_of_text(RECIPES[title], f"/recipes/{title}.py"))
    assert accused(causes) == set()
    assert possible(causes) <= {"LATE_RECORDS"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_example_is_accused(name):
    causes = find_causes(graph_of_example(name))
    assert accused(causes) == set()
    assert possible(causes) <= {"LATE_RECORDS"}


def test_the_demo_is_not_accused(tmp_path):
    from examples.demo.job import DEPARTURE, build
    from penstock.datastream.connectors import CollectionSource

    env = StreamExecutionEnvironment.get_execution_environment()
    build(env, CollectionSource.of([], DEPARTURE), tmp_path)
    assert find_causes(env.plan().graph) == ()


def test_there_are_recipes():
    assert len(RECIPES) > 20
