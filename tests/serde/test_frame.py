"""Frames: golden bytes, round trips, and damage that is always named."""

from __future__ import annotations

import pickle
from contextlib import suppress

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Row
from penstock.errors import DecodeError
from penstock.types.row import RowKind
from penstock.wire.frame import (
    FrameHeader,
    FrameKind,
    decode_columns,
    decode_records,
    encode_columns,
    encode_payload,
    encode_records,
    load_payload,
    payload_of,
    read_header,
)

HEADER = FrameHeader(task=0, sequence=5, channel=2, target_level=1, kind=FrameKind.RECORDS, count=0)


def test_golden_bytes_of_the_worked_example():
    frame = encode_records(HEADER, ["a"], [1])
    assert frame.hex() == (
        "01"
        "00000000"
        "0000000000000005"
        "00"
        "01"
        "01"
        "00000002"
        "00000001"
        "0100000000000000" + pickle.dumps(["a"], 5).hex()
    )


def test_golden_bytes_of_a_control_frame():
    header = FrameHeader(258, 1, 3, 255, FrameKind.REPORT, 1)
    frame = encode_payload(header, b"xyz")
    assert frame.hex() == "010000010200000000000000010300ff000000030000000178797a"


def deleted(**values):
    row = Row(**values)
    row.set_row_kind(RowKind.DELETE)
    return row


WORDS = pa.array(["a", None, "b", "a"])
BATCHES = {
    "numbers": pa.record_batch({"n": [1, None, 3], "x": [0.5, 1.5, None]}),
    "no rows": pa.record_batch({"n": pa.array([], pa.int64())}),
    "a slice": pa.record_batch({"w": WORDS, "n": [1, 2, 3, 4]}).slice(1, 2),
    "nested": pa.record_batch({"l": [[1, 2], None, []], "s": [{"a": 1}, {"a": None}, None]}),
    "dictionary": pa.record_batch({"w": WORDS.dictionary_encode()}),
    "dictionary inside": pa.record_batch(
        [pa.ListArray.from_arrays(pa.array([0, 2, 4]), WORDS.dictionary_encode())], names=["l"]
    ),
}


@pytest.mark.parametrize("stamped", [False, True])
@pytest.mark.parametrize("name", BATCHES)
def test_columns_are_a_stream_of_arrow(name, stamped):
    batch = BATCHES[name]
    stamps = list(range(batch.num_rows)) if stamped else None
    frame = encode_columns(HEADER, batch, stamps)
    header = read_header(frame)
    back, back_stamps = decode_columns(header, frame)
    assert back.equals(batch)
    assert back.schema == batch.schema
    assert back_stamps == stamps
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    assert frame.endswith(sink.getvalue().to_pybytes())


@pytest.mark.parametrize(
    "values",
    [
        [1, "a", None, (1, [2]), {"b": 3.5}],
        [Row(1, 2), Row(3, 4)],
        [Row(a=1, b=2), Row(a=3, b=None)],
        [Row(a=1), Row(b=1)],
        [Row(1), Row(a=1)],
        [Row(a=1), deleted(a=1)],
        [Row(a=1), 5],
        [Row()],
    ],
    ids=repr,
)
@pytest.mark.parametrize("stamped", [False, True])
def test_records_come_back(values, stamped):
    stamps = list(range(-1, len(values) - 1)) if stamped else None
    frame = encode_records(HEADER, values, stamps)
    header = read_header(frame)
    assert (header.task, header.sequence, header.channel, header.count) == (0, 5, 2, len(values))
    back, back_stamps = decode_records(header, frame)
    assert back == values
    assert list(map(type, back)) == list(map(type, values))
    assert list(map(repr, back)) == list(map(repr, values))
    assert back_stamps == stamps


headers = st.builds(
    FrameHeader,
    task=st.integers(0, 2**32 - 1),
    sequence=st.integers(0, 2**64 - 1),
    channel=st.integers(0, 2**32 - 1),
    target_level=st.integers(0, 255),
    kind=st.sampled_from(FrameKind),
    count=st.integers(0, 2**32 - 1),
)


@given(headers, st.binary())
def test_header_and_payload_come_back(header, payload):
    frame = encode_payload(header, payload)
    assert read_header(frame) == header
    assert payload_of(frame) == payload


@given(st.lists(headers, max_size=8))
def test_frames_sort_as_bytes_like_they_were_written(found):
    frames = [encode_payload(header, b"") for header in found]
    by_bytes = [(h.task, h.sequence) for h in map(read_header, sorted(frames))]
    assert by_bytes == sorted((h.task, h.sequence) for h in found)


def decode_whatever(frame):
    header = read_header(frame)
    if header.kind is FrameKind.RECORDS:
        values, stamps = decode_records(header, frame)
        assert len(values) == header.count
        assert stamps is None or len(stamps) == header.count
    else:
        load_payload(frame)


@given(st.binary(max_size=60))
def test_arbitrary_bytes_decode_or_raise_decode_error(data):
    with suppress(DecodeError):
        decode_whatever(data)


@given(headers, st.sampled_from([0, 1, 2, 3]), st.binary(max_size=30))
def test_arbitrary_payloads_decode_or_raise_decode_error(header, flags, payload):
    frame = bytearray(encode_payload(header, payload))
    frame[14] = flags
    with suppress(DecodeError):
        decode_whatever(bytes(frame))


@pytest.mark.parametrize(
    "loaded", [5, None, "ab", {"a": 1}, (1, 2), (("a",), 5), (5, [[1]])], ids=repr
)
@pytest.mark.parametrize("flags", [0, 2])
def test_a_payload_of_another_shape_is_named(loaded, flags):
    header = FrameHeader(0, 0, 0, 1, FrameKind.RECORDS, 2)
    frame = bytearray(encode_payload(header, pickle.dumps(loaded, 5)))
    frame[14] = flags
    with pytest.raises(DecodeError):
        decode_records(read_header(bytes(frame)), bytes(frame))


@given(st.data())
def test_every_cut_of_a_frame_is_named(data):
    frame = encode_records(HEADER, ["abc", 17], [1, 2])
    size = data.draw(st.integers(0, len(frame) - 1))
    with pytest.raises(DecodeError):
        decode_whatever(frame[:size])


def test_another_version_is_named():
    frame = b"\x02" + encode_records(HEADER, ["a"], None)[1:]
    with pytest.raises(DecodeError, match="version is 2"):
        read_header(frame)
