"""The golden format of single elements: its bytes, round trips, damage, and frames against it.

Golden bytes find a layout that changed; the comparison with frames finds elements that a frame
loses, reorders or gives another time.
"""

from __future__ import annotations

from contextlib import suppress
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import ArgumentError, DecodeError, WatermarkUnsupportedError
from penstock.program.latency_marker import OperatorId
from penstock.program.record_attributes import RecordAttributes
from penstock.program.stream_element_serializer import (
    InternalWatermark,
    LatencyMarker,
    PickleSerializer,
    StreamElementSerializer,
    StreamRecord,
    StreamStatus,
    ValueOnlySerializer,
    read_elements,
    write_elements,
)
from penstock.program.type_serializer import TypeSerializer
from penstock.program.watermark_generator import Watermark
from penstock.wire.frame import (
    FrameHeader,
    FrameKind,
    decode_records,
    encode_records,
    read_header,
)


class OneByte(TypeSerializer):
    """Booleans as Flink writes them."""

    def serialize(self, element, stream):
        stream.write(b"\x01" if element else b"\x00")

    def deserialize(self, stream):
        found = stream.read(1)
        if found not in (b"\x00", b"\x01"):
            raise ValueError(found)
        return found == b"\x01"


FULL = StreamElementSerializer(OneByte())
BARE = ValueOnlySerializer(OneByte())
PICKLED = StreamElementSerializer(PickleSerializer())
MARKER = LatencyMarker(1, OperatorId(2, 3), 4)


def written(serializer, element):
    stream = BytesIO()
    serializer.serialize(element, stream)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("element", "golden"),
    [
        (StreamRecord(True, 258), "00 0000000000000102 01"),
        (StreamRecord(False, -1), "00 ffffffffffffffff 00"),
        (StreamRecord(True), "01 01"),
        (Watermark(-(2**63)), "02 8000000000000000"),
        (Watermark(2**63 - 1), "02 7fffffffffffffff"),
        (MARKER, "03 0000000000000001 0000000000000003 0000000000000002 00000004"),
        (StreamStatus.ACTIVE, "04 00000000"),
        (StreamStatus.IDLE, "04 ffffffff"),
        (RecordAttributes(True), "05 01"),
        (RecordAttributes(False), "05 00"),
        (InternalWatermark(7, 258), "06 00000007 0000000000000102"),
    ],
    ids=repr,
)
def test_golden_bytes(element, golden):
    data = bytes.fromhex(golden)
    assert written(FULL, element) == data
    back = FULL.deserialize(BytesIO(data))
    assert back == element
    assert type(back) is type(element)


def test_a_latency_marker_takes_29_bytes():
    assert len(written(FULL, MARKER)) == 29


def test_golden_bytes_of_a_stream_are_elements_behind_their_lengths():
    found = write_elements(FULL, [StreamRecord(True), Watermark(1)])
    assert found.hex(" ") == "00 00 00 02 01 01 00 00 00 09 02 00 00 00 00 00 00 00 01"


longs = st.integers(-(2**63), 2**63 - 1)
unsigned = st.integers(0, 2**64 - 1)
ints = st.integers(-(2**31), 2**31 - 1)
values = st.one_of(st.booleans(), st.integers(), st.text(max_size=5), st.none())
stamped = st.builds(StreamRecord, values, st.one_of(st.none(), longs))
elements = st.one_of(
    stamped,
    st.builds(Watermark, longs),
    st.builds(LatencyMarker, longs, st.builds(OperatorId, unsigned, unsigned), ints),
    st.sampled_from(StreamStatus),
    st.builds(RecordAttributes, st.booleans()),
    st.builds(InternalWatermark, ints, longs),
)


@given(st.lists(elements, max_size=20))
def test_elements_come_back(found):
    assert list(read_elements(PICKLED, write_elements(PICKLED, found))) == found


# FLIP-330, rule 2.
@given(st.lists(st.builds(StreamRecord, st.booleans(), st.one_of(st.none(), longs)), max_size=20))
def test_values_only_save_one_byte_per_record_and_eight_per_timestamp(found):
    full, bare = write_elements(FULL, found), write_elements(BARE, found)
    times = sum(record.timestamp is not None for record in found)
    assert len(full) - len(bare) == len(found) + 8 * times
    assert list(read_elements(BARE, bare)) == [StreamRecord(record.value) for record in found]


@given(elements.filter(lambda element: not isinstance(element, StreamRecord)))
def test_values_only_refuse_every_other_element(element):
    with pytest.raises(WatermarkUnsupportedError) as caught:
        written(BARE, element)
    assert caught.value.code == "TIME_NO_WATERMARKS"
    assert "Turn off" in caught.value.hint


@given(st.lists(values, min_size=1, max_size=30), st.data())
def test_frames_carry_the_same_elements(found, data):
    has_time = data.draw(st.booleans())
    times = [data.draw(longs) for _ in found] if has_time else None
    header = FrameHeader(0, 0, 0, 1, FrameKind.RECORDS, 0)
    frame = encode_records(header, found, times)
    of_frame, of_times = decode_records(read_header(frame), frame)
    back = [
        StreamRecord(value, None if of_times is None else of_times[at])
        for at, value in enumerate(of_frame)
    ]
    golden = [
        StreamRecord(value, None if times is None else times[at]) for at, value in enumerate(found)
    ]
    serializer = PICKLED if has_time else ValueOnlySerializer(PickleSerializer())
    assert list(read_elements(serializer, write_elements(serializer, golden))) == back


@pytest.mark.parametrize("serializer", [FULL, BARE, PICKLED])
@given(data=st.binary(max_size=60))
def test_arbitrary_bytes_decode_or_raise_decode_error(serializer, data):
    with suppress(DecodeError):
        list(read_elements(serializer, data))
    with suppress(DecodeError):
        serializer.deserialize(BytesIO(data))


@given(found=st.lists(elements, min_size=1, max_size=5), data=st.data())
def test_a_stream_that_was_cut_is_never_taken_for_a_whole_one(found, data):
    whole = write_elements(PICKLED, found)
    part = whole[: data.draw(st.integers(0, len(whole) - 1))]
    back: list[object] = []
    with suppress(DecodeError):
        back += read_elements(PICKLED, part)
    assert len(back) < len(found)


@pytest.mark.parametrize(
    ("data", "position"),
    [("00000001 07", 4), ("00000002 0505", 5), ("00000003 010100", 6), ("000000", 0)],
)
def test_damage_is_located(data, position):
    with pytest.raises(DecodeError) as caught:
        list(read_elements(FULL, bytes.fromhex(data)))
    assert caught.value.code == "SERDE_DECODE"
    assert caught.value.position == position


@pytest.mark.parametrize("made", [StreamElementSerializer, ValueOnlySerializer])
@pytest.mark.parametrize("inner", [FULL, BARE])
def test_elements_do_not_nest(made, inner):
    with pytest.raises(ArgumentError) as caught:
        made(inner)
    assert caught.value.code == "GRAPH_ARGUMENT"


@pytest.mark.parametrize(
    "element", ["a", Watermark(2**63), StreamRecord(True, 2**63), InternalWatermark(2**31, 0)]
)
def test_what_is_no_element_is_refused(element):
    with pytest.raises(ArgumentError):
        written(FULL, element)
