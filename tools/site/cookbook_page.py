"""The list of all recipes, made from the headings of their pages.

python -m tools.site.cookbook_page
"""

from __future__ import annotations

import re

from tools.site.outputs import COOKBOOK

PAGES = ("state", "time", "streams", "outside", "systems")
"""Pages of `docs/cookbook`, in order."""

MARKS = ("<!-- recipes -->\n", "<!-- /recipes -->")
_TITLE = re.compile(r"^# Recipes: (?P<title>[^\n]+)")
_RECIPE = re.compile(r"^## (?P<title>[^\n]+)", re.MULTILINE)
_NO_RECIPE = frozenset({"Guarantees"})


def recipes() -> dict[str, list[str]]:
    """Return the titles of the recipes of each page."""
    return {
        page: [
            match["title"]
            for match in _RECIPE.finditer(_text(page))
            if match["title"] not in _NO_RECIPE
        ]
        for page in PAGES
    }


def render_recipes() -> str:
    """Return a list of links, a paragraph per page."""
    lines = []
    for page, titles in recipes().items():
        heading = _TITLE.match(_text(page))
        assert heading is not None, f"cookbook/{page}.md begins with its title"
        lines += [f"{heading['title'].capitalize()}:", ""]
        lines += [f"* [{title}](cookbook/{page}.md#{anchor(title)})" for title in titles]
        lines.append("")
    return "\n".join(lines)


def _text(page: str) -> str:
    return (COOKBOOK / f"{page}.md").read_text(encoding="utf-8")


def anchor(title: str) -> str:
    """Return the anchor of a heading, as the site and the forges make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def with_recipes(text: str) -> str:
    """Return the page of the cookbook with the list between its marks."""
    before, _, rest = text.partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    return f"{before}{MARKS[0]}{render_recipes()}{MARKS[1]}{after}"


def main() -> None:
    """Write the list into the page."""
    page = COOKBOOK.with_suffix(".md")
    page.write_text(with_recipes(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
