"""Plain values: laws of the round trip, then what the stored form looks like."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import DecodeError
from penstock.state.schema.stored_form import PlainCodec, plain_codec
from penstock.types.base import TypeInformation
from penstock.types.row import Row, RowKind
from penstock.types.types import Types
from tests.types.random_types import TYPES, exact
from tests.types.type_strategies import values_of

_USER = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
_NESTED = Types.ROW_NAMED(["user", "by"], [_USER, Types.MAP(_USER, Types.LIST(_USER))])


def _codec(type_info: TypeInformation) -> PlainCodec:
    codec = plain_codec(type_info)
    assert codec is not None
    return codec


def _user(name: str, kind: RowKind = RowKind.INSERT) -> Row:
    return Row.of_kind(kind, name=name, age=1)


def _holds_row(type_info: TypeInformation) -> bool:
    parts = [getattr(type_info, name) for name in ("key_type", "value_type", "element_type")
             if hasattr(type_info, name)]  # fmt: skip
    parts += getattr(type_info, "field_types", ())
    return hasattr(type_info, "get_field_names") or any(map(_holds_row, parts))


@st.composite
def _typed_columns(draw: st.DrawFn) -> tuple[TypeInformation, list[Any]]:
    type_info = draw(TYPES.filter(_holds_row))
    return type_info, draw(st.lists(st.none() | values_of(type_info), max_size=4))


@settings(max_examples=300)
@given(_typed_columns())
def test_values_come_back(typed: tuple[TypeInformation, list[Any]]) -> None:
    type_info, values = typed
    codec = _codec(type_info)
    before = copy.deepcopy(values)
    plain = codec.to_plain(values)
    assert exact(values) == exact(before)  # left as they were
    back = codec.from_plain(plain)
    assert exact(back) == exact(values)
    assert all(value is None or type_info.coerce(value) is value for value in back)


@settings(max_examples=300)
@given(_typed_columns())
def test_one_value_has_the_form_it_has_among_many(
    typed: tuple[TypeInformation, list[Any]],
) -> None:
    type_info, values = typed
    codec = _codec(type_info)
    plain = codec.to_plain(values)
    assert exact([codec.to_plain_one(value) for value in values]) == exact(plain)
    assert exact([codec.from_plain_one(value) for value in plain]) == exact(values)


@given(TYPES)
def test_only_types_with_rows_need_a_codec(type_info: TypeInformation) -> None:
    assert (plain_codec(type_info) is not None) == _holds_row(type_info)
    assert plain_codec(type_info) is plain_codec(type_info)


@given(st.data())
def test_no_class_of_ours_is_stored_for_rows(data: st.DataObject) -> None:
    rows = data.draw(st.lists(values_of(_NESTED), min_size=1, max_size=3))
    assert b"penstock" not in pickle.dumps(_codec(_NESTED).to_plain(rows), 5)
    assert b"penstock" in pickle.dumps(rows, 5)


def test_golden_forms() -> None:
    gone = _user("b", RowKind.DELETE)
    value = Row(user=gone, by={_user("k"): [_user("x"), None], gone: None})
    plain = (("b", 1, "-D"), {("k", 1): [("x", 1), None], ("b", 1, "-D"): None})
    assert _codec(_NESTED).to_plain([value, None]) == [plain, None]
    assert _codec(_NESTED).from_plain([plain, None]) == [value, None]


@pytest.mark.parametrize(
    ("kind", "text"),
    [(RowKind.UPDATE_BEFORE, "-U"), (RowKind.UPDATE_AFTER, "+U"), (RowKind.DELETE, "-D")],
)
def test_kinds_are_one_more_element(kind: RowKind, text: str) -> None:
    assert _codec(_USER).to_plain([_user("a"), _user("b", kind)]) == [("a", 1), ("b", 1, text)]
    assert _codec(_USER).to_plain_one(_user("b", kind)) == ("b", 1, text)


def test_values_with_their_last_access_are_tuples() -> None:
    codec = _codec(Types.TUPLE([Types.LONG(), _USER]))
    assert codec.to_plain([(5, _user("a")), (6, None)]) == [(5, ("a", 1)), (6, None)]
    assert codec.from_plain([(5, ("a", 1)), (6, None)]) == [(5, _user("a")), (6, None)]


def test_rows_inside_pickled_values_stay_rows() -> None:
    codec = _codec(Types.ROW_NAMED(["any"], [Types.PICKLED_BYTE_ARRAY()]))
    row = Row(any=_user("a"))
    assert codec.to_plain([row])[0][0] is row.any
    assert codec.from_plain(codec.to_plain([row])) == [row]


def test_a_row_read_does_not_change_what_was_stored() -> None:
    codec = _codec(_USER)
    plain = codec.to_plain([_user("a")])
    codec.from_plain(plain)[0]["name"] = "changed"
    codec.from_plain_one(plain[0])["name"] = "changed"
    assert plain == [("a", 1)]


@pytest.mark.parametrize(
    "damaged", [(), ("a",), ("a", 1, "+I"), ("a", 1, []), ("a", 1, "-D", "-D"), ("a", 1, None)]
)
def test_damaged_rows_are_refused(damaged: Any) -> None:
    codec = _codec(_USER)
    for read in (
        lambda: codec.from_plain([("a", 1), damaged]),
        lambda: codec.from_plain_one(damaged),
    ):
        with pytest.raises(DecodeError) as caught:
            read()
        assert caught.value.code == "SERDE_DECODE"
        assert repr(damaged) in caught.value.problem
