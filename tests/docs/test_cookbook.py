"""The programs of the cookbook print what its pages show, and the list has all of them."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tools.site.cookbook_page import recipes, with_recipes
from tools.site.outputs import COOKBOOK, PAGES, RECIPE, printed


class Recipe(NamedTuple):
    """A program and what its page says that it prints."""

    page: str
    title: str
    program: str
    shown: str


RECIPES = [
    Recipe(page.name, found["title"], found["program"], found["shown"])
    for page in PAGES
    for found in RECIPE.finditer(page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.title)
def test_a_program_prints_what_is_shown(recipe: Recipe) -> None:
    output = printed(recipe.program, recipe.page)
    assert output, "a recipe prints something"
    assert output == recipe.shown, "run python -m tools.site.outputs"


def test_every_program_is_followed_by_its_output() -> None:
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    assert sum(text.count("```python") for text in texts) == len(RECIPES)
    assert len(RECIPES) > len(PAGES)


def test_the_list_has_every_recipe() -> None:
    page = COOKBOOK.with_suffix(".md").read_text(encoding="utf-8")
    assert page == with_recipes(page), "run python -m tools.site.cookbook_page"
    assert sum(map(len, recipes().values())) >= 25
    assert set(recipes()) == {path.stem for path in COOKBOOK.glob("*.md")}


def test_what_a_program_with_several_sinks_prints() -> None:
    program = (
        "from penstock.datastream import StreamExecutionEnvironment\n"
        "env = StreamExecutionEnvironment.get_execution_environment()\n"
        "numbers = env.from_collection([1, 2])\n"
        "numbers.print('n')\n"
        "numbers.map(str).print()\n"
        "env.execute()\n"
    )
    assert printed(program, "page") == "n> 1\nn> 2\n1\n2\n"
