"""Types of any depth, for the laws."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from penstock.types import PrimitiveArrayTypeInfo, RowTypeInfo, TypeInformation
from penstock.types.row import Row
from penstock.types.types import Types
from tests.types.type_strategies import BASIC

BASIC_TYPES = list(BASIC.values())
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
