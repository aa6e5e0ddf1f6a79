"""Kernels of lists do not see what Arrow keeps below a NULL, nor what is before and behind a slice."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from penstock.expressions.arrow.nested import get, list_contains, list_length
from penstock.expressions.tree import Call

LISTS = pa.array([[1], [2, 2], [], [None, 3]])
NULL = pa.array([False, True, False, False])
BELOW_NULL = {
    "a list": pa.ListArray.from_arrays(LISTS.offsets, LISTS.values, mask=NULL),
    "a list of a row": pc.struct_field(
        pa.StructArray.from_arrays([LISTS], names=["l"], mask=NULL), indices=[0]
    ),
}


@pytest.mark.parametrize("made", BELOW_NULL)
@pytest.mark.parametrize("start", range(4))
def test_values_below_a_null_are_not_there(made: str, start: int) -> None:
    lists = BELOW_NULL[made].slice(start)
    for wanted, found in {
        1: [True, None, False, False],
        2: [False, None, False, False],
        3: [False, None, False, True],
    }.items():
        asked = Call("list_contains", (), (wanted,))
        assert list_contains(asked, lists).to_pylist() == found[start:]
    assert get(Call("get", (), (0,)), lists).to_pylist() == [1, None, None, None][start:]
    assert get(Call("get", (), (1,)), lists).to_pylist() == [None, None, None, 3][start:]
    assert list_length(Call("list_length", ()), lists).to_pylist() == [1, None, 0, 2][start:]
