"""Rows read field by field are those read one by one, or are left to be read one by one."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import DecodeError
from penstock.types import BasicTypeInfo, Row, RowKind, RowTypeInfo, TypeInformation, Types
from penstock.wire.coded_rows import coded_codec
from penstock.wire.coded_rows.codec import MIN_ROWS, can_be_read, decode_columns, is_columnar
from tests.types.random_types import exact
from tests.types.type_strategies import values_of

_NAMES = ["Byte", "Short", "Integer", "Long", "Boolean", "Float", "Double", "String"]
_LEAVES = st.sampled_from([BasicTypeInfo(name) for name in _NAMES])


def _records(parts: st.SearchStrategy[TypeInformation]) -> st.SearchStrategy[Any]:
    several = st.lists(parts, min_size=1, max_size=18)
    return several.map(Types.ROW) | several.map(Types.TUPLE)


_TYPES = _records(_LEAVES | _records(_LEAVES))


@settings(max_examples=60)
@given(st.data())
def test_columns_are_the_rows(data: st.DataObject) -> None:
    type_info = data.draw(_TYPES)
    assert can_be_read(type_info)
    codec = coded_codec(type_info)
    values = data.draw(st.lists(values_of(type_info), min_size=1, max_size=6))
    found = decode_columns(type_info, [codec.encode(value) for value in values])
    if found is None:
        assert "-" in "".join(map(_kinds, values))  # only kinds are unusual
    else:
        assert exact(found) == exact(values)


def _kinds(value: Any) -> str:
    if not isinstance(value, (Row, tuple)):
        return ""
    own = value.get_row_kind().short_string if isinstance(value, Row) else "+I"
    return ("" if own == "+I" else "-") + "".join(map(_kinds, value))


def _damaged(data: bytes, rng: random.Random) -> bytes:
    broken = bytearray(data)
    for _ in range(rng.randrange(1, 3)):
        broken[rng.randrange(len(broken))] = rng.choice((0, 1, 8, 0x12, 0x7F, 0x80, 0xFF))
    return bytes(broken[: rng.randrange(len(broken)) + 1] if rng.randrange(4) == 0 else broken)


def test_damaged_rows_are_read_as_one_by_one_or_left() -> None:
    row_type = Types.ROW(
        [Types.BYTE(), Types.LONG(), Types.STRING(), Types.BOOLEAN(), Types.DOUBLE(),
         Types.TUPLE([Types.INT(), Types.FLOAT()])]
    )  # fmt: skip
    codec = coded_codec(row_type)
    rng = random.Random(5)  # noqa: S311 - inputs, not secrets
    row = row_type.coerce([1, -(1 << 40), "aé", True, 0.5, (300, 1.5)])
    good = codec.encode(row)
    read = 0
    for _ in range(4_000):
        stored = [good, _damaged(good, rng), good]
        found = decode_columns(row_type, stored)
        if found is not None:
            read += 1
            assert exact(found) == exact([codec.decode(data) for data in stored])
    assert 100 < read < 3_500


def test_many_rows_at_once_with_none_kinds_and_damage() -> None:
    row_type = Types.ROW([Types.LONG(), Types.INT()])
    assert is_columnar(row_type)
    codec = coded_codec(row_type)
    values: list[Any] = [Row(f0=at, f1=None if at % 3 else -at) for at in range(2 * MIN_ROWS)]
    values[5] = None
    stored = codec.encode_all(values)
    assert exact(codec.decode_all(stored)) == exact(values)
    values[7] = Row.of_kind(RowKind.DELETE, f0=1, f1=2)
    assert exact(codec.decode_all(codec.encode_all(values))) == exact(values)
    with pytest.raises(DecodeError) as refused:
        codec.decode_all([*stored, b"\x08"])
    assert refused.value.position == 0


def test_types_of_strings_are_read_one_by_one() -> None:
    assert not is_columnar(Types.ROW([Types.STRING(), Types.STRING(), Types.LONG()]))
    assert is_columnar(Types.ROW([Types.STRING(), Types.LONG(), Types.LONG()]))
    assert not is_columnar(Types.ROW([Types.LIST(Types.LONG())]))
    assert not is_columnar(Types.ROW([Types.SQL_DATE()]))
    assert not is_columnar(Types.LONG())


def test_text_beyond_ascii_among_ascii() -> None:
    row_type = Types.ROW([Types.STRING(), Types.STRING(), Types.LONG()])
    codec = coded_codec(row_type)
    rows = [Row(f0=text, f1="plain", f2=at * 1000) for at, text in enumerate(["", "é", "a", "😀"])]
    assert exact(decode_columns(row_type, [codec.encode(row) for row in rows])) == exact(rows)


def test_wide_rows_have_tags_of_two_bytes() -> None:
    wide: RowTypeInfo = Types.ROW([Types.INT()] * 40)
    codec = coded_codec(wide)
    rows = [
        wide.coerce([None if (at + n) % 5 == 0 else at * n for n in range(40)]) for at in range(9)
    ]
    assert exact(decode_columns(wide, [codec.encode(row) for row in rows])) == exact(rows)
