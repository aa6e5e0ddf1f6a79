"""Runs a planned program push by push: the levels, subtasks and frames of a live run.

Every push is a micro-batch: it takes effect completely or, if a function fails, not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from penstock.metrics.job_metrics import JobMetrics
from penstock.plan.physical import HandOver
from penstock.program.channel import WatermarkGroup
from penstock.program.level import LevelProgram
from penstock.runtime.task.level_zero import LevelZero
from penstock.runtime.task.report import Report, decode_report
from penstock.runtime.time.watermarks import ChannelWatermarks
from penstock.state.backends.base import KeyedStateBackend
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.backends.lmdb.backend import LmdbBackend
from penstock.testing.harness_program import HARNESS_LEVEL, MAIN_OUTPUT, HarnessProgram
from penstock.testing.harness_subtask import HarnessSubtask
from penstock.testing.harness_values import Emitted, HarnessSnapshot
from penstock.wire.elements import MIN_TIMESTAMP, BacklogStatus, Watermark
from penstock.wire.frame import (
    FrameHeader,
    FrameKind,
    decode_records,
    load_payload,
    payload_of,
    read_header,
)

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
        for at, value in enumerate(values):
            stamp = None if stamps is None or stamps[at] == MIN_TIMESTAMP else stamps[at]
            kept.append(Emitted(value, stamp))


class HarnessRun:
    """The running program under test.

    Attributes:
        now_ms: Processing time, in epoch milliseconds.
        records: Index of an output to its emitted records.
        watermarks: Emitted watermarks of the main output, ascending.
        metrics: Metrics of all operators.
        levels: Subtasks of every level.
    """

    def __init__(
        self,
        program: HarnessProgram,
        *,
        backend: str,
        now_ms: int,
        snapshot: HarnessSnapshot | None,
    ) -> None:
        """Open the user's functions.

        Raises:
            PenstockError: A function cannot be pickled, or its `open` failed.
        """
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
        """Run one micro-batch.

        Raises:
            PenstockError: A function failed; the micro-batch has no effect.
        """
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
        """Close all functions.

        Raises:
            PenstockError: One of them failed; the others are closed too.
        """
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
