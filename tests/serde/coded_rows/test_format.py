"""The bytes of coded rows, written by hand from the package's head. Only ever added to."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from penstock.types import Instant, Row, RowKind, TypeInformation, Types
from penstock.wire.coded_rows import coded_codec
from penstock.wire.coded_rows.wire_types import WireType, field_number, tag

_FIELDS: list[tuple[TypeInformation, Any, str]] = [
    (Types.BYTE(), -128, "08 ff 01"),
    (Types.SHORT(), 64, "08 80 01"),
    (Types.INT(), 0, "08 00"),
    (Types.INT(), -1, "08 01"),
    (Types.INT(), 150, "08 ac 02"),
    (Types.INT(), -(1 << 31), "08 ff ff ff ff 0f"),
    (Types.LONG(), 8191, "08 fe 7f"),
    (Types.LONG(), 8192, "08 80 80 01"),
    (Types.LONG(), -(1 << 63), "08 ff ff ff ff ff ff ff ff ff 01"),
    (Types.BOOLEAN(), True, "08 01"),
    (Types.BOOLEAN(), False, "08 00"),
    (Types.STRING(), "", "0a 00"),
    (Types.STRING(), "aß", "0a 03 61 c3 9f"),
    (Types.STRING(), "\ud83d", "0a 03 ed a0 bd"),
    (Types.STRING(), "x" * 128, "0a 80 01" + " 78" * 128),
    (Types.CHAR(), "c", "0a 01 63"),
    (Types.FLOAT(), 1.5, "0d 00 00 c0 3f"),
    (Types.DOUBLE(), -0.0, "09 00 00 00 00 00 00 00 80"),
    (Types.DOUBLE(), float("nan"), "09 00 00 00 00 00 00 f8 7f"),
    (Types.BIG_INT(), 0, "0a 01 00"),
    (Types.BIG_INT(), 128, "0a 02 00 80"),
    (Types.BIG_INT(), -128, "0a 01 80"),
    (Types.BIG_INT(), -129, "0a 02 ff 7f"),
    (Types.BIG_DEC(), Decimal("12.34"), "0e 04 02 04 d2"),
    (Types.BIG_DEC(), Decimal("-0.0"), "0e 02 00"),
    (Types.BIG_DEC(), Decimal("0.0"), "0e 02 01 00"),
    (Types.BIG_DEC(), Decimal("-1E+3"), "0e 05 01 ff"),
    (Types.SQL_DATE(), date(1970, 1, 2), "08 02"),
    (Types.SQL_DATE(), date(1969, 12, 31), "08 01"),
    (Types.SQL_TIME(), time(0, 0, 0, 300), "08 ac 02"),
    (Types.SQL_TIME(), time(0, 0, fold=1), "08 80 c0 dd ee c1 02"),
    (Types.SQL_TIMESTAMP(), datetime(1970, 1, 1, 0, 0, 1, 500), "0f d0 0f a0 c2 1e"),  # noqa: DTZ001
    (Types.SQL_TIMESTAMP(), datetime(1970, 1, 1, fold=1), "0f 00 c0 84 3d"),  # noqa: DTZ001
    (Types.TIMESTAMP_LTZ(), datetime(1969, 12, 31, 23, 59, 59, 999000, UTC), "0f 01 00"),
    (Types.INSTANT(), Instant(-1, 999_999_999), "0f 01 bf 84 3d"),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\x00\xff", "0a 02 00 ff"),
    (Types.PRIMITIVE_ARRAY(Types.SHORT()), [1, -1], "08 02 08 01"),
    (Types.BASIC_ARRAY(Types.STRING()), ["a", None, ""], "0a 01 61 0b 0a 00"),
    (Types.LIST(Types.DOUBLE()), [1.0], "09 00 00 00 00 00 00 f0 3f"),
    (Types.LIST(Types.LONG()), [], "0b 0c"),
    (Types.LIST(Types.LONG()), [None], "0b"),
    (Types.LIST(Types.LIST(Types.LONG())), [[], [1], None, [None]], "0a 00 0a 02 08 02 0b 0a 01 0b"),
    (Types.LIST(Types.BIG_DEC()), [Decimal(1)], "0e 00 01 01"),
    (Types.OBJECT_ARRAY(Types.ROW([Types.LONG()])), [Row(f0=None)], "0a 00"),
    (Types.MAP(Types.STRING(), Types.LONG()), {"b": 1, "a": None}, "0a 05 0a 01 62 10 02 0a 03 0a 01 61"),
    (Types.MAP(Types.STRING(), Types.LONG()), {}, "0b 0c"),
    (Types.MAP(Types.INT(), Types.LIST(Types.INT())), {1: []}, "0a 04 08 02 13 14"),
    (Types.ROW([Types.LONG()]), Row(f0=1), "0a 02 08 02"),
    (Types.TUPLE([Types.LONG(), Types.STRING()]), (1, "a"), "0a 05 08 02 12 01 61"),
]  # fmt: skip


# CodedRowData, rule 1.
@pytest.mark.parametrize(("type_info", "value", "golden"), _FIELDS, ids=repr)
def test_bytes_of_a_field(type_info: TypeInformation, value: Any, golden: str) -> None:
    codec = coded_codec(Types.ROW([type_info]))
    assert codec.encode(Row(f0=value)).hex(" ") == golden
    assert repr(codec.decode(bytes.fromhex(golden))) == repr(Row(f0=value))


_KEYS: list[tuple[TypeInformation, Any, str]] = [
    (Types.DOUBLE(), -0.0, "09 00 00 00 00 00 00 00 00"),
    (Types.DOUBLE(), -float("nan"), "09 00 00 00 00 00 00 f8 7f"),
    (Types.FLOAT(), -float("nan"), "0d 00 00 c0 7f"),
    (Types.BIG_DEC(), Decimal("100.00"), "0e 03 01 01"),
    (Types.BIG_DEC(), Decimal("-0E+9"), "0e 00 01 00"),
    (Types.SQL_TIME(), time(0, 0, fold=1), "08 00"),
    (Types.SQL_TIMESTAMP(), datetime(1970, 1, 1, fold=1), "0f 00 00"),  # noqa: DTZ001
    (Types.MAP(Types.STRING(), Types.LONG()), {"b": 1, "a": None}, "0a 03 0a 01 61 0a 05 0a 01 62 10 02"),
]  # fmt: skip


@pytest.mark.parametrize(("type_info", "value", "golden"), _KEYS, ids=repr)
def test_bytes_of_a_key(type_info: TypeInformation, value: Any, golden: str) -> None:
    codec = coded_codec(Types.ROW([type_info]))
    assert codec.encode_key(Row(f0=value)).hex(" ") == golden


_ROW = Types.ROW_NAMED(
    ["id", "name", "tags"], [Types.LONG(), Types.STRING(), Types.LIST(Types.STRING())]
)


def test_the_example_of_the_package() -> None:
    row = Row(id=-1, name="ab", tags=["x", None])
    assert coded_codec(_ROW).encode(row).hex(" ") == "08 01 12 02 61 62 1a 01 78 1b"


@pytest.mark.parametrize(
    ("kind", "golden"),
    [
        (RowKind.INSERT, "08 01"),
        (RowKind.UPDATE_BEFORE, "08 01 f8 ff ff ff 0f 01"),
        (RowKind.UPDATE_AFTER, "08 01 f8 ff ff ff 0f 02"),
        (RowKind.DELETE, "08 01 f8 ff ff ff 0f 03"),
    ],
)
def test_bytes_of_the_kind(kind: RowKind, golden: str) -> None:
    codec = coded_codec(Types.ROW([Types.LONG()]))
    row = Row.of_kind(kind, f0=-1)
    assert codec.encode(row).hex(" ") == golden
    assert codec.decode(bytes.fromhex(golden)) == row


@pytest.mark.parametrize(
    ("position", "golden"),
    [(14, "78 02"), (15, "80 01 02"), (2046, "f8 7f 02"), (18_998, "b8 a3 09 02"),
     (18_999, "80 e2 09 02")],
)  # fmt: skip
def test_field_numbers_are_positions_without_those_of_protobuf(position: int, golden: str) -> None:
    number = tag(field_number(position), WireType.VARINT)
    assert (number + b"\x02").hex(" ") == golden
    if position < 2047:  # wider rows take seconds to generate
        row = Types.ROW([Types.INT()] * (position + 1))
        values = [None] * position + [1]
        assert coded_codec(row).encode(row.coerce(values)).hex(" ") == golden


@pytest.mark.parametrize(
    ("type_info", "value", "golden"),
    [
        (Types.LIST(Types.LONG()), [1, None], "08 02 0b"),
        (Types.LIST(Types.LONG()), [], ""),
        (Types.MAP(Types.LONG(), Types.LONG()), {}, ""),
        (Types.MAP(Types.LONG(), Types.LONG()), {1: 1}, "0a 04 08 02 10 02"),
        (Types.LONG(), 1, "08 02"),
    ],
    ids=repr,
)
def test_bytes_of_a_whole_value(type_info: TypeInformation, value: Any, golden: str) -> None:
    codec = coded_codec(type_info)
    assert codec.encode(value).hex(" ") == golden
    assert codec.decode(bytes.fromhex(golden)) == value


def test_a_pickled_field_is_a_pickle_behind_its_length() -> None:
    codec = coded_codec(Types.ROW([Types.PICKLED_BYTE_ARRAY()]))
    assert codec.encode(Row(f0=7)).hex(" ") == "0a 05 80 05 4b 07 2e"
    assert codec.decode(bytes.fromhex("0a 05 80 05 4b 07 2e")) == Row(f0=7)
