"""Epoch records: golden bytes, round trips, and damage that is always named."""

from __future__ import annotations

import struct
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import StateError
from penstock.state.log.epoch_record import (
    HERE,
    RECORDS,
    EpochRecord,
    LogState,
    encode_record,
    file_of,
    read_record,
)
from penstock.state.log.extent import Extent, join_entries, read_extent
from penstock.state.log.subtask_log import LogName

FAR = Extent(0, 4, "segments/1-0-ab", 10, 20, 30)
INLINE = join_entries([b"ab"])
RECORD = EpochRecord(
    12,
    {"orders": [3, "b"], "é": None},
    {(1, 0): (b"head", (Extent(5, 5, HERE, 3, len(INLINE), 99),)), (2, 7): (b"", ())},
    {(1, 0): (b"head", (FAR, Extent(5, 5, HERE, 3, len(INLINE), 99))), (2, 7): (b"", ())},
    b"xyz",
)


@pytest.fixture
def directory(tmp_path):
    (tmp_path / RECORDS).mkdir()
    return tmp_path


def test_a_record_comes_back_and_its_extents_are_where_it_says(directory):
    placed, data = encode_record(RECORD, [INLINE])
    (directory / file_of(12)).write_bytes(data)
    found = read_record(directory, 12)
    assert found == placed
    (own,) = found.logs[1, 0][1]
    assert own.file == "records/000000000012"
    assert read_extent(directory, own) == INLINE
    assert found.base is not None
    assert found.base[1, 0][1] == (FAR, own)


@given(
    st.dictionaries(st.text(), st.none() | st.integers() | st.lists(st.text()), max_size=4),
    st.binary(max_size=20),
    st.dictionaries(st.tuples(st.integers(0, 9), st.integers(0, 9)), st.binary(), max_size=3),
)
def test_records_come_back(tmp_path_factory, positions, outcome, heads):
    directory = tmp_path_factory.mktemp("epochs")
    (directory / RECORDS).mkdir()
    logs: dict[LogName, LogState] = {name: (head, (FAR,)) for name, head in heads.items()}
    record = EpochRecord(3, positions, logs, None, outcome)
    (directory / file_of(3)).write_bytes(encode_record(record, [])[1])
    assert read_record(directory, 3) == record


def test_golden_bytes():
    record = EpochRecord(1, {"a": 2}, {(1, 0): (b"h", (Extent(0, 0, HERE, 1, 6, 7),))}, None, b"o")
    assert encode_record(record, [INLINE])[1] == (
        b"PSER1\n\x01\x00\x00\x00\x8e\xf4`9u\x00\x00\x00"
        b'{"epoch":1,"positions":{"a":2},"outcome":[1,252678980],"inline":6,'
        b'"logs":[[1,0,"aA==",[[0,0,"",1,6,7]]]],"base":null}'
        b"o\x02\x00\x00\x00ab"
    )


def test_every_damaged_or_missing_byte_before_the_extents_is_named(directory):
    data = encode_record(RECORD, [INLINE])[1]
    body = len(data) - len(INLINE)  # the extents have checksums of their own
    changed = [
        data[:at] + bytes([data[at] ^ flipped]) + data[at + 1 :]
        for at in range(body)
        for flipped in (1, 0x20, 0x80)
    ]
    cut = [data[:at] for at in range(len(data))]
    for broken in (*changed, *cut, data + b"x"):
        (directory / file_of(12)).write_bytes(broken)
        with pytest.raises(StateError, match=r"records/000000000012 (is damaged|has version)"):
            read_record(directory, 12)


def test_the_record_of_another_epoch_is_named(directory):
    (directory / file_of(13)).write_bytes(encode_record(RECORD, [INLINE])[1])
    with pytest.raises(StateError, match="it is the record of epoch 12"):
        read_record(directory, 13)


@pytest.mark.parametrize("text", [b"[]", b"{}", b"nonsense", b'{"epoch":2,"outcome":[0]}'])
def test_a_header_of_another_form_is_named(directory, text):
    start = struct.pack("<6sIII", b"PSER1\n", 1, crc32(text), len(text))
    (directory / file_of(2)).write_bytes(start + text)
    with pytest.raises(StateError, match="its header is of another form"):
        read_record(directory, 2)


def test_a_later_version_is_named(directory):
    data = encode_record(RECORD, [INLINE])[1]
    (directory / file_of(12)).write_bytes(data[:6] + b"\2" + data[7:])
    with pytest.raises(StateError, match="has version 2"):
        read_record(directory, 12)
