"""Every type with a strategy of values in its declared form, for the laws."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from penstock.types.information import RowTypeInfo, TypeInformation
from penstock.types.row import Row, row_factory
from penstock.types.time import Instant
from penstock.types.types import Types


def _integers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_SINGLES = st.floats(width=32, allow_nan=False)
_DECIMALS = st.decimals(-(10**19), 10**19, allow_nan=False, places=6)
_LTZ = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001
_INSTANTS = st.builds(
    Instant,
    st.integers(-62_000_000_000, 250_000_000_000),
    st.integers(0, 999_999).map(lambda micros: micros * 1000),
)

BASIC: dict[str, tuple[TypeInformation, st.SearchStrategy[Any]]] = {
    "string": (Types.STRING(), _TEXT),
    "boolean": (Types.BOOLEAN(), st.booleans()),
    "byte": (Types.BYTE(), _integers(8)),
    "short": (Types.SHORT(), _integers(16)),
    "int": (Types.INT(), _integers(32)),
    "long": (Types.LONG(), _integers(64)),
    "float": (Types.FLOAT(), _SINGLES),
    "double": (Types.DOUBLE(), st.floats(allow_nan=False)),
    "char": (Types.CHAR(), st.characters(exclude_categories=["Cs"])),
    "big_int": (Types.BIG_INT(), st.integers(-(10**38) + 1, 10**38 - 1)),
    "big_dec": (Types.BIG_DEC(), _DECIMALS),
    "instant": (Types.INSTANT(), _INSTANTS),
    "sql_date": (Types.SQL_DATE(), st.dates()),
    "sql_time": (Types.SQL_TIME(), st.times()),
    "sql_timestamp": (Types.SQL_TIMESTAMP(), st.datetimes()),
    "timestamp_ltz": (Types.TIMESTAMP_LTZ(), _LTZ),
    "bytes": (Types.PRIMITIVE_ARRAY(Types.BYTE()), st.binary(max_size=8)),
}


def rows(type_info: RowTypeInfo, *fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Row]:
    nullable = [st.none() | field for field in fields]
    return st.tuples(*nullable).map(
        lambda values: row_factory(type_info.field_names)([list(values)])[0]
    )


_PAIR = Types.ROW_NAMED(["name", "size"], [Types.STRING(), Types.INT()])
_PAIRS = rows(_PAIR, _TEXT, _integers(32))

NESTED: dict[str, tuple[TypeInformation, st.SearchStrategy[Any]]] = {
    "row": (_PAIR, _PAIRS),
    "tuple": (
        Types.TUPLE([Types.LONG(), Types.TUPLE([Types.STRING()])]),
        st.tuples(_integers(64), st.tuples(_TEXT)),
    ),
    "list": (Types.LIST(Types.LONG()), st.lists(st.none() | _integers(64), max_size=3)),
    "list_of_rows": (Types.LIST(_PAIR), st.lists(st.none() | _PAIRS, max_size=3)),
    "primitive_array": (
        Types.PRIMITIVE_ARRAY(Types.DOUBLE()),
        st.lists(st.floats(allow_nan=False), max_size=3),
    ),
    "basic_array": (
        Types.BASIC_ARRAY(Types.STRING()),
        st.lists(st.none() | _TEXT, max_size=3),
    ),
    "object_array": (
        Types.OBJECT_ARRAY(Types.INSTANT()),
        st.lists(st.none() | _INSTANTS, max_size=3),
    ),
    "map": (
        Types.MAP(Types.STRING(), Types.LIST(Types.INT())),
        st.dictionaries(_TEXT, st.none() | st.lists(_integers(32), max_size=3), max_size=3),
    ),
    "map_of_instants": (
        Types.MAP(Types.INSTANT(), _PAIR),
        st.dictionaries(_INSTANTS, st.none() | _PAIRS, max_size=3),
    ),
}

COLUMNAR = BASIC | NESTED
"""Types that have a column form."""

ALL = COLUMNAR | {
    "pickled": (Types.PICKLED_BYTE_ARRAY(), st.none() | st.integers() | st.lists(_TEXT)),
}

CLASSES: tuple[st.SearchStrategy[Any], ...] = (
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    _TEXT,
    st.binary(max_size=4),
    st.just(Decimal("1.5")),
    st.just(date(2020, 1, 2)),
    st.datetimes(),
    st.datetimes(timezones=st.just(UTC)),
    st.lists(st.integers(), max_size=3),
    st.tuples(_TEXT, st.integers()),
    _PAIRS,
    _PAIRS.map(Row.as_dict),
    st.builds(Row, _TEXT, st.integers()),
)
"""Values of one class each; most types refuse most of them."""

ANYTHING: st.SearchStrategy[Any] = st.one_of(*CLASSES)
"""Values of many classes."""
