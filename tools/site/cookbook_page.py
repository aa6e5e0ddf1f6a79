"""The list of all recipes, made from the headings of their pages.

python -m tools.site.cookbook_page
"""

from __future__ import annotations

import re

from tools.site.outputs import COOKBOOK

PAGES = ("state", "time", "streams", "outside", "systems")
"""Pages of `docs/cookbook`, in order."""

MARKS = ("<!-- recipes -->\n", "<!-- /recipes -->")
_RECIPE = re.compile(r"^## (?P<title>[^\n]+)\n\n(?P<first>(?:[^\n]+\n)+)", re.MULTILINE)
_NO_RECIPE = frozenset({"What is guaranteed"})


def recipes() -> dict[str, list[tuple[str, str]]]:
    """Return the recipes of each page: their titles, and their first sentences."""
    found = {}
    for page in PAGES:
        text = (COOKBOOK / f"{page}.md").read_text(encoding="utf-8")
        found[page] = [
            (each["title"], sentence(each["first"]))
            for each in _RECIPE.finditer(text)
            if each["title"] not in _NO_RECIPE
        ]
    return found


def sentence(text: str) -> str:
    """Return the first sentence of a paragraph.

    Examples:
        >>> sentence("A window is written. Then it is gone.")
        'A window is written.'
    """
    return re.split(r"(?<=[.?]) ", " ".join(text.split()), maxsplit=1)[0]


def render_recipes() -> str:
    """Return a table of links."""
    rows = ["| Recipe | |", "|---|---|"]
    for page, found in recipes().items():
        rows += [
            f"| [{title}](cookbook/{page}.md#{anchor(title)}) | {first} |" for title, first in found
        ]
    return "\n".join(rows) + "\n"


def anchor(title: str) -> str:
    """Return the anchor of a heading, as the site and the forges make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def with_recipes(text: str) -> str:
    """Return the page of the cookbook with the table between its marks."""
    before, _, rest = text.partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    return f"{before}{MARKS[0]}{render_recipes()}{MARKS[1]}{after}"


def main() -> None:
    """Write the table into the page."""
    page = COOKBOOK.with_suffix(".md")
    page.write_text(with_recipes(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
