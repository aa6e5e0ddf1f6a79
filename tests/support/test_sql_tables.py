"""The page of the connectors of SQL is the one in the repository."""

from __future__ import annotations

from pathlib import Path

from tools.support.sql_tables import render_page

PAGE = Path(__file__).parents[2] / "docs" / "sql-tables.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == render_page(), "run make docs"
