"""Patterns that mean the same in Python and in Java are told from those that may not.

Spark SQL and Python are compared in `tests/spark/test_whole_queries.py`. Finds here: a construct that is let through, a group that takes no part in a match.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.expressions.facts import groups_of_plain


@pytest.mark.parametrize(
    ("pattern", "groups"),
    [
        ("(&|^)channel_id=([^&]*)", 2),
        ("a+", 0),
        (r"a\.b\[", 0),
        ("[a-z0-9_]?", 0),
        ("[&x&]", 0),
        ("^(a|b+)(c)", 2),
    ],
)
def test_plain_patterns_have_their_groups(pattern: str, groups: int) -> None:
    assert groups_of_plain(pattern) == groups


@pytest.mark.parametrize(
    "pattern",
    [
        "", ".", "a$", "a|b", r"\d", r"\w", r"\b", r"\1", r"[\d]", "(a)*", "(a)?", "(a(b))", "(?:a)", "(?i)a", "(?=a)", "(|a)", "(a|)", "()",
        "a**", "a*?", "a*+", "a{2}", "^*", "[^&&x]", "[z-a]", "[a-Z]", "[[a]", "[a&&[b]]", "[]", "[^]", "é", "[é]", "a(", "*",
    ],
)  # fmt: skip
def test_what_may_mean_something_else_is_not_plain(pattern: str) -> None:
    assert groups_of_plain(pattern) is None


@given(st.text("ab&^|=()[]*+?.-09", max_size=12), st.text("ab&=-09.", max_size=12))
def test_every_group_of_a_plain_pattern_takes_part_in_every_match(pattern: str, text: str) -> None:
    groups = groups_of_plain(pattern)
    if groups is None:
        return
    found = re.search(pattern, text)
    assert found is None or (len(found.groups()) == groups and None not in found.groups())


def test_python_makes_one_character_beside_a_to_z_ascii_in_lower() -> None:
    outside = (chr(at) for at in range(0x80, 0x110000))
    assert [each for each in outside if any(map(str.isascii, each.lower()))] == [
        "\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}",  # with a combining dot, which is not ASCII
        "\N{KELVIN SIGN}",
    ]
