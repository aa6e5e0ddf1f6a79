"""Makes connected operators of a program, counts their records, and closes all of them if one fails.

Operators of one level that need no exchange between them call each other directly, or through a
local channel if they are not to be chained.

The metrics of an operator, other than those of its function:

    numRecordsIn            records received
    numRecordsOut           records emitted, those of side outputs not counted
    currentInputWatermark   in epoch milliseconds; not shown before the first
    numLateRecordsDropped   of operators that drop late records
    numFilesSpilled, numBytesSpilled, spillDepth
                            of operators whose records did not fit in memory (batch run)

Python ends at 1,000 calls inside of each other, and a record that passes n chained operators is inside of five
calls for each of them, so 200 operators fit and 250 do not. The limit of the process is raised for a longer
chain, up to a thousand operators: one of these calls goes through C, whose stack is not Python's to extend.
It is never lowered, because other chains of the process may need it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from penstock.errors import PenstockError, TypeMismatchError, UserFunctionError
from penstock.metrics.job_metrics import LATE_RECORDS, RECORDS_IN, RECORDS_OUT, WATERMARK
from penstock.metrics.values import CounterValue, GaugeValue, MetricValue, merge_metrics
from penstock.program.level import Copies, LevelProgram, OperatorSpec
from penstock.program.traverse import reachable
from penstock.runtime.exchange.channel_writer import ChannelWriter, Emit, FrameSequence
from penstock.runtime.exchange.level_input import Batch
from penstock.runtime.exchange.local_channel import LocalChannel, make_channel_writer
from penstock.runtime.flow.coercion import CoercingOutput
from penstock.runtime.flow.output import ForwardingOutput, Output, TaggedOutput
from penstock.runtime.flow.record_copies import readers_output
from penstock.runtime.operators import make_operator
from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.expressions import ExpressionOperator, MakesColumns, WriteColumns
from penstock.runtime.operators.keyed import KeyedOperator
from penstock.runtime.operators.timestamps import TimestampsOperator
from penstock.runtime.spill.spill_space import SpillSpace
from penstock.runtime.task.latency import LatencyTracker
from penstock.runtime.task.operator_inputs import OperatorInputs
from penstock.runtime.time.timeless import UntimedOutput
from penstock.state.level_state import LevelState
from penstock.types import TypeInformation
from penstock.user_failure import failing_as
from penstock.wire.elements import MIN_TIMESTAMP


def close_all(closes: Iterable[Callable[[], None]]) -> None:
    """Call every function; raise the first failure when all were called.

    Example:
        >>> closed = []
        >>> close_all([lambda: closed.append(1), lambda: closed.append(2)])
        >>> closed
        [1, 2]
    """
    first: BaseException | None = None
    for close in closes:
        try:
            close()
        except BaseException as error:  # noqa: BLE001 - raised below
            if first is None:
                first = error
            else:
                _note(first, error)
    if first is not None:
        raise first


def close_after(error: BaseException, closes: Iterable[Callable[[], None]]) -> None:
    """Call every function after a failure, which stays the one that is raised."""
    try:
        close_all(closes)
    except Exception as second:  # noqa: BLE001 - it becomes a note of the first
        _note(error, second)


def _note(error: BaseException, second: BaseException) -> None:
    error.add_note(f"Closing after this failed as well: {second}")


_CALLS_OF_AN_OPERATOR = 8
_OPERATORS_WITHIN_LIMIT = 50
_MOST_OPERATORS = 1_000


def allow_chain(operators: int) -> None:
    """Raise Python's limit of nested calls to what a chain needs beside the calls of its functions."""
    if operators <= _OPERATORS_WITHIN_LIMIT:
        return
    needed = 1_000 + _CALLS_OF_AN_OPERATOR * min(operators, _MOST_OPERATORS)
    sys.setrecursionlimit(max(needed, sys.getrecursionlimit()))


_READINGS = (int, float, str, bool)


class CountingOutput(ForwardingOutput):
    """Counts emitted records.

    Attributes:
        count: Records emitted since it was set to 0.
    """

    __slots__ = ("count",)

    def __init__(self, output: Output) -> None:
        super().__init__(output)
        self.count = 0

    def collect(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Count a batch and forward it."""
        self.count += len(values)
        self._output.collect(values, timestamps)

    def counting(self, write: WriteColumns) -> WriteColumns:
        """Return a function that counts a batch of columns and forwards it to `write`."""

        def counted(batch: Any, timestamps: list[int] | None) -> None:
            self.count += batch.num_rows
            write(batch, timestamps)

        return counted


class OperatorMetrics:
    """The metrics of one operator of one subtask."""

    def __init__(self, operator: Operator, output: CountingOutput) -> None:
        self._operator = operator
        self._output = output
        self._late_reported = 0
        self._metrics = operator.context.metrics

    def take(self) -> dict[str, MetricValue]:
        """Return the changes since the last call, by full name.

        It does not reset the count of received records: `OperatorChain.take_counts` does so later.
        """
        operator, uid = self._operator, self._operator.spec.uid
        taken: dict[str, MetricValue] = {
            f"{uid}.{RECORDS_IN}": CounterValue(operator.records_in),
            f"{uid}.{RECORDS_OUT}": CounterValue(self._output.count),
        }
        self._output.count = 0
        if operator.watermark != MIN_TIMESTAMP:
            taken[f"{uid}.{WATERMARK}"] = GaugeValue(operator.watermark)
        late = operator.late_records
        if late is not None:
            taken[f"{uid}.{LATE_RECORDS}"] = CounterValue(late - self._late_reported)
            self._late_reported = late
        taken |= operator.spilled.take(uid)
        try:
            taken |= self._metrics.take()
        except BaseException as cause:
            raise operator.failed_in("a gauge", cause) from cause
        for name, value in taken.items():
            if isinstance(value, GaugeValue) and not isinstance(value.value, _READINGS):
                raise TypeMismatchError(
                    f"the gauge {name!r} showed {value.value!r} of type "
                    f"{type(value.value).__name__}",
                    hint="Return a number, a string or a bool from its function, or None.",
                    origin=operator.spec.origin,
                )
        return taken


_MAKING = "Correct the method of the function that the operator calls before open."

CODE = "\0code"
"""Suffix of a uid in the memory of a chain: the digest of the functions that wrote the keys of its state."""


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
        """Build, without opening."""
        operator_ids = set(only)
        allow_chain(len(operator_ids))
        settings = program.settings
        self.writers = {
            spec.id: make_channel_writer(spec, settings, sequence, emit) for spec in program.outputs
        }
        self._local = {spec.id: spec for spec in program.local_channels}
        self._settings = settings
        self._sequence = sequence
        built: dict[int, OperatorInputs] = {}
        self._counting: dict[int, CountingOutput] = {}
        for spec in reversed(program.operators):
            if spec.id in operator_ids:
                output = self._output(spec, built)
                with failing_as(
                    UserFunctionError, f"operator {spec.name!r} failed", spec.origin, hint=_MAKING
                ):
                    operator = make_operator(spec, output, settings, subtask, state)
                built[spec.id] = OperatorInputs(operator, sequence.clock)
        self.operators = {key: built[key].operator for key in reversed(built)}
        self._opened: list[Operator] = []
        self._clock = sequence.clock
        self._sections = {key: built[key].section for key in self.operators}
        self._metrics = [
            OperatorMetrics(operator, self._counting[key])
            for key, operator in self.operators.items()
        ]
        self._connect_columns()
        specs = {key: operator.spec for key, operator in self.operators.items()}
        local = {number: spec.target_operator for number, spec in self._local.items()}
        self.latency = LatencyTracker(specs, self.writers, local, subtask)
        self.entries: dict[int, Output] = {
            key: built[key].add(sends_status=False) for key in entries
        }
        self._senders = {
            (key, number): (built[key].statuses, built[key].statuses.add(number))
            for key, number in sorted(
                {(spec.target_operator, spec.target_input) for spec in program.inputs}
            )
        }

    def _connect_columns(self) -> None:
        """Let operators that make columns send them, if their only reader is one that takes columns."""
        for operator in self.operators.values():
            if isinstance(operator, TimestampsOperator):
                self._connect_timestamps(operator)
            elif isinstance(operator, MakesColumns) and operator.makes_columns:
                self._connect(operator)

    def _connect(self, operator: Any) -> None:
        """Let an operator send columns to a channel, or to an operator of expressions that it calls."""
        spec, writer = operator.spec, self._only_writer(operator)
        if writer is not None and writer.takes_batches:
            write = self._forward(spec, writer.collect_columns)
            operator.send_columns(write, only=writer.part_keys is not None)
            return
        reader = self._only_reader(operator)
        if reader is not None and spec.result_type is None:
            operator.send_columns(self._forward(spec, reader.collect_columns), only=False)

    def _connect_timestamps(self, operator: TimestampsOperator) -> None:
        """Let timestamps be assigned to columns that operators of expressions read."""
        writer, reader = self._only_writer(operator), self._only_reader(operator)
        if writer is not None and writer.part_keys is not None:
            operator.send_merged(
                writer.part_keys, writer.collect_columns, sends_times=writer.takes_sessions
            )
        elif reader is not None:
            operator.send_columns(reader, self._forward(operator.spec, reader.collect_columns))

    def _only_writer(self, operator: Operator) -> ChannelWriter | None:
        """Return the writer of a channel that is all an operator emits to."""
        spec = operator.spec
        if spec.chained_to or spec.side_outputs or len(spec.channels) != 1:
            return None
        return self.writers.get(spec.channels[0])

    def _only_reader(self, operator: Operator) -> ExpressionOperator | None:
        """Return the operator of expressions that is all an operator emits to."""
        spec = operator.spec
        if spec.channels or spec.side_outputs or len(spec.chained_to) != 1:
            return None
        reader = self.operators.get(spec.chained_to[0])
        return reader if isinstance(reader, ExpressionOperator) else None

    def _forward(self, spec: OperatorSpec, write: WriteColumns) -> WriteColumns:
        """Return a function that counts columns, and forwards them with the timestamps that are read."""
        counting = self._counting[spec.id].counting(write)
        if not spec.drops_timestamps:
            return counting
        return lambda batch, _timestamps: counting(batch, None)

    def use_spill_space(self, space: SpillSpace) -> None:
        """Set the disk space of sorters, before `open`."""
        for operator in self.operators.values():
            operator.context.spill_space = space

    def start_epoch(self) -> None:
        """Begin a micro-batch, or the next key group of a batch run."""
        for operator in self.operators.values():
            operator.start_epoch()
        for writer in self.writers.values():
            writer.start_epoch()

    def open(self) -> None:
        """Open every operator, downstream first, so that none emits to a closed one.

        If one fails, those that are open are closed again.
        """
        for operator in reversed(self.operators.values()):
            try:
                operator.open()
            except BaseException as error:
                self.abandon(error)
                raise
            self._opened.append(operator)

    def feed(self, operator: int, batches: Iterable[Batch]) -> None:
        """Pass records from outside to an operator, for any of its inputs."""
        fed = self.operators[operator]
        with self.timing(operator):
            for number, values, timestamps in batches:
                fed.collector(number)(values, timestamps)
            fed.inputs_complete()

    @contextmanager
    def timing(self, operator: int) -> Iterator[None]:
        """Measure the time of an operator inside the context; errors name the operator."""
        before = self._clock.switch(self._sections[operator])
        try:
            yield
        except PenstockError:
            raise
        except BaseException as cause:
            raise self.operators[operator].failed_unawares(cause) from cause
        self._clock.switch(before)

    def set_backlog(self, operator: int, number: int, backlog: bool) -> None:  # noqa: FBT001
        """Set the backlog status of an input from outside."""
        statuses, sender = self._senders[operator, number]
        statuses.set_backlog(sender, backlog)

    def end_input(self, operator: int, number: int, *, again: bool = False) -> None:
        """End an input from outside."""
        statuses, sender = self._senders[operator, number]
        statuses.end(sender, again=again)

    def close(self) -> None:
        """Close every operator that is open, upstream first; one that fails to does not keep others open."""
        opened, self._opened = self._opened, []
        close_all(operator.close for operator in reversed(opened))

    def abandon(self, error: BaseException) -> None:
        """Close every operator that is open after a failure, which stays the one that is raised."""
        close_after(error, (self.close,))

    def finish_batch(self) -> None:
        """End a task or micro-batch: emit the last results, then flush the writers."""
        for key, operator in self.operators.items():
            with self.timing(key):
                operator.finish_batch()
        for operator in self.operators.values():
            if operator.emission.promise_check is not None:
                operator.emission.promise_check.check_batch()
        for writer in self.writers.values():
            writer.flush()

    def end_epoch(self) -> None:
        """End a micro-batch, after `finish_batch`."""
        for key, operator in self.operators.items():
            with self.timing(key):
                operator.end_epoch()
        for writer in self.writers.values():
            writer.flush()

    def end_task(self) -> None:
        """End a task of a batch run, after `finish_batch`."""
        for operator in self.operators.values():
            operator.end_task()

    def memory(self) -> dict[str, int]:
        """Return uid to `memory` of the operators."""
        memories = {op.spec.uid: op.memory() for op in self.operators.values()}
        code = self._settings.code
        if code is not None:
            memories |= {op.spec.uid + CODE: op.remember_code(code) for op in self._keyed()}
        return {uid: memory for uid, memory in memories.items() if memory is not None}

    def restore_memory(self, memory: dict[str, int]) -> None:
        """Restore the result of `memory`."""
        for operator in self.operators.values():
            if operator.spec.uid in memory:
                operator.restore_memory(memory[operator.spec.uid])
        code = self._settings.code
        if code is not None:
            for keyed in self._keyed():
                keyed.restore_code(code, memory.get(keyed.spec.uid + CODE))

    def _keyed(self) -> Iterator[KeyedOperator]:
        return (op for op in self.operators.values() if isinstance(op, KeyedOperator))

    def take_counts(self) -> dict[str, int]:
        """Return uid to records received since the last call."""
        counts: Counter[str] = Counter()
        for operator in self.operators.values():
            counts[operator.spec.uid] += operator.records_in
            operator.records_in = 0
        return dict(counts)

    def take_metrics(self) -> dict[str, MetricValue]:
        """Return the metrics since the last call, by full name; call it before `take_counts`."""
        taken = {name: value for metrics in self._metrics for name, value in metrics.take().items()}
        for writer in self.writers.values():
            merge_metrics(taken, writer.take_metrics())
        return taken | self.latency.take()

    def _channel(self, number: int, built: dict[int, OperatorInputs]) -> Output:
        spec = self._local.get(number)
        if spec is None:
            return self.writers[number]
        return LocalChannel(
            lambda emit: make_channel_writer(spec, self._settings, self._sequence, emit),
            built[spec.target_operator].add(),
            self._sequence.clock,
        )

    def _output(self, spec: OperatorSpec, built: dict[int, OperatorInputs]) -> Output:
        """Return the output of an operator."""
        subject = f"operator {spec.name!r}"

        def to(
            chained_to: Iterable[int],
            channels: Iterable[int],
            declared: TypeInformation | None,
            copies: Copies,
        ) -> Output:
            output = readers_output(
                [(target, built[target].add()) for target in chained_to],
                [(channel, self._channel(channel, built)) for channel in channels],
                copies,
                subject,
                spec.origin,
            )
            if spec.drops_timestamps:
                output = UntimedOutput(output)
            if declared is None:
                return output
            return CoercingOutput(output, declared, subject, spec.origin)

        main = CountingOutput(to(spec.chained_to, spec.channels, spec.result_type, spec.copies))
        self._counting[spec.id] = main
        if not spec.side_outputs:
            return main
        sides = {
            s.tag: to(s.chained_to, s.channels, s.result_type, s.copies) for s in spec.side_outputs
        }
        return TaggedOutput(main, sides)


def operators_behind(program: LevelProgram, start: Iterable[int]) -> set[int]:
    """Return ids of the operators of this level downstream of `start`, itself included."""
    specs = {spec.id: spec for spec in program.operators}
    local = {spec.id: spec.target_operator for spec in program.local_channels}

    def next_operators(key: int) -> list[int]:
        called, written = specs[key].fed_operators, specs[key].fed_channels
        return [*called, *(local[number] for number in written if number in local)]

    return set(reachable(start, next_operators))
