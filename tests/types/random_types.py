"""Types of any depth, and values of each in its declared form, for the laws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from penstock.types.information import (
    BasicArrayTypeInfo,
    BasicTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from penstock.types.row import Row, RowKind, row_factory
from penstock.types.types import Types
from tests.types.type_strategies import BASIC

_FORMS = dict(BASIC.values())
BASIC_TYPES = [type_info for type_info in _FORMS if isinstance(type_info, BasicTypeInfo)]
_NAMES = st.lists(st.text("abcd", min_size=1, max_size=2), min_size=1, max_size=3, unique=True)
_PRIMITIVES = [t for t in BASIC_TYPES if repr(t) in (PrimitiveArrayTypeInfo.allowed_elements or ())]

_LEAVES: st.SearchStrategy[TypeInformation] = st.one_of(
    st.sampled_from(BASIC_TYPES),
    st.sampled_from(BASIC_TYPES),
    st.just(Types.PICKLED_BYTE_ARRAY()),
    st.sampled_from(_PRIMITIVES).map(Types.PRIMITIVE_ARRAY),
    st.sampled_from([*_PRIMITIVES, Types.STRING()]).map(Types.BASIC_ARRAY),
)
_KEYS: st.SearchStrategy[TypeInformation] = st.one_of(
    st.sampled_from(BASIC_TYPES),
    st.just(Types.PRIMITIVE_ARRAY(Types.BYTE())),
    st.lists(st.sampled_from(BASIC_TYPES), min_size=1, max_size=2).map(Types.TUPLE),
    st.lists(st.sampled_from(BASIC_TYPES), min_size=1, max_size=2).map(Types.ROW),
)


@st.composite
def _named_rows(draw: st.DrawFn, fields: st.SearchStrategy[TypeInformation]) -> RowTypeInfo:
    names = draw(_NAMES)
    return Types.ROW_NAMED(names, [draw(fields) for _ in names])


def _with_parts(parts: st.SearchStrategy[TypeInformation]) -> st.SearchStrategy[TypeInformation]:
    several = st.lists(parts, min_size=1, max_size=3)
    return st.one_of(
        _named_rows(parts),
        _named_rows(parts),
        several.map(Types.ROW),
        several.map(Types.TUPLE),
        # `parts.map` would count as many choices as `parts` has, and crowd out all others.
        st.builds(Types.LIST, parts),
        st.builds(Types.OBJECT_ARRAY, parts),
        st.builds(Types.MAP, _KEYS, parts),
    )


_FLAT = _LEAVES | _with_parts(_LEAVES)
TYPES: st.SearchStrategy[TypeInformation] = st.one_of(
    _LEAVES, _with_parts(_FLAT), _with_parts(_with_parts(_FLAT))
)
"""Every type there is, and every nesting of them down to four levels."""


@st.composite
def _rows(draw: st.DrawFn, row_type: RowTypeInfo) -> Row:
    values = [draw(st.none() | values_of(field)) for field in row_type.field_types]
    (row,) = row_factory(row_type.field_names)([values])
    if draw(st.integers(0, 3)) == 0:
        row.set_row_kind(draw(st.sampled_from(RowKind)))
    return row


def _tuples(tuple_type: TupleTypeInfo) -> st.SearchStrategy[Any]:
    return st.tuples(*map(values_of, tuple_type.field_types))


def _lists(sequence: Any) -> st.SearchStrategy[Any]:
    return st.lists(st.none() | values_of(sequence.element_type), max_size=3)


def _primitives(array: PrimitiveArrayTypeInfo) -> st.SearchStrategy[Any]:
    return _FORMS[array] if array.is_bytes else st.lists(_FORMS[array.element_type], max_size=3)


def _maps(map_type: MapTypeInfo) -> st.SearchStrategy[Any]:
    values = st.none() | values_of(map_type.value_type)
    return st.dictionaries(values_of(map_type.key_type), values, max_size=3)


_VALUES: dict[type, Callable[[Any], st.SearchStrategy[Any]]] = {
    BasicTypeInfo: lambda basic: _FORMS[basic],
    PickledBytesTypeInfo: lambda _: st.integers() | st.builds(Row, st.integers()),
    RowTypeInfo: _rows,
    TupleTypeInfo: _tuples,
    ListTypeInfo: _lists,
    ObjectArrayTypeInfo: _lists,
    BasicArrayTypeInfo: _lists,
    PrimitiveArrayTypeInfo: _primitives,
    MapTypeInfo: _maps,
}


def values_of(type_info: TypeInformation) -> st.SearchStrategy[Any]:
    """Return values of a type in its declared form, rows of all kinds among them."""
    return _VALUES[type(type_info)](type_info)


def exact(value: Any) -> Any:
    """Return a value that is equal only for values of the same classes, kinds and names."""
    if isinstance(value, Row):
        return Row, value.get_row_kind(), _names(value), exact(list(value))
    if isinstance(value, dict):
        return dict, [(exact(key), exact(item)) for key, item in value.items()]
    if isinstance(value, (tuple, list)):
        return type(value), [exact(item) for item in value]
    return type(value), repr(value)


def _names(row: Row) -> list[str] | None:
    return list(row.as_dict()) if repr(row).startswith("Row") else None
