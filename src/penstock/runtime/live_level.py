"""A level in a live run: one subtask, micro-batch after micro-batch.

Each micro-batch: all records of an operator in arrival order, then the watermarks that came
with them, then whatever is left in the writers. The instance stays in the worker between
micro-batches; what it must remember is in its backend (keyed state) and in `remember`
(watermarks and what operators keep beside state).
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator

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
from penstock.state.backend import StateBackend
from penstock.state.blob import key_group_of
from penstock.state.level_state import LevelState
from penstock.state.schema import BROADCAST_GROUP


class LiveLevel:
    """One subtask of one level of a live run."""

    def __init__(self, program: LevelProgram, subtask: int, backend: StateBackend) -> None:
        """Open the user's functions.

        Args:
            program: The level's program, for this object alone.
            subtask: Index, from 0.
            backend: Keyed state of the subtask; the caller brings it up to date before each
                `process` and writes its changes afterwards.
        """
        self._program = program
        self._subtask = subtask
        self._backend = backend
        state = LevelState(backend, KeyGroups(program.settings.max_parallelism).__getitem__)
        self._out: list[tuple[int, bytes]] = []
        self._sequence = FrameSequence(subtask)
        ids = [spec.id for spec in program.operators]
        entries = sorted({spec.target_operator for spec in program.inputs})
        self._chain = OperatorChain(
            program, ids, entries, self._sequence, self._emit, state, subtask
        )
        self._watermarks = LevelWatermarks(program)
        self._chain.open()
        self._restore_watermarks(program.settings.initial_memory)

    def process(self, frames: Iterable[bytes]) -> list[tuple[int, bytes]]:
        """Process one micro-batch and return (route, frame) pairs."""
        for operator in self._chain.operators.values():
            operator.start_epoch()
        arrived = LevelInput(self._program)
        for frame in frames:
            arrived.add(frame)
        own_route = self._program.settings.routes[self._subtask]
        self._out += [(own_route, frame) for frame in arrived.take_passing()]
        for entry in arrived.operators():
            values, timestamps = arrived.records_of(entry)
            self._chain.entries[entry].collect(values, timestamps)
        for channel, element in arrived.control():
            self._watermarks.accept(channel, element)
        for entry, mark in self._watermarks.of_operators().items():
            self._chain.entries[entry].advance_watermark(mark)
        self._chain.finish_batch()
        for writer in self._chain.writers.values():
            ended = writer.greatest_watermark == MAX_WATERMARK
            writer.send_watermark(self._subtask, 0, finished=ended)
        return self._take()

    def sweep(self, rewritten: Iterable[int], *, everything: bool) -> None:
        """Remove expired state nobody reads; after `process`, before changes are drained.

        Args:
            rewritten: Key groups the change log was compacted for.
            everything: A snapshot of all state follows.
        """
        for operator in self._chain.operators.values():
            if isinstance(operator, KeyedOperator):
                operator.sweep(rewritten, everything=everything)

    def report(self, state: dict[str, int]) -> tuple[int, bytes]:
        """Return the report of the micro-batch as a (route, frame) pair.

        Args:
            state: What its state cost, by the names of `Report.state`.
        """
        report = Report(operator_records=self._chain.take_counts(), state=state)
        frame = encode_report(report, self._subtask, self._sequence.take())
        return self._program.settings.routes[self._subtask], frame

    def remember(self) -> bytes:
        """Return what must be stored with the micro-batch beside keyed state."""
        return pickle.dumps((self._watermarks.remember(), self._chain.memory()), 5)

    def restore(self, memory: bytes) -> None:
        """Continue from `remember`; the backend has been brought up to date."""
        if memory:
            watermarks, operators = pickle.loads(memory)
            self._watermarks.restore(watermarks)
            self._restore_watermarks(operators)

    def snapshot(self, name: str) -> Iterator[tuple[int, bytes]]:
        """Yield (route, frame) pairs that hand everything over, to a next run or a savepoint.

        One STATE frame per state blob and one REPORT frame with watermarks and what operators
        keep beside state. Call it after the changes of the micro-batch were drained, whose
        counts are in the report of its own. Broadcast state, which every subtask has, comes
        from the first one only.

        Args:
            name: `Report.snapshot`: which snapshot it is.
        """
        own_route = self._program.settings.routes[self._subtask]
        level = self._program.level
        for blob in self._backend.snapshot():
            if self._subtask > 0 and key_group_of(blob) == BROADCAST_GROUP:
                continue
            number = self._sequence.take()
            header = FrameHeader(self._subtask, number, level, SINK_LEVEL, FrameKind.STATE, 1)
            yield own_route, encode_payload(header, blob)
        report = Report(
            watermarks=self._watermarks.for_hand_over(),
            memory=self._chain.memory(),
            snapshot=name,
        )
        yield own_route, encode_report(report, self._subtask, self._sequence.take())

    def close(self) -> None:
        """Close the user's functions."""
        self._chain.close()

    def _restore_watermarks(self, memory: dict[str, int]) -> None:
        for operator, mark in self._watermarks.of_operators().items():
            self._chain.entries[operator].restore_watermark(mark)
        self._chain.restore_memory(memory)

    def _take(self) -> list[tuple[int, bytes]]:
        out, self._out = self._out, []
        return out

    def _emit(self, route: int, frame: bytes) -> None:
        self._out.append((route, frame))
