"""Packed columns: what is packed comes back, packing never makes larger, damage is an error."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import StateError
from penstock.state.log.blob import pack, unpack

LARGE = b"x" * 70_000
_SOME = st.binary(max_size=3) | st.binary(min_size=250, max_size=260) | st.just(LARGE)
COLUMNS = st.one_of(
    st.none(),
    st.lists(_SOME, max_size=50),
    st.lists(st.binary(min_size=12, max_size=12), max_size=50),
    st.lists(_SOME | st.none() | st.text(max_size=2) | st.just(bytearray(b"x")), max_size=50),
)


@given(COLUMNS)
def test_columns_come_back(column: list[Any] | None) -> None:
    found = unpack(pickle.loads(pickle.dumps(pack(column), 5)))
    assert found == column
    assert found is None or list(map(type, found)) == list(map(type, column or ()))


@given(st.lists(st.sampled_from([0, 1, 255, 256, 1000]), max_size=60))
def test_packing_does_not_make_larger(sizes: list[int]) -> None:
    column = [
        at.to_bytes(2, "big").rjust(size, b"x")[-size:] if size else b""
        for at, size in enumerate(sizes)
    ]
    assert len(pickle.dumps(pack(column), 5)) <= len(pickle.dumps(column, 5))


GOLDEN = [
    ([b"ab"] * 32, (2, b"ab" * 32)),
    ([b"", *[b"a"] * 32], ("B", b"\0" + b"\1" * 32, b"a" * 32)),
    ([b"x" * 256, *[b"a"] * 31], ("H", b"\0\1" + b"\1\0" * 31, b"x" * 256 + b"a" * 31)),
    ([b""] * 32, ("B", bytes(32), b"")),
    ([b"ab"] * 31, [b"ab"] * 31),
    ([b"ab"] * 40 + [None], [b"ab"] * 40 + [None]),
    ([b"a"] * 40 + [LARGE], [b"a"] * 40 + [LARGE]),
]
"""Stored: only ever added to."""


@pytest.mark.parametrize(("column", "golden"), GOLDEN)
def test_golden_columns(column: list[Any], golden: Any) -> None:
    assert pack(column) == golden
    assert unpack(golden) == column


@pytest.mark.parametrize(
    "damaged", [("B", b"\1\2", b"ab"), ("?x", b"", b""), ("H", 7, b""), (0, b"ab"), ("a", b"ab")]
)
def test_damage_is_an_error(damaged: Any) -> None:
    with pytest.raises(StateError, match="cannot be read"):
        unpack(damaged)
