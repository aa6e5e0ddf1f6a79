"""Runs a planned program push by push: the levels, frames and subtasks of a live run, with access to their state.

Every push is a micro-batch: it takes effect completely or, if a function fails, not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from penstock.metrics.job_metrics import JobMetrics
from penstock.plan.physical import HandOver
from penstock.program.channel import WatermarkGroup
from penstock.program.level import LevelProgram, OperatorSpec
from penstock.runtime.functions.state_handles import KeyedScope, StateHandles
from penstock.runtime.task.level_zero import LevelZero
from penstock.runtime.task.live_subtask import LiveSubtask
from penstock.runtime.task.report import Report, decode_report
from penstock.runtime.time.timers import PROCESSING_TABLE, TABLE
from penstock.runtime.time.watermarks import ChannelWatermarks
from penstock.state.backends.base import TIMERS_SCHEMA, KeyedStateBackend
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.backends.lmdb.backend import LmdbBackend
from penstock.state.handles.key_context import KeyContext
from penstock.state.log.blob import key_group_of, operator_of
from penstock.state.log.change_log import ChangeLog
from penstock.state.schema.entry_schema import BROADCAST_GROUP, StateKind
from penstock.testing.harness_program import HARNESS_LEVEL, MAIN_OUTPUT, HarnessProgram
from penstock.testing.harness_values import Emitted, HarnessSnapshot, PendingTimer
from penstock.testing.live_run import MemoryLog
from penstock.types.list_key import immutable_key, selected_key
from penstock.types.time import TimeDomain
from penstock.wire import user_code
from penstock.wire.canonical.key_groups import KeyGroups, subtask_of
from penstock.wire.elements import MIN_TIMESTAMP, BacklogStatus, Watermark
from penstock.wire.frame import (
    FrameHeader,
    FrameKind,
    decode_records,
    load_payload,
    payload_of,
    read_header,
)

_TIMERS = {TABLE: TimeDomain.EVENT_TIME, PROCESSING_TABLE: TimeDomain.PROCESSING_TIME}


class HarnessSubtask(LiveSubtask):
    """A subtask that uses the test's own function objects, if it is the only subtask."""

    def __init__(
        self,
        program: LevelProgram,
        subtask: int,
        *,
        blobs: Iterable[bytes],
        make_backend: Callable[[], KeyedStateBackend],
        now_ms: Callable[[], int],
    ) -> None:
        """Begin with a snapshot."""
        shipped = user_code.dump(program)
        super().__init__(shipped, subtask, make_backend=make_backend, now_ms=now_ms)
        self._own = program
        self._clock = now_ms
        self._group_of = KeyGroups(program.settings.max_parallelism).__getitem__
        self.log = MemoryLog()
        own = [blob for blob in blobs if self._is_own(blob)]
        if own:
            self.seed(self.log, own)

    @property
    def operators(self) -> tuple[OperatorSpec, ...]:
        """The operators of the level."""
        return self._own.operators

    def owns(self, spec: OperatorSpec, key: Any) -> bool:
        """Return whether the subtask has the state of a key of an operator."""
        return self._owns_group(spec, self._group_of(immutable_key(key)))

    def read_state(self, spec: OperatorSpec, descriptor: Any, key: Any) -> Any:
        """Return the committed content of the state of a key."""
        context = KeyContext()
        context.key = immutable_key(key)
        context.group = self._group_of(context.key)
        handles = self._handles(spec, context)
        kind = getattr(descriptor, "kind", StateKind.VALUE)
        return kind.contents(handles.keyed(kind.getter, descriptor))

    def read_broadcast_state(self, spec: OperatorSpec, descriptor: Any) -> dict[Any, Any]:
        """Return the committed content of a broadcast state."""
        return dict(self._handles(spec, KeyContext()).broadcast(descriptor).items())

    def keys(self, spec: OperatorSpec, descriptor: Any) -> list[Any]:
        """Return the keys that have an entry in a state, expired ones included."""
        table = self._committed(spec).table(spec.uid, descriptor.get_name(), descriptor.schema())
        return [selected_key(key) for group in table.groups() for key in table[group].keys()]  # noqa: SIM118 - a part is no dictionary

    def timers(self, spec: OperatorSpec) -> Iterator[PendingTimer]:
        """Yield the pending timers of an operator."""
        store = self._committed(spec)
        for name, domain in _TIMERS.items():
            table = store.table(spec.uid, name, TIMERS_SCHEMA)
            for group in table.groups():
                for key in table[group].keys():  # noqa: SIM118 - a part is no dictionary
                    for timestamp in table[group].subkeys(key):
                        yield PendingTimer(timestamp, selected_key(key), domain)

    def _load(self) -> LevelProgram:
        return self._own if self._own.settings.parallelism == 1 else super()._load()

    def _is_own(self, blob: bytes) -> bool:
        group, uid = key_group_of(blob), operator_of(blob)
        specs = [spec for spec in self.operators if spec.uid == uid]
        return any(group == BROADCAST_GROUP or self._owns_group(spec, group) for spec in specs)

    def _owns_group(self, spec: OperatorSpec, group: int) -> bool:
        settings = self._own.settings
        subtasks = min(spec.parallelism or settings.parallelism, settings.parallelism)
        return subtask_of(group, subtasks, settings.max_parallelism) == self._subtask

    def _handles(self, spec: OperatorSpec, context: KeyContext) -> StateHandles:
        store = self._committed(spec)
        return StateHandles(spec, KeyedScope(store, context, self._group_of, self._clock))

    def _committed(self, spec: OperatorSpec) -> HashBackend:
        """Return a copy of an operator's state; reading it does not change the state."""
        store = HashBackend()
        blobs = ChangeLog(self.log).all_blobs()
        store.load(blob for blob in blobs if operator_of(blob) == spec.uid)
        return store


Row = tuple[int, bytes]
"""(route, frame)."""

HAND_OVER = "handover"


class _Outputs:
    """The output of one push."""

    def __init__(self, channels: dict[int, int]) -> None:
        self._channels = channels
        self.records: dict[int, list[Emitted]] = {}
        self.marks: list[tuple[int, Watermark]] = []
        self.state: list[bytes] = []
        self.report = Report()

    def add(self, rows: Iterable[Row], first_route: int) -> None:
        """Add frames in order of writing; of control frames, those of one route."""
        for route, frame in rows:
            header = read_header(frame)
            if header.kind is FrameKind.STATE:
                self.state.append(payload_of(frame))
            elif header.kind is FrameKind.REPORT:
                self.report.merge(decode_report(frame))
            elif header.kind is FrameKind.RECORDS:
                self._take_records(header, frame)
            elif route == first_route:
                elements = load_payload(frame)
                self.marks += [
                    (header.channel, element)
                    for element in elements
                    if type(element) is not BacklogStatus
                ]

    def _take_records(self, header: FrameHeader, frame: bytes) -> None:
        values, stamps = decode_records(header, frame)
        kept = self.records.setdefault(self._channels[header.channel], [])
        for index, value in enumerate(values):
            stamp = None if stamps is None or stamps[index] == MIN_TIMESTAMP else stamps[index]
            kept.append(Emitted(value, stamp))


class HarnessRun:
    """The running program under test.

    Attributes:
        now_ms: Processing time, in epoch milliseconds.
        records: Index of an output to its emitted records.
        watermarks: Emitted watermarks of the main output, ascending.
    """

    def __init__(
        self,
        program: HarnessProgram,
        *,
        backend: str,
        now_ms: int,
        snapshot: HarnessSnapshot | None,
    ) -> None:
        """Open the user's functions."""
        handed = HandOver()
        if snapshot is not None:
            watermarks = {key: dict(groups) for key, groups in snapshot.watermarks.items()}
            handed = HandOver(watermarks, dict(snapshot.memory))
        first, *rest = program.levels(handed)
        self.now_ms = now_ms
        self.records: dict[int, list[Emitted]] = {}
        self.watermarks: list[int] = []
        self.metrics = JobMetrics()
        self._first = first
        self._zero = LevelZero(first, 0)
        self._channels = program.outputs()
        self._routes = first.settings.routes
        self._files = TemporaryDirectory(prefix="penstock-") if backend == "lmdb" else None
        self._marks = {
            channel: ChannelWatermarks(
                [
                    WatermarkGroup(group, 1)
                    for group in (
                        spec.sources
                        if spec.source_level == 0
                        else range(spec.senders or len(self._routes))
                    )
                ],
                {},
            )
            for spec in program.plan.channels
            if (channel := spec.id) in self._channels
        }
        self._main = {key for key, index in self._channels.items() if index == MAIN_OUTPUT}
        blobs = () if snapshot is None else snapshot.state
        self.levels: list[tuple[int, list[HarnessSubtask]]] = []
        try:
            for level in rest:
                self.levels.append((level.level, self._subtasks(level, blobs)))
            self.run(everywhere=True)
        except BaseException:
            self.close()
            raise

    def run(
        self,
        feed: Callable[[LevelZero], None] | None = None,
        *,
        everywhere: bool = False,
        snapshots: tuple[str, ...] = (),
    ) -> _Outputs:
        """Run one micro-batch, which has no effect if a function fails."""
        outputs = _Outputs(self._channels)
        arriving: dict[int, dict[int, list[bytes]]] = {}

        def route(rows: Iterable[Row]) -> None:
            own: list[Row] = []
            for to, frame in rows:
                target = read_header(frame).target_level
                if target >= HARNESS_LEVEL:
                    own.append((to, frame))
                else:
                    arriving.setdefault(target, {}).setdefault(to, []).append(frame)
            outputs.add(own, self._routes[0])

        with ExitStack() as attempts:
            for _, subtasks in self.levels:
                for subtask in subtasks:
                    attempts.enter_context(subtask.log.attempt())
            if feed is not None:
                route(self._fed(feed))
            for level, subtasks in self.levels:
                frames = arriving.pop(level, {})
                for subtask, to in zip(subtasks, self._routes, strict=True):
                    if everywhere or to in frames:
                        route(list(subtask.process(frames.get(to, ()), subtask.log, snapshots)))
        self._keep(outputs)
        return outputs

    def close(self) -> None:
        """Close all functions, the others too if one fails."""
        with ExitStack() as stack:
            if self._files is not None:
                stack.callback(self._files.cleanup)
            for _, subtasks in self.levels:
                for subtask in subtasks:
                    stack.callback(subtask.close)

    def _fed(self, feed: Callable[[LevelZero], None]) -> list[Row]:
        try:
            feed(self._zero)
        except BaseException:
            self._zero = LevelZero(
                self._first, 0
            )  # its writers may have buffered records, which must not be sent
            raise
        return self._zero.take_output()

    def _subtasks(self, level: LevelProgram, blobs: Iterable[bytes]) -> list[HarnessSubtask]:
        return [
            HarnessSubtask(
                level,
                subtask,
                blobs=blobs,
                make_backend=partial(self._make_backend, level.level, subtask),
                now_ms=self._clock,
            )
            for subtask in range(len(self._routes))
        ]

    def _keep(self, outputs: _Outputs) -> None:
        for index, emitted in outputs.records.items():
            self.records.setdefault(index, []).extend(emitted)
        for channel, element in outputs.marks:
            self._marks[channel].accept(element)
        mark = min((self._marks[channel].current for channel in self._main), default=MIN_TIMESTAMP)
        if mark > (self.watermarks[-1] if self.watermarks else MIN_TIMESTAMP):
            self.watermarks.append(mark)
        report = outputs.report
        self.metrics.add(report.metrics, report.state, report.times)

    def _clock(self) -> int:
        return self.now_ms

    def _make_backend(self, level: int, subtask: int) -> KeyedStateBackend:
        if self._files is None:
            return HashBackend()
        directory = Path(self._files.name) / f"{level}-{subtask}"
        return LmdbBackend(directory, f"harness/{level}/{subtask}")
