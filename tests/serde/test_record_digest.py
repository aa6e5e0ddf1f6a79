"""Digests of records: the law (same content, same digest), and golden digests that stay for ever."""

from __future__ import annotations

import datetime as dt
import enum
import pickle
import subprocess
import sys
import uuid
from collections import OrderedDict
from dataclasses import dataclass
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import KeyTypeError
from penstock.testing import same_answer
from penstock.types import Row, RowKind
from penstock.wire.canonical.record_digest import DIGEST_BYTES, record_digest

leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=4),
    st.binary(max_size=4),
    st.sampled_from(["|", "1|", "('a',)", "[1]"]),
    st.decimals(allow_nan=False, allow_infinity=False, places=2),
    st.dates(),
)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=2), inner, max_size=3),
        st.lists(inner, max_size=3).map(lambda found: Row(*found)),
    ),
    max_leaves=6,
)
rows = st.one_of(
    st.lists(values, max_size=4).map(lambda found: Row(*found)),
    st.dictionaries(st.sampled_from("abc"), values, min_size=1).map(lambda found: Row(**found)),
)
records = st.one_of(rows, values)


@given(records, records)
def test_digests_are_equal_exactly_if_contents_are(one, other):
    assert (record_digest(one) == record_digest(other)) is same_answer([one], [other])


@given(records)
def test_a_copy_has_the_same_digest(record):
    assert record_digest(pickle.loads(pickle.dumps(record))) == record_digest(record)


def test_the_kind_of_the_row_itself_does_not_count_but_that_of_a_row_in_it_does():
    deleted = Row.of_kind(RowKind.DELETE, 1)
    assert record_digest(deleted) == record_digest(Row(1))
    assert record_digest(Row(deleted)) != record_digest(Row(Row(1)))


@dataclass
class Point:
    x: int
    tags: list[str]


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Text(str):
    __slots__ = ()


UNEQUAL = [
    1,
    1.0,
    True,
    "1",
    b"1",
    bytearray(b"1"),
    None,
    Text("1"),
    (1,),
    [1],
    {1},
    frozenset({1}),
    {1: 1},
    OrderedDict({1: 1}),
    Decimal(1),
    Decimal("1.0"),
    float("nan"),
    0.0,
    -0.0,
    10**5000,
    Row(1),
    Row(a=1),
    Row(b=1),
    Row(a=1, b=2),
    Row(b=2, a=1),
    Row("ab", "c"),
    Row("a", "bc"),
    Row("abc"),
    Row(1, "a"),
    Row("a", 1),
    Point(1, ["a"]),
    Point(1, ["b"]),
    Colour.RED,
    Colour.BLUE,
    dt.date(2024, 1, 1),
    dt.datetime(2024, 1, 1),  # noqa: DTZ001
    dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
    dt.time(1),
    dt.timedelta(1),
    uuid.UUID(int=1),
]


def test_different_contents_have_different_digests():
    digests = {record_digest(value) for value in UNEQUAL}
    assert len(digests) == len(UNEQUAL)
    assert {len(digest) for digest in digests} == {DIGEST_BYTES}


def test_nan_is_the_same_as_any_other_nan():
    assert record_digest(float("nan")) == record_digest(-float("nan"))


def test_the_order_of_a_dict_does_not_count():
    assert record_digest({"a": 1, "b": 2}) == record_digest({"b": 2, "a": 1})


@pytest.mark.parametrize("record", [object(), Row(1, object()), [print], Row(Point)])
def test_what_has_no_content_is_refused(record):
    with pytest.raises(KeyTypeError, match="cannot be compared"):
        record_digest(record)


GOLDEN = {
    "row": (Row(a="xy", b=7), "07309fe55a85ba4b55f29a78"),
    "unnamed": (Row("é", None, 1.5, False), "d4654fe02a4b361f14a205ea"),
    "nested": (Row(Row(k="v"), [1, (2,)], {"z": b"\x00"}), "1a57cd4e961735d1fff6a340"),
    "tuple": (("xy", 7), "f91f3b1b940905e6f3988491"),
}
"""Only ever added to: state holds such digests."""


@pytest.mark.parametrize(("record", "digest"), GOLDEN.values(), ids=GOLDEN)
def test_golden_digests(record, digest):
    assert record_digest(record).hex() == digest


def test_another_process_has_the_same_digests():
    program = "from penstock.wire.canonical.record_digest import *; print(record_digest({'a', 'b'}).hex())"
    out = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert out == {record_digest({"a", "b"}).hex() + "\n"}
