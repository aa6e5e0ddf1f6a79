"""Buckets of a channel: records that wait until they fill a frame, as segments of pickles or as columns.

    values, keys ──▶ one bucket per route ──twice a frame in all──▶ segments ──▶ frames

A batch run pickles records while they are in the cache of a core: with frames of 4,096 records that is 8,192.
If there are many routes, each bucket has few records then, and frames of few records are expensive for the
reader and for Spark. So the segments of a route are buffered as bytes until they fill a frame. Columns are
records of a source, bucketed by a field, or merged parts of aggregates.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types as kinds

from penstock.errors import CallSite
from penstock.metrics.job_metrics import COMBINED_IN, COMBINED_OUT
from penstock.metrics.values import CounterValue, MetricValue
from penstock.program.channel import ChannelSpec, StreamPartitioner
from penstock.program.fold import ChannelFold
from penstock.program.routing import RecordRoutes
from penstock.program.run_settings import RunKind, RunSettings
from penstock.program.selected_field import field_position
from penstock.runtime.exchange.channel_errors import unpicklable
from penstock.runtime.exchange.group_order import hashes_of_column
from penstock.runtime.exchange.selected_keys import routes_of
from penstock.runtime.fold.panes import pane_starts_of
from penstock.runtime.fold.parts_merge import PartsMerge
from penstock.runtime.fold.sender_fold import refuse_untimed
from penstock.types.arrow import one_batch
from penstock.types.arrow_lists import columns_to_lists
from penstock.types.record_form import RecordForm
from penstock.wire.canonical.key_groups import groups_of
from penstock.wire.elements import MIN_TIMESTAMP
from penstock.wire.frame import pack_segment
from penstock.wire.row_columns import is_plain, rows_of

_OPEN_FRAMES = 2
_WAITING_BYTES = 16 << 20

_Buckets = defaultdict[int, list[Any]]


@dataclass(slots=True)
class SegmentedFrame:
    """The segments of a frame.

    Attributes:
        segments: Made by `pack_segment`.
        stamps: Timestamps of each segment, as native int64; none if records have none.
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
        """Pickle the buckets, and yield full frames."""
        for route, values in self._values.items():
            keys, stamps = self._keys.get(route), self._stamps.get(route)
            for start in range(0, len(values), self._most):
                end = start + self._most
                yield from self._add(
                    route,
                    values[start:end],
                    None if keys is None else keys[start:end],
                    None if stamps is None else stamps[start:end],
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


FIRST_MERGE = 1 << 16
"""Rows that wait before the first merge, or before they are sent if nothing is merged."""

Times = npt.NDArray[np.int64]
"""A timestamp, or the begin of a pane, for each row."""

Sent = tuple[int, pa.RecordBatch, list[int] | None]
"""(route, rows, their timestamps)."""


class PartsBuckets:
    """The waiting parts of one channel."""

    def __init__(self, fold: ChannelFold, routes: RecordRoutes, max_parallelism: int) -> None:
        """Begin empty."""
        self.merge = PartsMerge(fold.aggregate, fold.name, fold.origin)
        self._fold = fold
        self._merges = fold.folds and not fold.is_merged
        self._routes = routes
        self._groups = max_parallelism
        self._waiting: list[pa.RecordBatch] = []
        self._times: list[Times | None] = []
        self._rows = self._bytes = 0
        self._merge_at = FIRST_MERGE
        self._records_in = self._records_out = 0

    def add(self, batch: pa.RecordBatch, timestamps: list[int] | None) -> None:
        """Add rows of parts."""
        prepared = self.merge.columns.prepared(batch)
        self._times.append(self._times_of(batch, timestamps) if self._fold.keeps_time else None)
        self._waiting.append(prepared)
        self._rows += batch.num_rows
        self._bytes += prepared.nbytes
        self._records_in += batch.num_rows
        if self._merges and self._rows >= self._merge_at:
            self._merge()
            self._merge_at = max(FIRST_MERGE, 2 * self._rows)

    def add_records(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Add records of parts; see `add`."""
        self.add(self.merge.of_records(values), timestamps)

    def takes(self, schema: pa.Schema) -> bool:
        """Return whether a source whose columns have a schema has made the parts itself."""
        names: list[str] = schema.names
        names_of_parts: list[str] = self.merge.columns.schema.names
        return names == names_of_parts

    @property
    def is_empty(self) -> bool:
        """True if nothing waits."""
        return not self._waiting

    @property
    def is_full(self) -> bool:
        """True if what waits has to leave."""
        if not self._fold.folds:
            return self._rows >= FIRST_MERGE
        return self._bytes >= self._fold.memory_bytes

    def take(self, max_records: int) -> Iterator[Sent]:
        """Yield what waits, in order of arrival for each route if nothing is merged."""
        if self._merges:
            self._merge()
        self._records_out += self._rows
        batch = one_batch(self._waiting)
        stamps = self._joined_times()
        self._waiting, self._times, self._rows, self._bytes = [], [], 0, 0
        self._merge_at = FIRST_MERGE
        routes = self._routes_of(batch)
        order = np.argsort(routes, kind="stable")
        batch, routes = batch.take(pa.array(order)), routes[order]
        times = None if stamps is None else stamps[order].tolist()
        starts = np.flatnonzero(np.diff(routes, prepend=routes[0] - 1)).tolist()
        for start, end in zip(starts, [*starts[1:], len(routes)], strict=True):
            for begin in range(start, end, max_records):
                to = min(begin + max_records, end)
                own = None if times is None else times[begin:to]
                yield int(routes[begin]), batch.slice(begin, to - begin), own

    def take_metrics(self) -> dict[str, MetricValue]:
        """Return what it merged since the last call, by full name."""
        taken: dict[str, MetricValue] = {}
        if self._fold.folds:
            uid = self._fold.uid
            taken[f"{uid}.{COMBINED_IN}"] = CounterValue(self._records_in)
            taken[f"{uid}.{COMBINED_OUT}"] = CounterValue(self._records_out)
        self._records_in = self._records_out = 0
        return taken

    def _times_of(self, batch: pa.RecordBatch, timestamps: list[int] | None) -> Times | None:
        """Return the timestamps of records, of those of panes the begin of those; None if they have none."""
        shape = self._fold.panes
        if shape is None:
            return None if timestamps is None else np.array(timestamps, dtype=np.int64)
        if timestamps is None or MIN_TIMESTAMP in timestamps:
            refuse_untimed(self._fold.assigner, iter(rows_of(batch)), timestamps)
        times = np.array(timestamps, dtype=np.int64)
        return pane_starts_of(times, shape) if self._fold.folds else times

    def _joined_times(self) -> Times | None:
        """Return one timestamp for each row that waits, Long.MIN if it has none; None if no row has one."""
        if all(times is None for times in self._times):
            return None
        return np.concatenate(
            [
                np.full(batch.num_rows, MIN_TIMESTAMP) if times is None else times
                for batch, times in zip(self._waiting, self._times, strict=True)
            ]
        )

    def _merge(self) -> None:
        times = self._joined_times()
        merged, panes = self.merge.merged(self._waiting, *([] if times is None else [times]))
        self._waiting, self._times = [merged], [*panes, None][:1]
        self._rows, self._bytes = merged.num_rows, merged.nbytes

    def _routes_of(self, batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
        if self.merge.columns.keys == 1:
            hashes = hashes_of_column(batch.column(0))
            if hashes is not None:
                return self._routes.of_groups[groups_of(hashes, self._groups)]
        keys = self.merge.keys_of(batch)
        routes = routes_of(self._routes, keys, keys, self._fold.origin)
        return np.array(routes, dtype=np.int64)


_BUCKETS_TOTAL = 4  # frames that columns of records make at a time


def column_buckets(
    spec: ChannelSpec, settings: RunSettings, routes: RecordRoutes
) -> ColumnBuckets | PartsBuckets | None:
    """Return the buckets of a channel that may send columns; None if it sends records only."""
    groups = settings.max_parallelism
    if spec.fold is not None and spec.fold.aggregate is not None:
        return PartsBuckets(spec.fold, routes, groups)
    is_live = settings.kind is RunKind.LIVE and spec.source_level == 0
    if not is_live or spec.partitioner is not StreamPartitioner.HASH or spec.key_selector is None:
        return None
    return ColumnBuckets(
        spec.key_selector, groups, routes, settings.max_frame_records * _BUCKETS_TOTAL
    )


class ColumnBuckets:
    """The buffered columns of one channel."""

    def __init__(
        self,
        selector: Callable[[Any], Any],
        max_parallelism: int,
        routes: RecordRoutes,
        limit: int,
    ) -> None:
        """Begin empty."""
        self._limit = limit
        self._selector = selector
        self._groups = max_parallelism
        self._routes = routes
        self._waiting: list[Any] = []
        self._schema: Any = None
        self._key: int | None = None
        self._count = 0

    @property
    def is_empty(self) -> bool:
        """True if nothing is buffered."""
        return not self._count

    @property
    def is_full(self) -> bool:
        """True if the buffered rows have to leave."""
        return self._count >= self._limit

    def takes(self, schema: Any) -> bool:
        """Return whether it can route batches of an Arrow schema; others are sent as rows."""
        if schema is not self._schema and schema != self._schema:
            assert not self._waiting, "batches of one schema at a time"
            self._key = _key_column(schema, self._selector)
        self._schema = schema
        return self._key is not None

    def add(self, batch: Any, timestamps: list[int] | None = None) -> None:
        """Add a batch of the schema of the last call of `takes`."""
        assert timestamps is None, "records of columns of a source have none"
        self._waiting.append(batch)
        self._count += batch.num_rows

    def take(self, max_records: int) -> Iterator[tuple[int, Any, list[int] | None]]:
        """Yield all buffered records as (route, batch, no timestamps), in order of arrival for each route."""
        if not self._waiting:
            return
        table = pa.Table.from_batches(self._waiting).combine_chunks()
        self._waiting, self._count = [], 0
        (batch,) = table.to_batches()
        routes = self._routes_of(batch)
        for route in np.unique(routes).tolist():
            own = batch.take(pa.array(np.flatnonzero(routes == route)))
            for start in range(0, own.num_rows, max_records):
                yield route, own.slice(start, max_records), None

    def _routes_of(self, batch: Any) -> npt.NDArray[np.int64]:
        assert self._key is not None, "only what can be placed is taken"
        hashes = hashes_of_column(batch.column(self._key))
        if hashes is not None:
            return self._routes.of_groups[groups_of(hashes, self._groups)]
        (keys,) = columns_to_lists(batch.select([self._key]))
        return np.array(self._routes.of(keys), dtype=np.int64)


def _key_column(schema: Any, selector: Callable[[Any], Any]) -> int | None:
    if not is_plain(schema):
        return None
    position = field_position(selector, schema.names)
    # NaN is no key: such batches are sent as rows, because the error shows the row.
    if position is not None and kinds.is_floating(schema.field(position).type):
        return None
    return position
