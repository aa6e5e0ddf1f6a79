"""Level 0: reads records of sources, runs the operators chained to them, and writes channels.

One instance serves one task, in a live run for all micro-batches of the worker process. It does not
read the sources itself: the caller passes batches per source, and the ends of splits. Level 0 has no
state, so `current_watermark` of a function is Long.MIN.

At level 0 every source has its own chain, and after a union several chains contain the same operator.
The function of such an operator exists once per task: the first chain opens it, the last one closes it.

So an operator is made, opened and closed in as many subtasks as it has. Operators that are chained to it
have no fewer subtasks (`plan.phases.levels`), and a local channel is written only in subtasks that read it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from penstock.errors import PenstockError
from penstock.expressions.field_totals import FieldTotal, records_of_totals
from penstock.metrics.task_clock import ARROW, OTHER, START, WAIT, TaskClock, level_place
from penstock.metrics.values import merge_metrics
from penstock.program.level import NO_COPIES, LevelProgram
from penstock.program.routing import destination_routes
from penstock.runtime.exchange.channel_writer import ChannelWriter, FrameSequence
from penstock.runtime.flow.coercion import CoercingOutput
from penstock.runtime.flow.output import Output
from penstock.runtime.flow.record_copies import readers_output
from penstock.runtime.functions.context import OperatorContext
from penstock.runtime.operators.expressions import ExpressionOperator
from penstock.runtime.operators.map_batches import MapBatchesOperator
from penstock.runtime.operators.timestamps import TimestampsOperator, without_timestamp
from penstock.runtime.task.chain import OperatorChain, close_after, close_all, operators_behind
from penstock.runtime.task.latency import SourceLatency
from penstock.runtime.task.report import Report, encode_report
from penstock.state.level_state import NO_STATE
from penstock.state.schema.evolution import wall_clock_ms
from penstock.types.arrow import arrow_schema, type_of_arrow
from penstock.types.arrow_lists import columns_to_lists
from penstock.wire.elements import (
    MAX_WATERMARK,
    MIN_TIMESTAMP,
    ControlElement,
    EndOfInput,
    NextPart,
)
from penstock.wire.frame import FrameHeader, FrameKind, encode_payload
from penstock.wire.row_columns import are_records, of_schema, rows_of, rows_of_lists


def of_subtask(program: LevelProgram, subtask: int) -> LevelProgram:
    """Return the program of a subtask."""
    own = tuple(
        spec for spec in program.operators if spec.parallelism is None or subtask < spec.parallelism
    )
    if len(own) == len(program.operators):
        return program
    ids = {spec.id for spec in own}
    written = {channel for spec in own for channel in spec.fed_channels}
    return replace(
        program,
        operators=own,
        inputs=tuple(spec for spec in program.inputs if spec.target_operator in ids),
        outputs=tuple(spec for spec in program.outputs if spec.id in written),
        local_channels=tuple(spec for spec in program.local_channels if spec.id in written),
    )


class SharedFunction:
    """Wraps a user's function object; only `open` and `close` differ from those of the object."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._users = 0

    def open(self, context: OperatorContext) -> None:
        """Open the function, if it is not open."""
        self._users += 1
        opened = getattr(self._function, "open", None)
        if self._users == 1 and opened is not None:
            opened(context)

    def close(self) -> None:
        """Close the function, if no other chain uses it."""
        self._users -= 1
        closed = getattr(self._function, "close", None)
        if self._users == 0 and closed is not None:
            closed()

    def __getattr__(self, name: str) -> Any:
        if name == "_function":  # absent while the wrapper is being copied or unpickled
            raise AttributeError(name)
        return getattr(self._function, name)


def with_shared_functions(program: LevelProgram) -> LevelProgram:
    """Return a program of level 0 whose operators after a union share their function."""
    users: Counter[int] = Counter()
    for entries in program.source_operators.values():
        users.update(operators_behind(program, entries))
    if all(count == 1 for count in users.values()):
        return program
    operators = tuple(
        replace(spec, function=SharedFunction(spec.function))
        if users[spec.id] > 1 and spec.method is not None
        else spec
        for spec in program.operators
    )
    return replace(program, operators=operators)


_ColumnReader = ExpressionOperator | TimestampsOperator | MapBatchesOperator


class _SourceChain:
    """The operators and channels that one source feeds."""

    def __init__(
        self, program: LevelProgram, source: int, sequence: FrameSequence, out: Any, task: int
    ) -> None:
        entries = program.source_operators.get(source, ())
        self.chain = OperatorChain(
            program, operators_behind(program, entries), entries, sequence, out, NO_STATE, task
        )
        direct = program.source_channels.get(source, ())
        copies = program.source_copies.get(source, NO_COPIES)
        self.readers: Output = readers_output(
            [(operator, self.chain.entries[operator]) for operator in entries],
            [(channel, self.chain.writers[channel]) for channel in direct],
            copies,
            f"source {source}",
            None,
            at_once=copies.at_emission,
        )
        self.output = self.readers
        declared = program.source_types.get(source)
        if declared is not None:
            subject = f"source {declared.name!r}"
            self.output = CoercingOutput(self.output, declared.type_info, subject, declared.origin)
        self._declared = None if declared is None else declared.type_info
        self._known_schema: tuple[Any, bool] = (None, False)
        self.fed = [
            self.chain.writers[spec.id] for spec in program.outputs if source in spec.sources
        ]
        only = self.readers  # the channel, if it is the only reader and gets the records unchanged
        self.column_writer = only if isinstance(only, ChannelWriter) else None
        computed = program.computed_sources.get(source)
        self.schema = None if computed is None else arrow_schema(computed.type_info)
        is_plain = copies == NO_COPIES and not direct and len(entries) == 1
        reader = self.chain.operators[entries[0]] if is_plain else None
        self.column_reader: _ColumnReader | None = None
        if isinstance(reader, _ColumnReader):
            self.column_reader = reader
        folds = [spec.fold.columns for spec in program.outputs if spec.fold is not None]
        self.total = next((total for some in folds for key, total in some if key == source), None)
        self.latency = SourceLatency(source, program, task, wall_clock_ms)
        self.is_open = False

    def open(self) -> None:
        """Open the functions, if they are not open: the task reads the source."""
        if not self.is_open:
            self.is_open = True
            self.chain.open()

    def close(self) -> None:
        """Close the functions, if they are open."""
        self.chain.close()

    def are_declared(self, schema: Any) -> bool:
        """Return whether values of columns have the declared form, so that to coerce them would change nothing."""
        if self._declared is None:
            return True
        known, is_declared = self._known_schema
        if known != schema:
            try:
                is_declared = type_of_arrow(schema) == self._declared
            except PenstockError:
                is_declared = False  # making the records raises it
            self._known_schema = schema, is_declared
        return is_declared

    def takes_columns(self, batch: Any) -> bool:
        """Return whether its only reader is a channel that sends the columns themselves."""
        writer = self.column_writer
        if writer is None or not self.are_declared(batch.schema):
            return False
        if writer.takes_columns(batch.schema):
            return True
        if not writer.takes_batches:
            return False
        return self.schema is not None or (writer.is_to_sink and are_records(batch))

    def evaluates_columns(self, schema: Any) -> bool:
        """Return whether its only reader computes with the columns themselves."""
        reader = self.column_reader
        return reader is not None and self.are_declared(schema) and reader.reads(schema)

    def collect_columns(self, batch: Any) -> None:
        """Pass a batch to its only reader, which computes with columns."""
        assert self.column_reader is not None, "it evaluates them"
        with self.chain.timing(self.column_reader.spec.id):
            self.column_reader.collect_columns(batch)

    def start_split(self) -> None:
        for operator in self.chain.operators.values():
            operator.start_split()
        for writer in self.fed:
            writer.start_split()


class LevelZero:
    """Level 0 in one task.

    Attributes:
        clock: Clock of the task; its default section is waiting.
    """

    def __init__(self, program: LevelProgram, task: int, clock: TaskClock | None = None) -> None:
        """Build, without opening."""
        self.clock = TaskClock(WAIT) if clock is None else clock
        self._program = with_shared_functions(program)
        self._task = task
        self._sequence = FrameSequence(task, self.clock)
        self._chains: dict[int, _SourceChain] = {}
        self._out: list[tuple[int, bytes]] = []
        self._counts: dict[int, int] = {}
        self._marks: dict[int, int] = {}
        self._split_marks: dict[int, dict[int, int]] = {}

    def collect(self, source: int, values: list[Any], timestamps: list[int] | None) -> None:
        """Process a non-empty batch of `source`."""
        self._counts[source] = self._counts.get(source, 0) + len(values)
        if source in self._program.untimed_sources:
            timestamps = None
        chain = self._chain(source)
        self._pass(chain, chain.output, values, timestamps)

    def _pass(
        self, chain: _SourceChain, output: Output, values: list[Any], timestamps: list[int] | None
    ) -> None:
        before = self.clock.switch(OTHER)
        chain.latency.record()
        output.collect(values, timestamps)
        self.clock.switch(before)

    def collect_columns(self, source: int, batch: Any) -> None:
        """Process a non-empty Arrow batch of `source`, whose records are rows without timestamps.

        It makes rows only if an operator of this process reads them.
        """
        chain = self._chain(source)
        if chain.total is not None and chain.total.are_parts(batch.schema.names):
            self._collect_totals(source, chain.total, batch)
            return
        computed = self._program.computed_sources.get(source)
        if computed is not None:
            if computed.timestamps is not None and batch.columns[-1].null_count:
                raise without_timestamp(computed.timestamps)
            batch = of_schema(batch, chain.schema)
        if chain.evaluates_columns(batch.schema):
            self._counts[source] = self._counts.get(source, 0) + batch.num_rows
            chain.latency.record()
            chain.collect_columns(batch)
            return
        if not chain.takes_columns(batch):
            before = self.clock.switch(ARROW)
            rows = rows_of(batch)
            self.clock.switch(before)
            self._counts[source] = self._counts.get(source, 0) + len(rows)
            are_declared = chain.are_declared(batch.schema)
            self._pass(chain, chain.readers if are_declared else chain.output, rows, None)
            return
        self._counts[source] = self._counts.get(source, 0) + batch.num_rows
        before = self.clock.switch(OTHER)
        chain.latency.record()
        assert chain.column_writer is not None, "it takes them"
        chain.column_writer.collect_columns(batch)
        self.clock.switch(before)

    def _collect_totals(self, source: int, total: FieldTotal, batch: Any) -> None:
        """Process the rows that stand for what Spark SQL has folded, and count all of its records."""
        before = self.clock.switch(ARROW)
        keys, counts, known, *parts = columns_to_lists(batch)
        keys, values = records_of_totals(keys, counts, known, parts)
        columns = [values, keys] if total.names[0] == total.field else [keys, values]
        rows = rows_of_lists(list(total.names), columns)
        self.clock.switch(before)
        self._counts[source] = self._counts.get(source, 0) + sum(counts) - len(rows)
        self.collect(source, rows, None)

    def start_split(self, source: int, split: int) -> None:
        """Begin a split, so that watermarks can take effect between its records.

        Without this call watermarks take effect after the records of the task.
        """
        for writer in self._chain(source).fed:
            writer.start_split(source, split)

    def finish_split(self, source: int, split: int, *, finished: bool) -> None:
        """End the records of a split in this task."""
        chain = self._chain(source)
        chain.chain.finish_batch()
        self._note_watermark(source, split, [writer.timeline.watermark for writer in chain.fed])
        for writer in chain.fed:
            writer.send_watermark(source, split, finished=finished)
        chain.start_split()

    def _note_watermark(self, source: int, split: int, marks: list[int]) -> None:
        """Note the watermark of a split, for the driver; Long.MIN is none."""
        known = [mark for mark in marks if mark != MIN_TIMESTAMP]
        if known:
            mark = min(known)
            self._marks[source] = min(mark, self._marks.get(source, MAX_WATERMARK))
            self._split_marks.setdefault(source, {})[split] = mark

    def advance_watermark(self, source: int, watermark: int) -> None:
        """Send a watermark of split 0 of a source; only tests call this, in place of reading it."""
        chain = self._chain(source)
        chain.output.advance_watermark(watermark)
        self.finish_split(source, 0, finished=False)

    def end_source(self, source: int) -> None:
        """Send the end of `source` to every receiver.

        It opens no functions, because the task need not read the source.
        """
        self._marks[source] = MIN_TIMESTAMP
        self._announce(source, EndOfInput(source))

    def begin_next_part(self, source: int) -> None:
        """Announce to every receiver that `source` goes on with its next part, behind this micro-batch."""
        self._announce(source, NextPart(source))

    def _announce(self, source: int, element: ControlElement) -> None:
        for writer in self._chain(source, opens=False).fed:
            if not writer.is_to_sink:
                writer.send_control((element,))

    def signal(self, levels: int, word: bytes) -> None:
        """Send a signal to every subtask of every later level."""
        for level in range(1, levels):
            for route in destination_routes(self._program.settings):
                number = self._sequence.take()
                header = FrameHeader(self._task, number, 0, level, FrameKind.SIGNAL, 0)
                self._emit(route, encode_payload(header, word))

    def end_batch(self) -> None:
        """End a micro-batch and report its records. Functions stay open for the next one."""
        for source, chain in self._chains.items():
            marker = chain.latency.take()
            if marker is not None:
                chained = self._program.source_operators.get(source, ())
                channels = self._program.source_channels.get(source, ())
                chain.chain.latency.pass_on(marker, chained, channels, wall_clock_ms())
        self._report()
        for chain in self._chains.values():
            chain.chain.start_epoch()

    def close(self) -> None:
        """Close the functions and report the records read."""
        self._close()
        self._report()

    def abandon(self, error: BaseException) -> None:
        """Close the functions after a failure of the task, which stays the one that is raised."""
        close_after(error, (self._close,))

    def _close(self) -> None:
        close_all(chain.close for chain in self._chains.values())

    def _report(self) -> None:
        settings = self._program.settings
        report = Report(
            source_records=self._counts,
            times=self.clock.take(level_place(0)),
            source_watermarks=self._marks,
            split_watermarks=self._split_marks,
            # Tasks of a batch run have input of any size, and there may be thousands of them.
            subtask=self._task if settings.routes else None,
        )
        self._counts, self._marks, self._split_marks = {}, {}, {}
        for chain in self._chains.values():
            merge_metrics(report.metrics, chain.chain.take_metrics())
            for uid, count in chain.chain.take_counts().items():
                report.operator_records[uid] = report.operator_records.get(uid, 0) + count
            marks = [w.timeline.greatest for w in chain.fed]
            report.merge(Report(greatest_timestamp_ms=max(marks, default=MIN_TIMESTAMP)))
        if report.greatest_timestamp_ms == MIN_TIMESTAMP:
            report.greatest_timestamp_ms = None
        route = settings.routes[0] if settings.routes else 0
        self._out.append((route, encode_report(report, self._task, self._sequence.take())))

    def take_output(self) -> list[tuple[int, bytes]]:
        """Return (route, frame) pairs written since the last call."""
        out = self._out[:]
        self._out.clear()
        return out

    def _chain(self, source: int, *, opens: bool = True) -> _SourceChain:
        chain = self._chains.get(source)
        if chain is not None and (chain.is_open or not opens):
            return chain
        before = self.clock.switch(START)
        if chain is None:
            chain = self._chains[source] = _SourceChain(
                self._program, source, self._sequence, self._emit, self._task
            )
        if opens:
            chain.open()
        self.clock.switch(before)
        return chain

    def _emit(self, route: int, frame: bytes) -> None:
        self._out.append((route, frame))
