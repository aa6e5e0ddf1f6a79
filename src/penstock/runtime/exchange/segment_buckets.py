"""Buckets the records of a batch run by route, and pickles them while they are in the cache.

    values, keys ──▶ one bucket per route ──twice a frame in all──▶ segments ──▶ frames

With frames of 4,096 records that is 8,192, which are still in the cache of a core. If there are many routes,
each bucket has few records then, and frames of few records are expensive for the reader and for Spark. So
the segments of a route are buffered as bytes until they fill a frame.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import CallSite
from penstock.runtime.exchange.channel_errors import unpicklable
from penstock.types.record_form import RecordForm
from penstock.wire.frame import pack_segment

_OPEN_FRAMES = 2
_WAITING_BYTES = 16 << 20

_Buckets = defaultdict[int, list[Any]]


@dataclass(slots=True)
class SegmentedFrame:
    """The segments of a frame.

    Attributes:
        route: Route of the frame.
        is_keyed: Whether the segments have keys.
        segments: Made by `pack_segment`.
        stamps: Timestamps of each segment, as native int64; none if records have none.
        count: Number of records.
    """

    route: int
    is_keyed: bool
    segments: list[bytes] = field(default_factory=list)
    stamps: list[bytes] = field(default_factory=list)
    count: int = 0


class SegmentBuckets:
    """The buffered records of one channel in one task. Records of a route stay in order."""

    def __init__(
        self, max_frame_records: int, origin: CallSite | None, form: RecordForm | None = None
    ) -> None:
        """Begin empty."""
        self._most = max_frame_records
        self._most_open = _OPEN_FRAMES * max_frame_records
        self._origin = origin
        self._form = form
        self._values: _Buckets = defaultdict(list)
        self._keys: _Buckets = defaultdict(list)
        self._stamps: _Buckets = defaultdict(list)
        self._open = 0
        self._waiting: dict[int, SegmentedFrame] = {}
        self._waiting_bytes = 0

    def add(
        self,
        routes: list[int],
        values: list[Any],
        *,
        keys: list[Any] | None = None,
        timestamps: list[int] | None = None,
    ) -> None:
        """Add records to their buckets.

        Between two calls of `take_frames` for the rest, either all records have keys or none has, and
        the same holds for timestamps.
        """
        _append(self._values, routes, values)
        if keys is not None:
            _append(self._keys, routes, keys)
        if timestamps is not None:
            _append(self._stamps, routes, timestamps)
        self._open += len(values)

    @property
    def is_full(self) -> bool:
        """True if the buckets are full, so that `take_frames` is due."""
        return self._open >= self._most_open

    def take_frames(self, *, rest: bool) -> Iterator[SegmentedFrame]:
        """Pickle the buckets, and yield full frames.

        Raises:
            UserCodeError: A value cannot be pickled.
        """
        for route, values in self._values.items():
            keys, stamps = self._keys.get(route), self._stamps.get(route)
            for at in range(0, len(values), self._most):
                end = at + self._most
                yield from self._add(
                    route,
                    values[at:end],
                    None if keys is None else keys[at:end],
                    None if stamps is None else stamps[at:end],
                )
        self._values.clear()
        self._keys.clear()
        self._stamps.clear()
        self._open = 0
        if rest or self._waiting_bytes >= _WAITING_BYTES:
            yield from self._waiting.values()
            self._waiting.clear()
            self._waiting_bytes = 0

    def _add(
        self, route: int, values: list[Any], keys: list[Any] | None, stamps: list[int] | None
    ) -> Iterator[SegmentedFrame]:
        try:
            segment = pack_segment(keys, values, self._form)
        except BaseException as cause:  # whatever a user's __reduce__ raises
            raise unpicklable(cause, values, self._origin) from cause
        frame = self._waiting.get(route)
        if frame is not None and frame.count + len(values) > self._most:
            self._waiting_bytes -= sum(map(len, frame.segments))
            yield frame
            frame = None
        if frame is None:
            frame = self._waiting[route] = SegmentedFrame(route, keys is not None)
        frame.segments.append(segment)
        if stamps is not None:
            frame.stamps.append(array("q", stamps).tobytes())
        frame.count += len(values)
        self._waiting_bytes += len(segment)


def _append(buckets: _Buckets, routes: list[int], values: list[Any]) -> None:
    for route, value in zip(routes, values, strict=True):
        buckets[route].append(value)
