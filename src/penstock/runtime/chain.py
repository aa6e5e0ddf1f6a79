"""Turns a program into connected operators.

Operators of one level that need no exchange between them call each other directly. An
operator with several inputs advances to the minimum of their watermarks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from penstock.runtime.channel_writer import ChannelWriter, Emit, FrameSequence
from penstock.runtime.coercion import CoercingOutput
from penstock.runtime.operators import make_operator
from penstock.runtime.operators.base import Operator
from penstock.runtime.output import Output, output_to
from penstock.runtime.program import LevelProgram
from penstock.serde.elements import MIN_TIMESTAMP
from penstock.state.level_state import LevelState


class _Inputs:
    """The watermarks of an operator's inputs."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.watermarks: list[int] = []

    def add(self) -> _Input:
        self.watermarks.append(MIN_TIMESTAMP)
        return _Input(self, len(self.watermarks) - 1)


class _Input:
    """One input of an operator: an `Output` for whoever feeds it."""

    __slots__ = ("_index", "_inputs", "collect")

    def __init__(self, inputs: _Inputs, index: int) -> None:
        self._inputs = inputs
        self._index = index
        self.collect = inputs.operator.collect

    def advance_watermark(self, watermark: int) -> None:
        marks = self._inputs.watermarks
        marks[self._index] = watermark
        self._inputs.operator.advance_watermark(min(marks))

    def restore_watermark(self, watermark: int) -> None:
        marks = self._inputs.watermarks
        marks[self._index] = watermark
        self._inputs.operator.restore_watermark(min(marks))


class OperatorChain:
    """The operators and channel writers of one level in one task.

    Attributes:
        operators: id to operator, upstream first.
        writers: Channel id to writer.
    """

    def __init__(
        self,
        program: LevelProgram,
        only: Iterable[int],
        entries: Iterable[int],
        sequence: FrameSequence,
        emit: Emit,
        state: LevelState,
        subtask: int,
    ) -> None:
        """Build, without opening.

        Args:
            program: The level's program.
            only: Ids of the operators to build; the others are not fed by this task.
            entries: Ids of the operators fed from outside the chain.
            sequence: Numbers the frames of the task.
            emit: Takes (route, frame).
            state: Keyed state of the subtask.
            subtask: Index for the runtime context.
        """
        wanted = set(only)
        settings = program.settings
        self.writers = {
            spec.id: ChannelWriter(spec, settings, sequence, emit) for spec in program.outputs
        }
        built: dict[int, _Inputs] = {}
        for spec in reversed(program.operators):
            if spec.id not in wanted:
                continue
            outputs: list[Output] = [built[target].add() for target in spec.chained_to]
            outputs += [self.writers[channel] for channel in spec.channels]
            output = output_to(outputs)
            if spec.result_type is not None:
                subject = f"operator {spec.name!r}"
                output = CoercingOutput(output, spec.result_type, subject, spec.origin)
            operator = make_operator(spec, output, settings, subtask, state)
            built[spec.id] = _Inputs(operator)
        self.operators = {key: built[key].operator for key in reversed(built)}
        self.entries: dict[int, Output] = {key: built[key].add() for key in entries}

    def open(self) -> None:
        """Open every operator, downstream first, so that none emits into a closed one."""
        for operator in reversed(self.operators.values()):
            operator.open()

    def close(self) -> None:
        """Close every operator, upstream first."""
        for operator in self.operators.values():
            operator.close()

    def finish_batch(self) -> None:
        """End a task or micro-batch: last results, then whatever waits in the writers."""
        for operator in self.operators.values():
            operator.finish_batch()
        for writer in self.writers.values():
            writer.flush()

    def memory(self) -> dict[str, int]:
        """Return what operators remember beside keyed state, by uid."""
        found = ((op.spec.uid, op.memory()) for op in self.operators.values())
        return {uid: memory for uid, memory in found if memory is not None}

    def restore_memory(self, memory: dict[str, int]) -> None:
        """Give operators back what `memory` returned."""
        for operator in self.operators.values():
            if operator.spec.uid in memory:
                operator.restore_memory(memory[operator.spec.uid])

    def take_counts(self) -> dict[str, int]:
        """Return records received per uid since the last call."""
        counts: Counter[str] = Counter()
        for operator in self.operators.values():
            counts[operator.spec.uid] += operator.records_in
            operator.records_in = 0
        return dict(counts)


def reachable(program: LevelProgram, start: Iterable[int]) -> set[int]:
    """Return ids of the operators chained behind `start`, itself included."""
    specs: dict[int, Any] = {spec.id: spec for spec in program.operators}
    found: set[int] = set()
    todo = list(start)
    while todo:
        current = todo.pop()
        if current not in found:
            found.add(current)
            todo += specs[current].chained_to
    return found
