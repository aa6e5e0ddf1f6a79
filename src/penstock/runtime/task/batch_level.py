"""A level in a batch run: one key group after the other.

Rows arrive sorted by route and frame: first the control frames for this task, then broadcast records
(both have negative routes), then the frames of each key group in order of writing. Memory contains one key group at a
time: its records, or its accumulators if they are folded frame by frame. For an operator without a key, and for a
broadcast input, it contains one frame. A key group that does not fit in memory is spilled
(`spilled_group`). Frames for later levels and sinks are forwarded unread.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from penstock.metrics.task_clock import DECODE, OTHER, TaskClock, level_place
from penstock.program.channel import SINK_LEVEL
from penstock.program.level import LevelProgram
from penstock.runtime.exchange.channel_writer import FrameSequence
from penstock.runtime.exchange.level_input import Batch, LevelInput
from penstock.runtime.operators.keyed import KeyedOperator
from penstock.runtime.spill.spill_space import SpillSpace
from penstock.runtime.task.chain import OperatorChain
from penstock.runtime.task.level_zero import of_subtask
from penstock.runtime.task.output_frames import OutputFrames, Row
from penstock.runtime.task.report import Report, encode_report
from penstock.runtime.task.spilled_group import HeldMemory, SpilledGroup
from penstock.runtime.time.watermarks import LevelBacklog, LevelWatermarks
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.level_state import CurrentGroup, LevelState
from penstock.state.schema.entry_schema import BROADCAST_GROUP
from penstock.state.schema.evolution import wall_clock_ms
from penstock.wire.canonical.key_groups import KeyGroups
from penstock.wire.elements import MAX_WATERMARK, BacklogStatus, EndOfInput
from penstock.wire.frame import (
    FrameHeader,
    FrameKind,
    encode_payload,
    encode_segments,
    pack_segment,
    read_header,
)


# FLIP-327, rule 3.
class BatchLevel:
    """One task of one level of a batch run."""

    def __init__(
        self,
        program: LevelProgram,
        task: int,
        local_directory: Path | None = None,
        clock: TaskClock | None = None,
        now_ms: Callable[[], int] = wall_clock_ms,
    ) -> None:
        """Build, without opening."""
        self._program = program = of_subtask(program, task)
        self._task = task
        self._space = SpillSpace(program.settings.sorted_inputs_bytes, local_directory)
        self._held = HeldMemory(program.settings.sorted_inputs_bytes)
        self._store = HashBackend()
        self._store.format = program.settings.state_format()
        self._group = CurrentGroup()
        self._out = OutputFrames(self._space)
        self._sequence = FrameSequence(task, clock)
        self._clock = self._sequence.clock
        ids = [spec.id for spec in program.operators]
        entries = sorted({spec.target_operator for spec in program.inputs})
        self._chain = OperatorChain(
            program,
            ids,
            entries,
            self._sequence,
            self._emit,
            LevelState(self._store, self._group_of(), now_ms),
            task,
        )
        self._watermarks = LevelWatermarks(program)
        self._backlog = LevelBacklog(program) if program.settings.sends_backlog else None
        self._targets = {spec.id: spec.target_operator for spec in program.inputs}
        self._statuses: list[tuple[int, BacklogStatus]] = []
        self._keyed = {
            key: op for key, op in self._chain.operators.items() if isinstance(op, KeyedOperator)
        }
        for operator in self._keyed.values():
            operator.spill_space = self._space
        self._chain.use_spill_space(self._space)

    def _group_of(self) -> Callable[[Any], int]:
        """Return key to key group; the key group is the route unless a channel has fewer subtasks."""
        settings = self._program.settings
        squeezed = any(
            spec.subtasks is not None and spec.subtasks < settings.parallelism
            for spec in self._program.inputs
        )
        return KeyGroups(settings.max_parallelism).__getitem__ if squeezed else self._group

    def run(self, rows: Iterable[Row]) -> Iterator[list[Row]]:
        """Process all rows of the task and yield its output."""
        try:
            yield from self._run(rows)
        except BaseException as error:
            self._chain.abandon(error)
            raise
        finally:
            self._space.close()

    def _run(self, rows: Iterable[Row]) -> Iterator[list[Row]]:
        self._chain.open()
        self._clock.switch(OTHER)
        for spec in self._program.inputs:
            if spec.source_level == 0:
                for source in self._program.settings.ended_sources & set(spec.sources):
                    self._watermarks.accept(spec.id, EndOfInput(source))
        by_route = groupby(rows, key=itemgetter(0))
        ordered = begun = False
        for route, group in by_route:
            if route >= -self._program.settings.parallelism and not begun:
                self._begin_backlog()
                begun = True
            if route >= 0 and not ordered:
                self._use_batch_order()
                ordered = True
            yield from self._process_route(route, map(itemgetter(1), group))
        if not begun:
            self._begin_backlog()
        if not ordered:
            self._use_batch_order()
        self._finish()
        yield from self._out.take()

    def _process_route(self, route: int, frames: Iterator[bytes]) -> Iterator[list[Row]]:
        keyed = LevelInput(self._program)
        spilled: SpilledGroup | None = None
        # Broadcast inputs, and inputs that are folded frame by frame, are not buffered.
        hold = {key for key, op in self._keyed.items() if route >= 0 and not op.folds_frames}
        self._group.group = route
        self._held.start_group()
        for frame in frames:
            operator = self._add(keyed, frame, hold)
            if operator is not None:
                self._feed(keyed, operator)
                hold |= self._take_back(keyed, operator, frame)
            elif spilled is not None:
                spilled.take(keyed)
            elif self._held.is_exceeded_by(keyed):
                spilled = SpilledGroup(self._keyed, self._space, route)
                spilled.take(keyed)
            self._out.extend((route, passing) for passing in keyed.take_passing())
            if self._out.is_many:
                yield from self._out.take()
        for channel, element in keyed.control():
            self._watermarks.accept(channel, element)
        if self._backlog is not None:
            self._statuses += keyed.statuses()
        if spilled is not None:
            spilled.take(keyed)  # accumulators that were taken back behind the last buffered frame
            yield from self._process_spilled(spilled, route)
            return
        for operator in keyed.operators():
            self._feed(keyed, operator)
        self._end_keys(route)
        yield from self._out.take()

    def _add(self, keyed: LevelInput, frame: bytes, hold: set[int]) -> int | None:
        operator = keyed.add(frame, hold=hold)
        if statuses := keyed.take_punctuation():
            self._forward_statuses(statuses)
        return operator

    def _take_back(self, keyed: LevelInput, operator: int, frame: bytes) -> set[int]:
        """Buffer the accumulators of a key group if memory is used up.

        Return the operator if its records must be buffered from now on.
        """
        keyed_operator = self._keyed.get(operator)
        folded = None if keyed_operator is None else keyed_operator.take_folded()
        if folded is None:
            return set()
        keys, values, stamps = folded
        header = replace(read_header(frame), count=len(keys))
        packed = () if stamps is None else (array("q", stamps).tobytes(),)
        keyed.add(encode_segments(header, [pack_segment(keys, values)], packed, keyed=True))
        return {operator}

    def _process_spilled(self, spilled: SpilledGroup, route: int) -> Iterator[list[Row]]:
        for operator, portion in spilled.portions():
            if portion.in_parts:
                yield from self._process_parts(operator, portion.batches)
            else:
                self._chain.feed(operator.spec.id, portion.batches)
            self._end_keys(route)
            yield from self._out.take()

    def _process_parts(
        self, operator: KeyedOperator, batches: Iterator[Batch]
    ) -> Iterator[list[Row]]:
        first = next(batches)
        number, values, _ = first
        (key,) = operator.keys_of(number, values[:1])
        operator.start_key(key)
        for batch in chain((first,), batches):
            with self._chain.timing(operator.spec.id):
                operator.continue_key(*batch)
            if self._out.is_many:
                yield from self._out.take()
        with self._chain.timing(operator.spec.id):
            operator.complete_key()

    def _end_keys(self, route: int) -> None:
        """Emit for the hand-over, and remove, the state of the processed keys."""
        keyed = self._keyed.values()
        if route >= 0:
            for key, operator in self._keyed.items():
                with self._chain.timing(key):
                    operator.end_group()
        if route >= 0 and self._program.settings.hands_over:
            for operator in keyed:
                operator.sweep((), everything=True)
            for group in self._store.groups():
                if group != BROADCAST_GROUP:
                    self._write_state(route, self._store.snapshot_group(group))
        self._store.forget_keys()
        for operator in keyed:
            operator.start_epoch()

    def _feed(self, arrived: LevelInput, operator: int) -> None:
        before = self._clock.switch(DECODE)
        batches = arrived.take(operator)
        self._clock.switch(before)
        self._chain.feed(operator, batches)

    # FLIP-327, rule 6.
    def _write_state(self, route: int, blobs: Iterable[bytes]) -> None:
        level = self._program.level
        for blob in blobs:
            number = self._sequence.take()
            header = FrameHeader(self._task, number, level, SINK_LEVEL, FrameKind.STATE, 1)
            self._emit(route, encode_payload(header, blob))

    def _use_batch_order(self) -> None:
        """Pass the final watermark to keyed operators: all control frames have been read."""
        marks = self._watermarks.of_operators()
        is_last_run = not self._program.settings.hands_over
        for key, operator in self._chain.operators.items():
            if isinstance(operator, KeyedOperator):
                operator.use_batch_order(marks[key], is_last_run=is_last_run)
                if operator.sets_own_backlog:
                    for target, number in self._watermarks.ended_inputs():
                        if target == key:
                            operator.input_ended(number)

    def _begin_backlog(self) -> None:
        """Forward the statuses before all records: all control frames have been read."""
        if self._backlog is not None:
            self._backlog.accept(status for status in self._statuses if status[1].before_records)
            self._forward_backlog(self._backlog)

    def _forward_statuses(self, statuses: list[tuple[int, BacklogStatus]]) -> None:
        """Forward statuses between records; operators with buffered records get them at the end."""
        if self._backlog is None:
            return
        waits = [status for status in statuses if self._targets[status[0]] in self._keyed]
        self._statuses += waits
        self._backlog.accept(status for status in statuses if status not in waits)
        self._forward_backlog(self._backlog)

    def _forward_backlog(self, backlog: LevelBacklog) -> None:
        for status in backlog.of_inputs():
            self._chain.set_backlog(*status)

    def _end_inputs(self) -> None:
        """Forward the end of backlog, then the ends of inputs, before the watermarks."""
        if self._backlog is not None:
            self._backlog.accept(
                status for status in self._statuses if not status[1].before_records
            )
            if self._program.settings.hands_over:
                self._backlog.end()
            self._forward_backlog(self._backlog)
        for operator, number in self._watermarks.ended_inputs():
            self._chain.end_input(operator, number)

    def _finish(self) -> None:
        self._end_inputs()
        for operator, mark in self._watermarks.of_operators().items():
            self._chain.entries[operator].advance_watermark(mark)
        self._chain.finish_batch()
        self._chain.end_task()
        for writer in self._chain.writers.values():
            ended = writer.timeline.greatest == MAX_WATERMARK
            writer.send_watermark(self._task, 0, finished=ended)
        self._chain.close()
        report = Report(
            metrics=self._chain.take_metrics(),
            operator_records=self._chain.take_counts(),
            subtask=self._task,
            watermarks=self._watermarks.for_hand_over(),
            memory=self._chain.memory(),
            times=self._clock.take(level_place(self._program.level)),
        )
        route = -self._task - 1
        if self._task == 0 and self._program.settings.hands_over:
            self._write_state(route, self._store.snapshot_group(BROADCAST_GROUP))
        self._emit(route, encode_report(report, self._task, self._sequence.take()))

    def _emit(self, route: int, frame: bytes) -> None:
        self._out.add(route, frame)
