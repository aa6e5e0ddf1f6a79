"""Any bytes are read as a value of the type, or refused with a position; nothing else happens.

What is read must have the declared form, so it is written again and read again. Inputs are random
bytes and damaged rows. `make fuzz` tries a million of them, with another seed every time.
"""

from __future__ import annotations

import os
import pickle
import random
import sys
import traceback
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import DecodeError
from penstock.types import Row, RowKind, TypeInformation, Types
from penstock.wire.coded_rows import coded_codec
from tests.types.random_types import BASIC_TYPES, TYPES, exact

_PAIR = Types.ROW_NAMED(["name", "size"], [Types.STRING(), Types.INT()])
_TYPED: list[tuple[TypeInformation, Any]] = [
    (
        Types.ROW(BASIC_TYPES),
        ["é€", True, -1, 300, -70_000, 1 << 40, 0.5, 2.5, "c", -1 << 70, "12.50", None, None, None]
        + [None] * (len(BASIC_TYPES) - 14),
    ),
    (
        Types.ROW([_PAIR, Types.LIST(_PAIR), Types.MAP(Types.STRING(), _PAIR)]),
        [("a", 1), [("b", 2), None], {"k": ("c", None), "l": None}],
    ),
    (
        Types.TUPLE([Types.LIST(Types.LIST(Types.BIG_INT())), Types.PRIMITIVE_ARRAY(Types.BYTE())]),
        ([[1, None], [], None], b"\x00\xff"),
    ),
    (Types.MAP(Types.TUPLE([Types.INT()]), Types.LIST(Types.BOOLEAN())), {(1,): [True, None]}),
    (Types.LIST(Types.BIG_DEC()), ["1.50", "-1E+30", None]),
    (Types.ROW([Types.INT()] * 20), list(range(0, 2000, 100))),
]


def _seeds() -> Iterator[tuple[TypeInformation, bytes]]:
    for type_info, value in _TYPED:
        made = _made(type_info, value)
        yield type_info, coded_codec(type_info).encode(made)
        if isinstance(made, Row):
            made.set_row_kind(RowKind.DELETE)
            yield type_info, coded_codec(type_info).encode(made)


def _made(type_info: TypeInformation, value: Any) -> Any:
    if "BigDecimal" in repr(type_info):
        numbers = [
            at for at, item in enumerate(value) if isinstance(item, str) and item[-1] in "05"
        ]
        value = [Decimal(v) if at in numbers else v for at, v in enumerate(value)]
    return type_info.coerce(value)


def _damaged(data: bytes, rng: random.Random) -> bytes:
    kind = rng.randrange(5)
    at = rng.randrange(len(data) + 1)
    if kind == 0:
        return rng.randbytes(rng.randrange(24))
    if kind == 1:
        return data[:at]
    if kind == 2:
        return data[:at] + rng.randbytes(rng.randrange(1, 4)) + data[at:]
    if kind == 3:
        return data[:at] + data[at + rng.randrange(1, 4) :]
    flipped = bytearray(data)
    for _ in range(rng.randrange(1, 4)):
        flipped[rng.randrange(len(data))] = rng.choice((rng.randrange(256), 0, 0x7F, 0x80, 0xFF))
    return bytes(flipped)


def _check(type_info: TypeInformation, data: bytes) -> bool:
    """Return whether the bytes were a value."""
    codec = coded_codec(type_info)
    try:
        value = codec.decode(data)
    except DecodeError as error:
        refused = error
    else:
        assert type_info.coerce(value) is value
        again = codec.encode(value)
        assert exact(codec.decode(again)) == exact(value)
        return True
    assert refused.position is not None
    assert 0 <= refused.position <= len(data)
    assert f"byte {refused.position}" in refused.problem
    return False


def _fuzz(n_inputs: int, seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - inputs, not secrets
    seeds = list(_seeds())
    read = 0
    for number in range(n_inputs):
        type_info, data = seeds[number % len(seeds)]
        read += _check(type_info, _damaged(data, rng))
    assert n_inputs * 0.02 < read < n_inputs * 0.7  # both outcomes are tried


def test_damaged_rows_are_read_or_refused() -> None:
    _fuzz(20_000, 1)


@pytest.mark.fuzz
def test_a_million_damaged_rows_are_read_or_refused() -> None:
    seed = int(os.environ.get("PENSTOCK_FUZZ_SEED") or random.SystemRandom().randrange(1 << 32))
    sys.stdout.write(f"PENSTOCK_FUZZ_SEED={seed}\n")  # to try the same inputs again
    _fuzz(1_000_000, seed)


@given(TYPES.filter(lambda t: "Pickled" not in repr(t)), st.binary(max_size=40))
def test_bytes_are_read_or_refused_by_every_type(type_info: TypeInformation, data: bytes) -> None:
    _check(type_info, data)


_ROW = Types.ROW([Types.BYTE(), Types.STRING(), Types.LIST(Types.LONG()), Types.CHAR()])


@pytest.mark.parametrize(
    ("damaged", "position", "reason"),
    [
        ("08", 0, "end within a field"),
        ("08 80 02", 1, "out of range"),
        ("08 80 00", 1, "longer than it has to be"),
        ("08 ff ff", 1, "does not end"),
        ("12 05 61", 2, "does not fit"),
        ("12 01 ff", 2, "utf-8"),
        ("12 01 61 08 02", 3, "field 1 is out of order"),
        ("08 02 08 02", 2, "field 1 is out of order"),
        ("0d 00 00 00 00", 0, "wire type 5"),
        ("22 02 61 62", 2, "not one character"),
        ("00", 0, "no tag"),
        ("1b 1b 1c", 2, "field 3 is out of order"),
        ("2a 05", 0, "field 5 does not fit"),
        ("f8 ff ff ff 0f 04", 0, "kind of row"),
        ("f8 ff ff ff 0f 03 08", 0, "kind of row"),
    ],
)
def test_what_is_wrong_is_said_with_its_position(damaged: str, position: int, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason) as refused:
        coded_codec(_ROW).decode(bytes.fromhex(damaged))
    assert refused.value.position == position
    assert refused.value.code == "SERDE_DECODE"
    assert pickle.loads(pickle.dumps(refused.value)).position == position


def test_a_traceback_shows_the_generated_line() -> None:
    with pytest.raises(DecodeError) as refused:
        coded_codec(_ROW).decode(b"\x12\x05a")
    shown = "".join(traceback.format_tb(refused.value.__traceback__))
    assert "<penstock coded rows" in shown
    assert "raise refused(at, cause) from cause" in shown


def test_a_map_without_a_key_is_refused() -> None:
    with pytest.raises(DecodeError, match="no key"):
        coded_codec(Types.MAP(Types.INT(), Types.INT())).decode(b"\x0a\x00")


def test_a_pickle_of_a_class_that_is_gone_is_refused() -> None:
    codec = coded_codec(Types.ROW([Types.PICKLED_BYTE_ARRAY()]))
    gone = pickle.dumps(Row(1)).replace(b"penstock", b"penstick")
    with pytest.raises(DecodeError, match="penstick"):
        codec.decode(b"\x0a" + bytes((len(gone),)) + gone)
