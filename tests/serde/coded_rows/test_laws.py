"""Laws of coded rows for every type: values come back, keys are canonical, fields are lazy.

Finds what an encoder and its decoder disagree about, and types or values one of them forgot. It
cannot find what both get wrong alike: `test_format` (bytes by hand) and `test_protobuf` (another
implementation) do.
"""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import ArgumentError, KeyTypeError
from penstock.types import Row, RowKind, RowTypeInfo, TupleTypeInfo, TypeInformation, Types
from penstock.wire.coded_rows import coded_codec, has_coded_form
from tests.types.random_types import TYPES, exact
from tests.types.type_strategies import values_of

_SPECIAL: dict[str, list[Any]] = {
    "Double": [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 5e-324],
    "Float": [0.0, -0.0, float("inf"), float("nan")],
    "String": ["", "\ud83d", "\ud83d\ude00", "😀", "a\0b", "é" * 200, "x" * 20_000],
    "BigInteger": [0, -1, 127, 128, -128, -129, 1 << 4000, -(1 << 14_000)],
    "BigDecimal": [
        Decimal(text)
        for text in ("0", "-0", "0.00", "-0E+5", "1E+5", "100000", "1.10", "-1E-9999", "1E+99999")
    ]
    + [Decimal(10) ** 5000],
    "SqlTime": [time(1, 2, 3, 4, fold=1), time.max, time.min],
    "SqlTimestamp": [datetime.max, datetime.min, datetime(2024, 1, 1, fold=1)],  # noqa: DTZ001, DTZ901
    "SqlDate": [date.min, date.max, date(1969, 12, 31)],
    "Long": [-(1 << 63), (1 << 63) - 1, 63, 64, -64, -65, 8191, 8192, -8193, 1 << 20, 1 << 21],
    "Byte": [-128, 127],
    "Short": [-(1 << 15), (1 << 15) - 1],
    "Integer": [-(1 << 31), (1 << 31) - 1],
}


@st.composite
def _typed(draw: st.DrawFn) -> tuple[TypeInformation, Any]:
    type_info = draw(TYPES)
    return type_info, draw(values_of(type_info))


def _holds_pickled(type_info: TypeInformation) -> bool:
    return "any object" in repr(type_info)


@settings(max_examples=80)
@given(_typed())
def test_values_come_back(typed: tuple[TypeInformation, Any]) -> None:
    type_info, value = typed
    codec = coded_codec(type_info)
    data = codec.encode(value)
    assert type(data) is bytes
    assert exact(codec.decode(data)) == exact(value)
    assert codec.encode(codec.decode(data)) == data


@pytest.mark.parametrize("name", _SPECIAL)
def test_special_values_come_back(name: str) -> None:
    basic = _basic(name)
    fields = Types.ROW_NAMED(
        ["one", "many", "pairs", "last"],
        [basic, Types.LIST(basic), Types.MAP(Types.INT(), basic), Types.TUPLE([basic])],
    )
    codec = coded_codec(fields)
    for value in _SPECIAL[name]:
        row = fields.coerce(Row(value, [value, None, value], {1: value, -1: None}, (value,)))
        assert exact(codec.decode(codec.encode(row))) == exact(row)


def test_integers_beyond_what_can_be_printed_come_back() -> None:
    codec = coded_codec(Types.ROW([Types.BIG_INT(), Types.BIG_DEC()]))
    row = Row(f0=-(1 << 40_000), f1=Decimal(7**9000))
    assert codec.decode(codec.encode(row)) == row


def _basic(name: str) -> TypeInformation:
    from_name: TypeInformation = type(Types.LONG())(name)
    return from_name


def _equal(value: Any) -> Any:
    """Return an equal value that looks different where it can."""
    if isinstance(value, Row):
        made = Row.of_kind(value.get_row_kind(), *map(_equal, value))
        made.set_field_names(list(value.as_dict()))
        return made
    if isinstance(value, dict):
        return {_equal(key): _equal(item) for key, item in reversed(value.items())}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_equal, value))
    if isinstance(value, Decimal):
        sign, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)
        return Decimal((1 - sign if not value else sign, (*digits, 0), exponent - 1))
    if isinstance(value, (time, datetime)):
        return value.replace(fold=1 - value.fold)
    return -value if isinstance(value, float) and value == 0 else value


@st.composite
def _two_of_one_type(draw: st.DrawFn) -> tuple[TypeInformation, Any, Any]:
    type_info = draw(TYPES.filter(lambda t: not _holds_pickled(t)))
    value = draw(values_of(type_info))
    return type_info, value, draw(values_of(type_info) | st.just(_equal(value)))


@settings(max_examples=80)
@given(_two_of_one_type())
def test_equal_values_have_equal_keys_and_only_those(
    pair: tuple[TypeInformation, Any, Any],
) -> None:
    type_info, left, right = pair
    key = coded_codec(type_info).encode_key
    assert (key(left) == key(right)) == (left == right)
    assert coded_codec(type_info).decode(key(left)) == left


def test_not_a_number_is_one_key() -> None:
    codec = coded_codec(Types.ROW([Types.DOUBLE(), Types.FLOAT()]))
    nan = float("nan")
    assert codec.encode_key(Row(nan, -nan)) == codec.encode_key(Row(-nan, nan))
    assert codec.encode(Row(nan, 0.0)) != codec.encode(Row(-nan, 0.0))


def test_pickled_values_are_no_keys() -> None:
    with pytest.raises(KeyTypeError, match="a part of the type any object") as refused:
        _ = coded_codec(Types.ROW([Types.PICKLED_BYTE_ARRAY()])).encode_key
    assert refused.value.hint is not None
    assert "Declare this part of Row(f0: any object), with a type such as" in refused.value.hint


@settings(max_examples=80)
@given(_typed().filter(lambda typed: isinstance(typed[0], (RowTypeInfo, TupleTypeInfo))))
def test_a_field_alone_is_the_field_of_the_whole(typed: tuple[Any, Any]) -> None:
    type_info, value = typed
    codec = coded_codec(type_info)
    data = codec.encode(value)
    for position, field in enumerate(value):
        assert exact(codec.field(position)(data)) == exact(field)


@settings(max_examples=60)
@given(st.data())
def test_columns_that_were_added_read_as_none(data: st.DataObject) -> None:
    new = data.draw(TYPES.filter(lambda t: isinstance(t, RowTypeInfo)))
    assert isinstance(new, RowTypeInfo)
    n_old = data.draw(st.integers(1, len(new.field_types)))
    old = Types.ROW_NAMED(new.field_names[:n_old], new.field_types[:n_old])
    before = data.draw(values_of(old))
    read = coded_codec(new).decode(coded_codec(old).encode(before))
    assert exact(list(read)) == exact([*before, *[None] * (len(new.field_types) - n_old)])
    assert read.get_row_kind() is before.get_row_kind()
    after = data.draw(values_of(new))
    read = coded_codec(old).decode(coded_codec(new).encode(after))
    assert exact(list(read)) == exact(list(after)[:n_old])
    assert read.get_row_kind() is after.get_row_kind()


def test_wide_rows_have_tags_of_all_sizes() -> None:
    n_fields = 2_100
    wide = Types.ROW([Types.INT()] * n_fields)
    codec = coded_codec(wide)
    for filled in ([0], [14, 15], [2045, 2046, 2047, 2048, 2099], range(0, n_fields, 7)):
        row = wide.coerce([at if at in filled else None for at in range(n_fields)])
        row.set_row_kind(RowKind.DELETE)
        assert codec.decode(codec.encode(row)) == row
    assert codec.field(2_050)(codec.encode(wide.coerce(list(range(n_fields))))) == 2_050


def test_names_of_fields_may_be_anything() -> None:
    strange = Types.ROW_NAMED(["class", "_values", "at", "a b"], [Types.LONG()] * 4)
    row = strange.coerce((1, 2, 3, 4))
    assert exact(coded_codec(strange).decode(coded_codec(strange).encode(row))) == exact(row)


def test_one_codec_per_type() -> None:
    row = Types.ROW([Types.LONG()])
    assert coded_codec(row) is coded_codec(Types.ROW([Types.LONG()]))


def test_many_values_at_once_with_none_among_them() -> None:
    row = Types.ROW([Types.LONG()])
    values = [Row(f0=1), None, Row(f0=None)]
    stored = coded_codec(row).encode_all(values)
    assert stored == [b"\x08\x02", None, b""]
    assert coded_codec(row).decode_all(stored) == values


def test_a_field_that_is_not_there_is_refused() -> None:
    with pytest.raises(ArgumentError):
        coded_codec(Types.ROW([Types.LONG()])).field(1)
    with pytest.raises(ArgumentError):
        coded_codec(Types.LIST(Types.LONG())).field(0)


def test_types_of_others_have_no_coded_form() -> None:
    class Own(TypeInformation):
        def coerce(self, value: Any) -> Any:
            return value

        def fit(self, values: Any, kinds: set[type]) -> Any:
            return values

    assert not has_coded_form(Own())
    with pytest.raises(ArgumentError):
        coded_codec(Own())
