"""The support table says what is so, and its page is the one in the repository."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tools.support.listing import ListedClass, Status, listed_classes
from tools.support.page import render_page

PAGE = Path(__file__).parents[2] / "docs" / "api-support.md"


@pytest.mark.parametrize("listed", listed_classes(), ids=lambda listed: listed.name)
def test_the_table_says_what_is_so(listed: ListedClass) -> None:
    assert listed.differences() == []


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == render_page(), "run make docs"


def test_no_class_is_listed_twice() -> None:
    names = Counter((listed.module, listed.name) for listed in listed_classes())
    assert max(names.values()) == 1


def test_a_wrong_table_is_noticed() -> None:
    works = {"get_parallelism": Status.WORKS}
    environment = ("x", "penstock.datastream", "StreamExecutionEnvironment")
    right = ListedClass(*environment, Status.WORKS, works)
    assert right.differences() == []
    for method in ({"get_parallelism": Status.ABSENT}, {"no_such_method": Status.ACCEPTED}):
        assert len(ListedClass(*environment, Status.WORKS, method).differences()) == 1
    assert ListedClass(*environment, Status.ABSENT, {}).differences() != []
    assert ListedClass("x", "penstock.datastream", "NoSuch", Status.WORKS, {}).differences() != []
