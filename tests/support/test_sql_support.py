"""The tables of docs/sql.md say what the translator of queries does."""

from __future__ import annotations

from tools.support.sql_support import PAGE, support_of, with_tables


def test_the_tables_are_current() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_tables(page), "run make docs"


def test_an_error_is_told_as_it_is() -> None:
    assert support_of("SELECT n FROM a ORDER BY n").startswith("**no** | ORDER BY without LIMIT")
    assert support_of("SELECT n FROM a") == "insert-only | nothing"
