"""A level in a live run: one subtask, micro-batch after micro-batch.

Each micro-batch: all records of an operator in arrival order, then the watermarks that came
with them, then whatever is left in the writers. The instance stays in the worker between
micro-batches; what it must remember is in its store (keyed state) and in `remember` (watermarks
and what operators keep beside state).
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable

from penstock.runtime.chain import OperatorChain
from penstock.runtime.channel_writer import FrameSequence
from penstock.runtime.level_input import LevelInput
from penstock.runtime.level_watermarks import LevelWatermarks
from penstock.runtime.operators.keyed import KeyedOperator
from penstock.runtime.program import SINK_LEVEL, LevelProgram
from penstock.runtime.report import Report, encode_report
from penstock.serde.elements import MAX_WATERMARK
from penstock.serde.frame import FrameHeader, FrameKind, encode_payload
from penstock.serde.key_groups import KeyGroups
from penstock.state.backend import KeyedStore


class LiveLevel:
    """One subtask of one level of a live run.

    Attributes:
        store: Keyed state of the subtask.
        key_groups: Key to key group, for draining the store.
    """

    def __init__(self, program: LevelProgram, subtask: int) -> None:
        self._program = program
        self._subtask = subtask
        self.store = KeyedStore()
        self.key_groups = KeyGroups(program.settings.max_parallelism)
        self._out: list[tuple[int, bytes]] = []
        self._sequence = FrameSequence(subtask)
        ids = [spec.id for spec in program.operators]
        entries = sorted({spec.target_operator for spec in program.inputs})
        self._chain = OperatorChain(
            program, ids, entries, self._sequence, self._emit, self.store, subtask
        )
        self._watermarks = LevelWatermarks(program)
        self._chain.open()
        self._restore_watermarks(program.settings.initial_memory)

    def process(self, frames: Iterable[bytes]) -> list[tuple[int, bytes]]:
        """Process one micro-batch and return (route, frame) pairs."""
        arrived = LevelInput(self._program)
        for frame in frames:
            arrived.add(frame)
        own_route = self._program.settings.routes[self._subtask]
        self._out += [(own_route, frame) for frame in arrived.take_passing()]
        for operator in arrived.operators():
            values, timestamps = arrived.records_of(operator)
            self._chain.entries[operator].collect(values, timestamps)
        for channel, element in arrived.control():
            self._watermarks.accept(channel, element)
        for operator, mark in self._watermarks.of_operators().items():
            self._chain.entries[operator].advance_watermark(mark)
        self._chain.finish_batch()
        for writer in self._chain.writers.values():
            ended = writer.greatest_watermark == MAX_WATERMARK
            writer.send_watermark(self._subtask, 0, finished=ended)
        report = Report(operator_records=self._chain.take_counts())
        self._emit(own_route, encode_report(report, self._subtask, self._sequence.take()))
        out, self._out = self._out, []
        return out

    def remember(self) -> bytes:
        """Return what must be stored with the micro-batch beside keyed state."""
        return pickle.dumps((self._watermarks.remember(), self._chain.memory()), 5)

    def restore(self, memory: bytes) -> None:
        """Continue from `remember`; the store has been loaded anew."""
        for operator in self._chain.operators.values():
            if isinstance(operator, KeyedOperator):
                operator.forget_caches()
        if memory:
            watermarks, operators = pickle.loads(memory)
            self._watermarks.restore(watermarks)
            self._restore_watermarks(operators)

    def snapshot(self) -> list[tuple[int, bytes]]:
        """Return (route, frame) pairs that hand everything over to a next run.

        One STATE frame per state blob, whose header has the level as channel, and one REPORT
        frame with watermarks and what operators keep beside state. Call it after the last
        `process`, whose counts are in the report of its own.
        """
        own_route = self._program.settings.routes[self._subtask]
        level = self._program.level
        for blob in self.store.snapshot(self.key_groups.__getitem__):
            number = self._sequence.take()
            header = FrameHeader(self._subtask, number, level, SINK_LEVEL, FrameKind.STATE, 1)
            self._emit(own_route, encode_payload(header, blob))
        report = Report(watermarks=self._watermarks.for_hand_over(), memory=self._chain.memory())
        self._emit(own_route, encode_report(report, self._subtask, self._sequence.take()))
        out, self._out = self._out, []
        return out

    def close(self) -> None:
        """Close the user's functions."""
        self._chain.close()

    def _restore_watermarks(self, memory: dict[str, int]) -> None:
        for operator, mark in self._watermarks.of_operators().items():
            self._chain.entries[operator].restore_watermark(mark)
        self._chain.restore_memory(memory)

    def _emit(self, route: int, frame: bytes) -> None:
        self._out.append((route, frame))
