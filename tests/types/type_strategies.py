"""Every type with a strategy of values in its declared form, for the laws."""

from __future__ import annotations

from datetime import UTC, date
from decimal import Decimal
from functools import partial
from typing import Any

from hypothesis import strategies as st

from penstock.testing import records_of
from penstock.types import TypeInformation
from penstock.types.row import Row, RowKind
from penstock.types.types import Types

values_of = partial(records_of, nan=False, row_kinds=tuple(RowKind))
"""Values of a type in its declared form, rows of all kinds among them; none is unequal to itself."""

_inserted = partial(records_of, nan=False)


_PAIR = Types.ROW_NAMED(["name", "size"], [Types.STRING(), Types.INT()])

BASIC: dict[str, TypeInformation] = {
    "string": Types.STRING(),
    "boolean": Types.BOOLEAN(),
    "byte": Types.BYTE(),
    "short": Types.SHORT(),
    "int": Types.INT(),
    "long": Types.LONG(),
    "float": Types.FLOAT(),
    "double": Types.DOUBLE(),
    "char": Types.CHAR(),
    "big_int": Types.BIG_INT(),
    "big_dec": Types.BIG_DEC(),
    "instant": Types.INSTANT(),
    "sql_date": Types.SQL_DATE(),
    "sql_time": Types.SQL_TIME(),
    "sql_timestamp": Types.SQL_TIMESTAMP(),
    "timestamp_ltz": Types.TIMESTAMP_LTZ(),
}

NESTED: dict[str, TypeInformation] = {
    "bytes": Types.PRIMITIVE_ARRAY(Types.BYTE()),
    "row": _PAIR,
    "tuple": Types.TUPLE([Types.LONG(), Types.TUPLE([Types.STRING()])]),
    "list": Types.LIST(Types.LONG()),
    "list_of_rows": Types.LIST(_PAIR),
    "primitive_array": Types.PRIMITIVE_ARRAY(Types.DOUBLE()),
    "basic_array": Types.BASIC_ARRAY(Types.STRING()),
    "object_array": Types.OBJECT_ARRAY(Types.INSTANT()),
    "map": Types.MAP(Types.STRING(), Types.LIST(Types.INT())),
    "map_of_instants": Types.MAP(Types.INSTANT(), _PAIR),
}

COLUMNAR = {name: (kind, _inserted(kind)) for name, kind in (BASIC | NESTED).items()}
"""Types that have a column form, each with its values."""

ALL = COLUMNAR | {
    "pickled": (
        Types.PICKLED_BYTE_ARRAY(),
        st.none() | st.lists(st.text()) | _inserted(Types.PICKLED_BYTE_ARRAY()),
    ),
}

_TEXT, _PAIRS = _inserted(Types.STRING()), _inserted(_PAIR)

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
