"""Regular expressions that Java reads otherwise than Python are errors, and no warning of Python is lost."""

from __future__ import annotations

import warnings

import pytest

from penstock.errors import ExpressionError
from penstock.expressions.python.texts import matches


@pytest.mark.parametrize(
    "pattern", ["[[a]", "[a[b]]", "[^[a]b]", "[]a[b]]", "[a-c&&[^b]]", "x[a&&b]"]
)
def test_sets_in_sets_are_javas(pattern: str) -> None:
    with pytest.raises(ExpressionError, match="a set in a set, which only Java has"):
        matches("a", pattern)


@pytest.mark.parametrize(
    ("text", "pattern"),
    [("[", r"[\[]"), ("a[b", r"\[b"), ("&&", "&&"), ("]", "[]]"), ("[", r"\\?\["), ("a", "[^]]")],
)
def test_other_sets_match(text: str, pattern: str) -> None:
    assert matches(text, pattern)


def test_settings_of_warnings_are_left_alone() -> None:
    before = list(warnings.filters)
    assert not matches("b", "[a]{2}")
    assert warnings.filters == before
