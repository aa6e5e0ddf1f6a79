"""Extents: entries come back, damage is named, and adjacent extents are one."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import StateError
from penstock.state.log.extent import Extent, join_entries, read_extent, split_entries

ENTRIES = st.lists(st.binary(max_size=30), min_size=1, max_size=6)


def extent_of(data, n_entries, first=7):
    return Extent(first, first + n_entries - 1, "segments/a", 0, len(data), crc32(data))


@given(ENTRIES)
def test_entries_come_back(entries):
    data = join_entries(entries)
    assert split_entries(extent_of(data, len(entries)), data) == entries


@given(ENTRIES, ENTRIES)
def test_extents_of_adjacent_entries_are_an_extent(some, more):
    data = join_entries(some) + join_entries(more)
    assert split_entries(extent_of(data, len(some) + len(more)), data) == some + more


def test_golden_bytes():
    assert join_entries([b"ab", b""]).hex() == "02000000616200000000"


@given(ENTRIES, st.data(), st.integers(1, 255))
def test_every_damaged_byte_is_noticed(entries, data, flipped):
    joined = join_entries(entries)
    extent = extent_of(joined, len(entries))
    at = data.draw(st.integers(0, len(joined) - 1))
    changed = joined[:at] + bytes([joined[at] ^ flipped]) + joined[at + 1 :]
    for broken in (changed, joined[:at], joined + b"x"):
        with pytest.raises(StateError, match="jobs/segments/a is damaged"):
            split_entries(extent, broken, Path("jobs"))


@given(ENTRIES, st.integers(-2, 2).filter(bool))
def test_another_number_of_entries_is_noticed(entries, difference):
    data = join_entries(entries)
    extent = extent_of(data, max(0, len(entries) + difference))
    with pytest.raises(StateError, match="segments/a is damaged"):
        split_entries(extent, data)


def test_a_file_that_is_missing_or_short_is_named(tmp_path):
    data = join_entries([b"abc"])
    extent = replace(extent_of(data, 1), file="a")
    with pytest.raises(StateError, match=r"a is damaged: entries 7 to 7 .* cannot be read"):
        read_extent(tmp_path, extent)
    (tmp_path / "a").write_bytes(data[:-1])
    with pytest.raises(StateError, match="have 6 bytes of 7"):
        split_entries(extent, read_extent(tmp_path, extent), tmp_path)
    (tmp_path / "a").write_bytes(b"xy" + data)
    assert read_extent(tmp_path, replace(extent, offset=2)) == data


def test_an_extent_survives_pickle():
    extent = Extent(1, 2, "records/000000000001", 3, 4, 5)
    assert pickle.loads(pickle.dumps(extent, 5)) == extent
