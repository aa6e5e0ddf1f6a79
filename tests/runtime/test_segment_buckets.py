"""Records by route: nothing is lost, and those of a route keep their order."""

from __future__ import annotations

from collections import defaultdict
from itertools import repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import DecodeError, UserCodeError
from penstock.runtime.exchange import buckets as module
from penstock.runtime.exchange.buckets import SegmentBuckets, SegmentedFrame
from penstock.types.row import Row
from penstock.wire.frame import (
    FrameHeader,
    FrameKind,
    decode_pairs,
    decode_records,
    encode_segments,
    pack_segment,
    read_header,
)

BATCHES = st.lists(
    st.lists(
        st.tuples(
            st.integers(0, 3), st.text("ab", max_size=1), st.integers(-(1 << 63), (1 << 63) - 1)
        ),
        min_size=1,
    )
)


def frame_of(made):
    header = FrameHeader(0, 0, 2, 1, FrameKind.RECORDS, made.count)
    return encode_segments(header, made.segments, made.stamps, keyed=made.is_keyed)


def frames_of(batches, add, most, open_frames, bytes_):
    """Return what is made of batches that `add` puts into the buckets."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_OPEN_FRAMES", open_frames)
        patch.setattr(module, "_WAITING_BYTES", bytes_)
        buckets = SegmentBuckets(most, None)
        frames: list[SegmentedFrame] = []
        for batch in batches:
            add(buckets, *map(list, zip(*batch, strict=True)))
            if buckets.is_full:
                frames += buckets.take_frames(rest=False)
        frames += buckets.take_frames(rest=True)
        assert list(buckets.take_frames(rest=True)) == []
    return frames


LIMITS = {"most": st.integers(1, 5), "open_frames": st.integers(1, 9), "bytes_": st.integers(1)}


@given(batches=BATCHES, **LIMITS)
def test_every_route_gets_its_pairs_in_order(batches, most, open_frames, bytes_):
    def add(buckets, routes, keys, values):
        buckets.add(routes, values, keys=keys)

    frames = frames_of(batches, add, most, open_frames, bytes_)
    found: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for pairs in frames:
        frame = frame_of(pairs)
        header = read_header(frame)
        assert header.has_keys
        assert 0 < header.count == pairs.count <= most
        keys, values, stamps = decode_pairs(header, frame)
        assert stamps is None
        assert decode_records(header, frame) == (list(zip(keys, values, strict=True)), None)
        found[pairs.route] += zip(keys, values, strict=True)
    wanted = defaultdict(list)
    for route, key, value in (record for batch in batches for record in batch):
        wanted[route].append((key, value))
    assert found == wanted


@given(batches=BATCHES, stamped=st.booleans(), **LIMITS)
def test_every_route_gets_its_records_and_timestamps(batches, stamped, most, open_frames, bytes_):
    def add(buckets, routes, values, stamps):
        buckets.add(routes, values, timestamps=stamps if stamped else None)

    frames = frames_of(batches, add, most, open_frames, bytes_)
    found: dict[int, list[tuple[str, int | None]]] = defaultdict(list)
    for made in frames:
        frame = frame_of(made)
        header = read_header(frame)
        assert not header.has_keys
        assert header.has_timestamps is stamped
        values, times = decode_records(header, frame)
        assert 0 < len(values) <= most
        assert times is None or len(times) == len(values)
        found[made.route] += zip(values, times or repeat(None), strict=False)
    wanted = defaultdict(list)
    for route, value, stamp in (record for batch in batches for record in batch):
        wanted[route].append((value, stamp if stamped else None))
    assert found == wanted


def test_rows_come_back_as_rows():
    rows = [Row(page="a", count=1), Row(page="b", count=2)]
    segment = pack_segment([1, 2], rows)
    frame = encode_segments(FrameHeader(0, 0, 2, 1, FrameKind.RECORDS, 2), [segment], keyed=True)
    assert decode_pairs(read_header(frame), frame) == ([1, 2], rows, None)
    assert len(segment) < len(pack_segment([1, 2], [(row,) for row in rows]))


def test_few_pairs_of_many_routes_share_frames():
    buckets = SegmentBuckets(4096, None)
    frames: list[SegmentedFrame] = []
    for start in range(0, 1 << 16, 1 << 12):
        keys = list(range(start, start + (1 << 12)))
        buckets.add([key % 64 for key in keys], keys, keys=keys)
        if buckets.is_full:
            frames += buckets.take_frames(rest=False)
    assert frames == []
    frames = list(buckets.take_frames(rest=True))
    assert [frame.count for frame in frames] == [1024] * 64


def test_a_value_that_cannot_be_pickled_is_named():
    buckets = SegmentBuckets(10, None)
    buckets.add([0, 0], [1, lambda: 2], keys=["a", "b"])
    with pytest.raises(UserCodeError, match="lambda"):
        list(buckets.take_frames(rest=True))


@given(at=st.integers(0, 60), bit=st.integers(0, 7), count=st.integers(0, 3))
def test_damage_is_found_or_changes_values_only(at, bit, count):
    frame = bytearray(
        encode_segments(
            FrameHeader(0, 0, 2, 1, FrameKind.RECORDS, 2),
            [pack_segment(["a"], [1]), pack_segment([2], [3])],
            keyed=True,
        )
    )
    place = min(24 + at, len(frame) - 1)
    frame[place] ^= 1 << bit
    header = read_header(bytes(frame))
    try:
        keys, values, _ = decode_pairs(header, bytes(frame))
    except (DecodeError, MemoryError):  # a damaged size may be any size
        return
    assert len(keys) == len(values) == 2


@pytest.mark.parametrize("size", [-1, 1, -7])
def test_a_frame_that_is_cut_or_longer_is_refused(size):
    header = FrameHeader(0, 0, 2, 1, FrameKind.RECORDS, 1)
    frame = encode_segments(header, [pack_segment(["a"], [1])], keyed=True)
    damaged = frame + b"x" * size if size > 0 else frame[:size]
    with pytest.raises(DecodeError, match="records"):
        decode_pairs(read_header(damaged), damaged)
