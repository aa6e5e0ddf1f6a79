"""Programs of another system beside ours, as the pages about moving show them.

A pair is a heading, two blocks of Python whose titles name the systems, and a block of text: what both print.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parents[2] / "docs"
_PAIR = re.compile(
    r"^#{2,3} (?P<title>[^\n]+)\n(?:(?!^#{2,3} ).)*?"
    r'^```python title="(?P<system>[^"]+)"\n(?P<theirs>.*?)^```\n\n'
    r'```python title="Penstock"\n(?P<ours>.*?)^```\n\n</div>\n\n'
    r"```text\n(?P<shown>.*?)```\n",
    re.DOTALL | re.MULTILINE,
)


class Pair(NamedTuple):
    """Two programs with one output.

    Attributes:
        title: Heading of the page.
        theirs: The program of the other system.
        ours: The program of Penstock.
        shown: Lines of the output, in order of the alphabet.
    """

    title: str
    theirs: str
    ours: str
    shown: list[str]


def pairs(page: str, system: str) -> list[Pair]:
    """Return the pairs of a page; every titled block belongs to one.

    Args:
        page: Its path below `docs`.
        system: The other system, as titles of blocks name it.
    """
    text = (DOCS / page).read_text(encoding="utf-8")
    pairs = [
        Pair(found["title"], found["theirs"], found["ours"], sorted(found["shown"].splitlines()))
        for found in _PAIR.finditer(text)
        if found["system"] == system
    ]
    assert text.count("```python title=") == 2 * len(pairs)
    return pairs
