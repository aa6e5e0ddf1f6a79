"""Which lines of CSV end within a quoted value: as the standard library reads them."""

from __future__ import annotations

import csv
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.files.file_source import FileSource
from penstock.spark.sources.open_quotes import _pattern, looks_for_open_quotes

fields = st.sampled_from(
    ["", "a", '"a"', '""', '"a""b"', '"a,b"', '""""', '"a" ', 'a"b', '5"', " a", "#a"]
)
opened = st.sampled_from(['"', '"a', '"a""', '"a,b', '"""', '"a""b,"",'])


def pattern(**options: str) -> re.Pattern[str]:
    found = _pattern(FileSource.csv("in", options=options))
    assert found is not None
    return re.compile(found)


@given(st.lists(fields, max_size=4), opened)
def test_a_line_is_refused_if_its_last_value_is_open(before: list[str], last: str) -> None:
    assert pattern().search(",".join([*before, last]))
    assert not pattern().search(",".join(before))
    assert pattern(sep="|").search("|".join([*before, last]))
    assert not pattern(sep="|").search("|".join(before))


@given(st.text('a," ', max_size=12))
def test_what_is_refused_has_an_open_quote_for_the_standard_library_too(line: str) -> None:
    if pattern().search(line):
        with pytest.raises(csv.Error):
            list(csv.reader([line], strict=True))


def test_what_an_option_says_counts() -> None:
    assert pattern(escape="\\").search('1,"a\\"')
    assert not pattern(escape="\\").search('1,"a\\"b"')
    assert pattern(sep="\\t").search('1\t"a')
    assert pattern(quote="'").search("1,'a")
    assert not pattern(quote="'").search('1,"a')
    assert not pattern(comment="#").search('#1,"a')
    assert pattern(ignoreLeadingWhiteSpace="true").search('1, "a')
    assert not pattern().search('1, "a')


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "PERMISSIVE"},
        {"mode": "DROPMALFORMED"},
        {"multiLine": "true"},
        {"quote": ""},
        {"sep": "||"},
        {"encoding": "UTF-16LE"},
    ],
    ids=str,
)
def test_others_are_read_as_spark_does(options: dict[str, Any]) -> None:
    assert not looks_for_open_quotes(FileSource.csv("in", options=options))
    assert not looks_for_open_quotes(FileSource.json("in", options=options))


def test_a_long_line_needs_no_deep_stack() -> None:
    assert pattern().search('"a""",' * 100_000 + '"' + '""' * 100_000)
