"""Every Python block of the documentation runs."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
RUN_ELSEWHERE = (
    "README.md",
    "docs/connectors/kafka.md",
    "docs/connectors/postgres.md",
    "docs/connectors/redis.md",
    "docs/cookbook/",
    "docs/index.md",
    "docs/start/",
)
"""Pages that show programs of others (`test_site.py`), whose outputs are compared (`test_cookbook.py`), and those
whose programs need Spark, which `tests/spark/test_readme.py` and `test_cookbook.py` run, or a server, which
`tests/connectors` has."""


def blocks() -> list[tuple[str, str]]:
    return [
        (page.name, block)
        for page in PAGES
        if not page.relative_to(ROOT).as_posix().startswith(RUN_ELSEWHERE)
        for block in _BLOCK.findall(page.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize(("page", "block"), blocks(), ids=[name for name, _ in blocks()])
def test_a_block_runs(page: str, block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # A module that can be found: dataclasses look up the names in their annotations there.
    module = ModuleType(page.replace(".", "_"))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    before = len(vars(module))
    exec(compile(block, page, "exec"), vars(module))  # noqa: S102 - our own documentation
    assert len(vars(module)) > before + 1


def test_there_are_blocks_to_run() -> None:
    assert {name for name, _ in blocks()} >= {"values.md", "configuration.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    links = _LINK.findall(page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
