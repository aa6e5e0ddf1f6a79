"""The sending end of a channel: buckets records by route and writes frames.

Records are buffered in one bucket per route. A bucket is sent when it has `max_frame_records`, when
all buckets together have four times as many (so memory is bounded for any number of routes), or at
`flush`. A watermark is sent to every subtask after the records before it: at the end of the task or
micro-batch, or, if it must take effect between records of a live run, at once as a punctuation.
Backlog statuses are sent between records too, except in a batch run with keys, whose records are
in order of keys.

In a batch run a record with a key goes to one of many routes, so frames are made in segments (`buckets`).
Records may be folded by key before (`sender_fold`). The channel then sends keys and accumulators: the reader
cannot call the key selector, because an accumulator is not a record. `OperatorSpec.takes_keys` marks such readers.

A live run reads results of a bounded region (FLIP-331) in a run of their own, before everything else. A batch
run reads all together, and each key in order of time. So its records have the number of results among them:
these come first, as they were written, whatever their time.
"""

from __future__ import annotations

import pickle
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from penstock.errors import KeyTypeError
from penstock.metrics.task_clock import ENCODE, EXCHANGE, TaskClock
from penstock.metrics.values import MetricValue
from penstock.program.channel import SINK_LEVEL, ChannelSpec, ChannelTime
from penstock.program.routing import RecordRoutes, destination_routes, record_routes
from penstock.program.run_settings import RunKind, RunSettings
from penstock.program.selected_field import getter_of
from penstock.runtime.exchange.buckets import (
    ColumnBuckets,
    PartsBuckets,
    SegmentBuckets,
    column_buckets,
)
from penstock.runtime.exchange.channel_errors import named, not_folded, unpicklable
from penstock.runtime.exchange.placement import make_placement, placed_columns
from penstock.runtime.exchange.selected_keys import SelectorCheck, by_value, keys_of, routes_of
from penstock.runtime.fold.loops import failing_key
from penstock.runtime.fold.parts_merge import PartsMerge
from penstock.runtime.fold.sender_fold import SenderFold, refuse_untimed
from penstock.types.record_form import record_form
from penstock.wire.elements import (
    MAX_WATERMARK,
    MIN_TIMESTAMP,
    BacklogStatus,
    ControlElement,
    Watermark,
    WatermarkStatus,
)
from penstock.wire.frame import (
    FrameHeader,
    FrameKind,
    encode_columns,
    encode_payload,
    encode_records,
    encode_segments,
)
from penstock.wire.row_columns import rows_of


class ChannelTimeline:
    """Watermark and idleness of one channel in one task.

    Attributes:
        greatest: Greatest watermark over all splits so far.
        sender: (group, split) of the current records, None if it is unknown.
    """

    def __init__(self) -> None:
        """Begin without a watermark; nothing is sent."""
        self.greatest = MIN_TIMESTAMP
        self.sender: tuple[int, int] | None = None
        self._watermark = self._sent_watermark = MIN_TIMESTAMP
        self._idle: bool | None = None
        self._sent_idle: bool | None = None

    @property
    def watermark(self) -> int:
        """The watermark of the current split."""
        return self._watermark

    def start_split(self, sender: tuple[int, int] | None) -> None:
        """Reset the watermark: another split begins."""
        self._watermark = self._sent_watermark = MIN_TIMESTAMP
        self._idle = self._sent_idle = None
        self.sender = sender

    def advance(self, watermark: int) -> None:
        """Store a watermark."""
        self._watermark = max(watermark, self._watermark)
        self.greatest = max(watermark, self.greatest)

    def restore(self, watermark: int) -> None:
        """Set the watermark that was already sent."""
        self._watermark = self._sent_watermark = watermark

    def set_idle(self, idle: bool) -> None:  # noqa: FBT001 - a status, not a switch
        """Store whether the sender is idle."""
        self._idle = idle

    def take_update(self, group: int, split: int, *, finished: bool) -> list[ControlElement]:
        """Return the elements to send for a split, and record them as sent."""
        updates: list[ControlElement] = []
        if self._watermark != self._sent_watermark or finished:
            updates.append(Watermark(group, split, self._watermark, finished))
            self._sent_watermark = self._watermark
        if self._idle is not None and self._idle != self._sent_idle and not finished:
            updates.append(WatermarkStatus(group, split, self._idle))
            self._sent_idle = self._idle
        return updates

    def take_end(self, *, finished: bool) -> bool:
        """Return whether to send the end of input in a job without time, and record it as sent."""
        if self._watermark != MAX_WATERMARK:
            return False
        is_news = finished or self._sent_watermark != MAX_WATERMARK
        self._sent_watermark = MAX_WATERMARK
        return is_news


class ResultsFirst(list[Any]):
    """Records that begin with results."""

    __slots__ = ("results",)

    def __init__(self, values: Sequence[Any], results: int) -> None:
        super().__init__(values)
        self.results = results


def results_among(values: list[Any]) -> int:
    """Return how many of some records are results; they are the first ones."""
    return values.results if type(values) is ResultsFirst else 0


class FrameSequence:
    """Numbers the frames of a task, and has the task's clock."""

    __slots__ = ("_next", "clock", "task")

    def __init__(self, task: int, clock: TaskClock | None = None) -> None:
        """Start at 0."""
        self.task = task
        self.clock = TaskClock() if clock is None else clock
        self._next = 0

    def take(self) -> int:
        """Return the next number."""
        number = self._next
        self._next = number + 1
        return number


Emit = Callable[[int, bytes], None]
"""Takes (route, frame)."""

# Pickling reads the records again. 16,384 of them are then still in a core's cache; with four times
# as many, which are not, level 0 takes up to twice the time.
_BUCKETS_TOTAL = 4


class ChannelWriter:
    """Writes one channel from one task.

    Attributes:
        is_to_sink: Whether it leads to a sink, which reads no watermarks.
        timeline: The elements about time that it sends.
        backlog: The last backlog status that it sent; None if it sent none.
    """

    def __init__(
        self, spec: ChannelSpec, settings: RunSettings, sequence: FrameSequence, emit: Emit
    ) -> None:
        self._spec = spec
        self.is_to_sink = spec.target_level == SINK_LEVEL
        self.timeline = ChannelTimeline()
        self._emit = emit
        self._sequence = sequence
        self._clock = sequence.clock
        self._max_records = settings.max_frame_records
        self._key_getter = None if spec.key_selector is None else getter_of(spec.key_selector)
        self._check = SelectorCheck(spec, self._key_getter)
        subtasks = min(spec.subtasks or settings.parallelism, settings.parallelism)
        self._routes = RecordRoutes(settings, subtasks)
        self._destinations = destination_routes(settings)[:subtasks]
        self._between = record_routes(spec, settings, subtasks)
        self._make_placement = partial(make_placement, spec, settings, sequence.task, subtasks)
        self._placed = self._make_placement()
        self._buckets: dict[int, list[Any]] = defaultdict(list)
        self._stamps: dict[int, list[int]] = defaultdict(list)
        self._buffered = 0
        self._has_timestamps = False
        self._punctuates = settings.kind is RunKind.LIVE and not self.is_to_sink
        self.backlog: bool | None = None
        self._is_first = True
        self._is_bare = spec.time is not ChannelTime.FULL
        self._columns = column_buckets(spec, settings, self._routes)
        self._parts = self._columns if isinstance(self._columns, PartsBuckets) else None
        is_folded = spec.fold is not None and self._parts is None
        self._fold = SenderFold(spec.fold) if is_folded and spec.fold is not None else None
        self._sessions: PartsMerge | None = None
        if spec.fold is not None and spec.fold.of_sessions is not None:
            self._sessions = PartsMerge(spec.fold.of_sessions, spec.target_name, spec.origin)
        self._form = record_form(spec.record_type)
        self._segments: SegmentBuckets | None = None
        if settings.kind is RunKind.BATCH and self._placed is None:
            self._segments = SegmentBuckets(self._max_records, spec.origin, self._form)

    def collect(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Bucket a batch."""
        before = self._clock.switch(EXCHANGE)
        self._take(values, timestamps)
        self._clock.switch(before)

    def _take(self, values: list[Any], timestamps: list[int] | None) -> None:
        self._is_first = self._is_first and self._segments is not None
        if self._is_bare:
            timestamps = None
        if self._parts is not None:
            self._parts.add_records(values, timestamps)
            self._send_columns(self._parts, rest=False)
            return
        has_timestamps = timestamps is not None
        if has_timestamps != self._has_timestamps or (self._columns and not self._columns.is_empty):
            self._flush_buckets()
            self._has_timestamps = has_timestamps
        if self._placed is None:
            self._bucket(values, timestamps)
            return
        for route, some, stamps in self._placed(values, timestamps):
            self._send_in_segments(route, some, stamps)

    def takes_columns(self, schema: Any) -> bool:
        """Return whether `collect_columns` takes batches of an Arrow schema."""
        return self._columns is not None and self._columns.takes(schema)

    @property
    def takes_batches(self) -> bool:
        """True if `collect_columns` takes batches of an operator."""
        is_placed = self._placed is not None and self._spec.partition_function is None
        return self._parts is not None or (self.is_to_sink and is_placed)

    @property
    def part_keys(self) -> int | None:
        """Number of columns of the key, if it sends parts of aggregates; None if it sends other records."""
        merge = self._sessions if self._parts is None else self._parts.merge
        return None if merge is None else merge.columns.keys

    @property
    def takes_sessions(self) -> bool:
        """True if `collect_columns` takes parts of sessions, with the times of their last records as the last column."""
        return self._sessions is not None

    def collect_columns(self, batch: Any, timestamps: list[int] | None = None) -> None:
        """Send the rows of an Arrow batch; only if `takes_columns`, `takes_batches` or `takes_sessions` is true."""
        if self._sessions is not None:
            assert timestamps is not None, "sessions have begins"
            self._send_sessions(self._sessions, batch, timestamps)
            return
        if self._columns is None:
            self._place_columns(batch)
            return
        before = self._clock.switch(EXCHANGE)
        self._is_first = self._is_first and self._segments is not None
        if self._buffered:
            self._flush_buckets()
        self._columns.add(batch, None if self._is_bare else timestamps)
        self._send_columns(self._columns, rest=False)
        self._clock.switch(before)

    def _place_columns(self, batch: Any) -> None:
        """Send columns to where their rows go."""
        assert self._placed is not None, "records to sinks are not routed by key"
        before = self._clock.switch(ENCODE)
        for route, some in placed_columns(self._placed, batch):
            header = self._header(FrameKind.RECORDS, some.num_rows)
            self._emit(route, encode_columns(header, some))
        self._clock.switch(before)

    def start_epoch(self) -> None:
        """Begin a micro-batch: records are routed as by a new task.

        A task that another worker repeats must send each record to the same subtask. Otherwise
        some subtasks would read the first attempt and others the second.
        """
        self._placed = self._make_placement()
        self._is_first = True
        if self.backlog is not None:
            self._send_backlog(self.backlog)  # the reader may run in another worker

    def advance_watermark(self, watermark: int) -> None:
        """Store a watermark for `send_watermark`."""
        self.timeline.advance(watermark)

    def restore_watermark(self, watermark: int) -> None:
        """Set the watermark that was already sent."""
        self.timeline.restore(watermark)

    def flush(self) -> None:
        """Send all buffered records."""
        if self._fold is not None:
            self._send_folded(self._fold)
        self._flush_buckets()

    def take_metrics(self) -> dict[str, MetricValue]:
        """Return the metrics of the sender's fold since the last call, by full name."""
        taken = self._fold or self._parts
        return {} if taken is None else taken.take_metrics()

    def set_idle(self, idle: bool) -> None:  # noqa: FBT001 - a status, not a switch
        """Store whether the sender is idle, for `send_watermark`."""
        self.timeline.set_idle(idle)

    def set_backlog(self, backlog: bool) -> None:  # noqa: FBT001
        """Send the status to every subtask after the sent records, and at the begin of micro-batches."""
        if backlog is not self.backlog:
            self.backlog = backlog
            self._send_backlog(backlog)

    def separate(self) -> None:
        """Send buffered records and then the watermark, before any later record.

        It does nothing in a batch run, whose watermark takes effect at its end only, and nothing
        without a known sender: the records of tasks that read files have no order.
        """
        sender = self.timeline.sender
        if self._punctuates and sender is not None:
            self._flush_buckets()
            self._send_time(*sender, finished=False, kind=FrameKind.PUNCTUATION)

    def send_watermark(self, group: int, split: int, *, finished: bool) -> None:
        """Send the watermark, if it advanced or the split finished, to every subtask.

        It also sends whether the split is idle, if that has changed.
        """
        if not self.is_to_sink:
            self._send_time(group, split, finished=finished, kind=FrameKind.CONTROL)

    def start_split(self, group: int | None = None, split: int | None = None) -> None:
        """Reset the watermark: another split of the source begins; None is an unknown one."""
        self.timeline.start_split(None if group is None or split is None else (group, split))

    def send_control(
        self,
        elements: Sequence[ControlElement | BacklogStatus],
        kind: FrameKind = FrameKind.CONTROL,
        routes: Sequence[int] | None = None,
    ) -> None:
        """Send control elements to every subtask, or to some routes."""
        payload = pickle.dumps(tuple(elements), 5)
        for route in self._destinations if routes is None else routes:
            header = self._header(kind, len(elements))
            self._emit(route, encode_payload(header, payload))

    def _send_backlog(self, backlog: bool) -> None:  # noqa: FBT001
        if self.is_to_sink:
            return
        status = BacklogStatus(self._sequence.task, backlog, before_records=self._is_first)
        # only the first status is sent, for all records: records are sorted by key
        if self._segments is not None:
            self._is_first = False
            self.send_control((status,))
            return
        if self._is_first:
            self.send_control((status,))
            return
        self._flush_buckets()
        self.send_control((status,), FrameKind.PUNCTUATION, self._between)

    def send_latency(self, payload: bytes, chance: random.Random) -> None:
        """Send a latency marker to one random subtask, after the buffered records."""
        self._flush_buckets()
        route = chance.choice(self._destinations)
        self._emit(route, encode_payload(self._header(FrameKind.LATENCY, 1), payload))

    def _send_time(self, group: int, split: int, *, finished: bool, kind: FrameKind) -> None:
        updates = self.timeline.take_update(group, split, finished=finished)
        if updates:
            self.send_control(updates, kind)

    def _bucket(self, values: list[Any], timestamps: list[int] | None) -> None:
        try:
            keys = by_value(keys_of(self._spec, self._key_getter, values))
            self._check(values, keys)
            if self._fold is None:
                self._send_by_key(keys, values, timestamps)
            else:
                self._add_to(self._fold, keys, values, timestamps)
        except KeyTypeError as refused:
            raise named(refused, self._spec.target_name) from refused

    def _add_to(
        self, fold: SenderFold, keys: list[Any], values: list[Any], timestamps: list[int] | None
    ) -> None:
        if not fold.is_useful and fold.sends_records:
            self._send_pairs(keys, *fold.unfolded(values, timestamps))
            return
        position = iter(values)
        try:
            fold.add(keys, position, timestamps)
        except BaseException as cause:
            key = failing_key(keys, values, position)
            raise not_folded(fold, cause, key, values, position) from cause
        if fold.is_full or not fold.is_useful:
            self._send_folded(fold)

    def _send_folded(self, fold: SenderFold) -> None:
        before = self._clock.switch(EXCHANGE)
        for keys, values, stamps in fold.take(self._max_records * _BUCKETS_TOTAL):
            self._send_pairs(keys, values, stamps)
        self._clock.switch(before)

    def _send_pairs(self, keys: list[Any], values: list[Any], timestamps: list[int] | None) -> None:
        assert self._segments is not None, "records are folded in batch runs"
        self._segments.add(self._routes_of(keys, values), values, keys=keys, timestamps=timestamps)
        self._send_segments(self._segments, rest=False)

    def _send_sessions(self, merge: PartsMerge, batch: Any, firsts: list[int]) -> None:
        """Send what Spark SQL has merged as the entries of a table of sessions are sent."""
        assert self._spec.fold is not None, "its reader folds"
        before = self._clock.switch(EXCHANGE)
        *_, lasts = batch.columns
        parts = merge.columns.prepared(batch.select(range(batch.num_columns - 1)))
        rows = rows_of(parts)
        if MIN_TIMESTAMP in firsts:
            refuse_untimed(self._spec.fold.assigner, iter(rows), firsts)
        try:
            self._send_pairs(
                merge.keys_of(parts), list(zip(rows, lasts.to_pylist(), strict=True)), firsts
            )
        except KeyTypeError as refused:
            raise named(refused, self._spec.target_name) from refused
        self._clock.switch(before)

    def _send_segments(self, waiting: SegmentBuckets, *, rest: bool) -> None:
        if not (rest or waiting.is_full):
            return
        before = self._clock.switch(ENCODE)
        for segmented in waiting.take_frames(rest=rest):
            header = self._header(FrameKind.RECORDS, segmented.count)
            frame = encode_segments(
                header, segmented.segments, segmented.stamps, keyed=segmented.is_keyed
            )
            self._emit(segmented.route, frame)
        self._clock.switch(before)

    def _send_by_key(
        self, keys: list[Any], values: list[Any], timestamps: list[int] | None
    ) -> None:
        routes = self._routes_of(keys, values)
        if self._segments is not None:
            self._segments.add(routes, values, timestamps=timestamps)
            self._send_segments(self._segments, rest=False)
            return
        buckets = self._buckets
        for route, value in zip(routes, values, strict=True):
            buckets[route].append(value)
        if timestamps is not None:
            stamps = self._stamps
            for route, stamp in zip(routes, timestamps, strict=True):
                stamps[route].append(stamp)
        self._buffered += len(values)
        limit = self._max_records
        if self._buffered >= limit * _BUCKETS_TOTAL:
            self._flush_buckets()
        else:
            for route in [r for r, bucket in buckets.items() if len(bucket) >= limit]:
                self._send_bucket(route)

    def _routes_of(self, keys: list[Any], values: list[Any]) -> list[int]:
        return routes_of(self._routes, keys, values, self._spec.origin)

    def _send_in_segments(
        self, route: int, values: list[Any], timestamps: list[int] | None
    ) -> None:
        limit = self._max_records
        if len(values) <= limit:
            self._send(route, values, timestamps)
            return
        for start in range(0, len(values), limit):
            stamps = None if timestamps is None else timestamps[start : start + limit]
            self._send(route, values[start : start + limit], stamps)

    def _flush_buckets(self) -> None:
        if self._columns is not None:
            self._send_columns(self._columns, rest=True)
        if self._segments is not None:
            self._send_segments(self._segments, rest=True)
        for route in list(self._buckets):
            self._send_bucket(route)

    def _send_columns(self, waiting: ColumnBuckets | PartsBuckets, *, rest: bool) -> None:
        if waiting.is_empty or not (rest or waiting.is_full):
            return
        before = self._clock.switch(EXCHANGE)
        try:
            for route, batch, stamps in waiting.take(self._max_records):
                self._clock.switch(ENCODE)
                header = self._header(FrameKind.RECORDS, batch.num_rows)
                self._emit(route, encode_columns(header, batch, stamps))
                self._clock.switch(EXCHANGE)
        except KeyTypeError as refused:
            raise named(refused, self._spec.target_name) from refused
        self._clock.switch(before)

    def _send_bucket(self, route: int) -> None:
        values = self._buckets.pop(route)
        self._buffered -= len(values)
        stamps = self._stamps.pop(route) if self._has_timestamps else None
        self._send(route, values, stamps)

    def _send(self, route: int, values: list[Any], timestamps: list[int] | None) -> None:
        before = self._clock.switch(ENCODE)
        header = self._header(FrameKind.RECORDS, len(values))
        try:
            frame = encode_records(header, values, timestamps, self._form)
        except BaseException as cause:  # whatever a user's __reduce__ raises
            raise unpicklable(cause, values, self._spec.origin) from cause
        self._emit(route, frame)
        self._clock.switch(before)

    def _header(self, kind: FrameKind, count: int) -> FrameHeader:
        spec = self._spec
        return FrameHeader(
            self._sequence.task, self._sequence.take(), spec.id, spec.target_level, kind, count
        )
