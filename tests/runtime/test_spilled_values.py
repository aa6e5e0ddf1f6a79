"""Lists that may outgrow memory, compared with lists."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import SpillError
from penstock.runtime.spill.spill_space import SpillCounts, SpillSpace
from penstock.runtime.spill.spilled_values import SpilledValues

batches = st.lists(st.lists(st.one_of(st.integers(), st.text(max_size=5)), max_size=80), max_size=9)


@pytest.fixture
def space(tmp_path):
    made = SpillSpace(2000, tmp_path)
    yield made
    made.close()
    assert list(tmp_path.iterdir()) == []


@given(parts=batches, memory=st.sampled_from([1, 2000, 1 << 20]))
def test_like_a_list(parts, memory):
    space = SpillSpace(memory)
    counts = SpillCounts()
    values, wanted = SpilledValues(space, counts), []
    for part in parts:
        values.extend(part)
        wanted += part
        assert len(values) == len(wanted)
        assert bool(values) is bool(wanted)
        assert list(values) == wanted
    for value in (1, "x"):
        values.append(value)
        wanted.append(value)
    pairs = [(a, b) for a in values for b in (*values,)][:50]  # nested
    assert pairs == [(a, b) for a in wanted for b in wanted][:50]
    values.close()
    if memory == 1 and len(wanted) > 100:
        assert counts.bytes > 0
    if memory == 1 << 20:
        assert counts.files == 0
    space.close()


def test_memory_is_bounded(space):
    values = SpilledValues(space, SpillCounts())
    for number in range(5000):
        values.append((number, "x" * 20))
        assert len(values._tail) < 200
    assert [number for number, _ in values] == list(range(5000))
    values.close()


def test_reading_after_close_is_an_error(space):
    values = SpilledValues(space, SpillCounts())
    values.extend(range(10_000))
    reading = iter(values)
    next(reading)
    values.close()
    with pytest.raises(SpillError, match="after the function that got them had returned"):
        list(reading)
    with pytest.raises(SpillError):
        list(values)
    with pytest.raises(SpillError):
        values.append(1)


def test_truncated_file_is_named(space, tmp_path):
    values = SpilledValues(space, SpillCounts())
    values.extend(range(10_000))
    list(values)
    (file,) = tmp_path.glob("*/*.mdb")
    os.truncate(file, file.stat().st_size - 1)
    with pytest.raises(SpillError, match=str(file)):
        list(values)
    values.close()
